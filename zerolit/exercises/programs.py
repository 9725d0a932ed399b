"""The texts that a reader starts from, and those that solve the exercises."""

from collections.abc import Callable
from importlib.resources import files

from .catalogue import find
from .exercise import Exercise

KINDS = ("skeletons", "solutions")


def source(exercise: Exercise, kind: str) -> str:
    """The text of an exercise's `"skeletons"` or `"solutions"`."""
    return (files(__package__) / kind / f"{exercise.function}.py").read_text(encoding="utf-8")


def load(exercise: Exercise, text: str) -> Callable:
    """The function that `text` defines, beside the solutions of what it needs."""
    names: dict[str, object] = {"__name__": "solution"}
    for name in exercise.needs:
        exec(source(find(name), "solutions"), names)
    exec(compile(text, f"<{exercise.name}>", "exec"), names)
    return names[exercise.function]  # type: ignore[return-value]
