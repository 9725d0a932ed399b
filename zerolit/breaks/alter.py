"""Let a function of the package run with one passage of its source replaced."""

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import dedent
from types import CodeType, FunctionType


@contextmanager
def altered(function: Callable, old: str, new: str) -> Iterator[None]:
    """While it lasts, `function` runs as if `old` read `new` in its source.

    Its code object is exchanged and nothing else, so that everybody who calls it, under whatever
    name, calls the altered one; all threads of the process do.

    Raises:
        ValueError: `old` is not in the source exactly once.
    """
    inner: FunctionType = inspect.unwrap(function)  # type: ignore[assignment]
    code = inner.__code__
    inner.__code__ = _with(inner, old, new)
    try:
        yield
    finally:
        inner.__code__ = code


def sources(function: Callable, old: str, new: str) -> tuple[str, str]:
    """The function's source, and the altered one.

    Raises:
        ValueError: `old` is not in it exactly once.
    """
    source = dedent(inspect.getsource(inspect.unwrap(function)))
    if (found := source.count(old)) != 1:
        raise ValueError(f"{old!r} is {found} times in {function.__qualname__}; it must be once")
    return source, source.replace(old, new)


def _with(function: FunctionType, old: str, new: str) -> CodeType:
    tree = ast.parse(sources(function, old, new)[1])
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)  # for tracebacks
    made = dict(function.__globals__)
    exec(compile(tree, function.__code__.co_filename, "exec"), made)
    return made[function.__name__].__code__
