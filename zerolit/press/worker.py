"""A process that runs pages' blocks, as `run` asks it to: `python -m zerolit.press.worker FD`.

Asked over a socket, one JSON line for a session's blocks; it answers with a line before each block
and one after it, so that whoever asks knows which one hangs, or has ended the process.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from io import StringIO
from types import ModuleType
from typing import Any

from .fences import PageError
from .page import Page, Ran, open_page


def main(descriptor: int) -> None:
    """Answer until whoever asks is gone."""
    os.environ["OMP_NUM_THREADS"] = "1"  # the number of threads changes the bits of a sum
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks is interrupted, and ends this
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    os.set_inheritable(descriptor, False)  # nobody whom a block starts shall hold the line
    channel = socket.socket(fileno=descriptor)
    for line in channel.makefile("r", encoding="utf-8"):
        for answer in run_session(**json.loads(line)):
            channel.sendall((json.dumps(answer) + "\n").encode())


def _leave_with(parent: int) -> None:
    """End the process, whatever a block does, once its parent is gone."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def run_session(pages: list[list[str]], blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Run the blocks of one session, once for each of `pages`: (name, language).

    The second language finds what the first has computed, in the memory of the package.

    Yields:
        `{"page", "block"}` before each block, with `"ran"` and `"seconds"` after it, or `"error"`
        and `"line"`; at the end `{"done"}`.
    """
    for name, language in pages:
        here, names = open_page(name, language), dict[str, Any]()
        for block in blocks:
            at = {"page": name, "block": block["id"]}
            yield at
            start = time.perf_counter()
            try:
                ran = run_block(here, names if block["session"] else {}, **block)
            except BaseException as error:
                told = f"{type(error).__name__}: {error}"
                yield {**at, "error": told, "line": _line(error, block["id"])}
                return
            yield {**at, "ran": ran.to_json(), "seconds": time.perf_counter() - start}
    yield {"done": True}


def run_block(
    page: Page, names: dict[str, Any], id: str, text: str, hidden: bool, session: str = ""
) -> Ran:
    """Run one block among the `names` of its session; what it gave.

    Raises:
        PageError: the page shows nothing of it, not even its source.
        BaseException: whatever it raises; a warning is an error, too.
    """
    records, made, known = len(page.records), len(page.made), set(page.results)
    output = _execute(text, id, names)
    results = {name: shown for name, shown in page.results.items() if name not in known}
    if hidden and not output.strip() and not results:
        raise PageError("it shows no source, prints nothing and names nothing")
    return Ran(text, output, results, page.records[records:], page.made[made:])


def _execute(text: str, id: str, names: dict[str, Any]) -> str:
    """Run Python, and return what its own `print`s wrote."""
    written, leave = StringIO(), os._exit
    names |= {"__name__": f"block_{id}", "print": partial(print, file=written)}
    sys.modules[names["__name__"]] = ModuleType(names["__name__"])  # dataclasses look for it
    os._exit = _refuse_exit  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(text, _filename(id), "exec", dont_inherit=True), names)
    finally:
        os._exit = leave
    return written.getvalue()


def _refuse_exit(code: int) -> None:
    raise SystemExit(code)


def _filename(id: str) -> str:
    return f"<block {id}>"


def _line(error: BaseException, id: str) -> int:
    """The line of the block at which it failed, counted from 1; 0 if it cannot be told."""
    line, trace = getattr(error, "lineno", 0) or 0, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == _filename(id):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


if __name__ == "__main__":
    main(int(sys.argv[1]))
