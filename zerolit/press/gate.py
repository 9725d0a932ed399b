"""What a page must pass before it is published, so that a strict build means what it says."""

import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from html import unescape
from typing import Any

from markdown_exec import base_format
from markdown_exec._internal.formatters import python as runner
from pymdownx.superfences import SuperFencesException

from .fences import Fence, PageError, read_fences, without_fences
from .page import Page, current

_HEADING = re.compile(r"^#{1,6} ")
_HEADING_ID = re.compile(r"\{ *#([\w-]+)[^}]*\}\s*$")
_NAME = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
_SNIPPET = re.compile(r"--8\s*<\s*--")
_CODE = re.compile(r"<(pre|code|svg|script)\b.*?</\1>", re.S)


def wrap_fences(custom_fences: list[dict]) -> None:
    """Let python blocks run through `run_block`; take out the other languages that would run."""
    for fence in list(custom_fences):
        if fence["name"] == "python":
            fence["format"] = run_block
        elif getattr(fence["validator"], "__module__", "").startswith("markdown_exec"):
            custom_fences.remove(fence)


def run_block(source: str, language: str, css_class: str, options: dict, md: Any, **rest: Any):
    """Run one block; whatever goes wrong fails the build and names page, block and error.

    SuperFences swallows every exception but its own, so everything becomes one of those.
    """
    page = current()
    where = f"{page.uri}, block {options.get('id')!r}"
    page.section = page.sections.get(options.get("id", ""), "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = partial(_run, hidden=not options.get("source"))
            return base_format(language="python", run=run, code=source, md=md, **options)
    except (SuperFencesException, KeyboardInterrupt):
        raise
    except BaseException as error:
        what = f"{type(error).__name__}: {error}"
        raise SuperFencesException(f"{where}: {what}") from error


def _run(code: str, hidden: bool, **extra: Any) -> str:
    named = len(current().results)
    leave, os._exit = os._exit, _refuse_exit  # type: ignore[assignment]
    try:
        output = runner._run_python(code, **extra)
    except runner.ExecutionError as error:  # would only be logged
        cause = error.__cause__ or error
        raise cause from None
    finally:
        os._exit = leave
    if hidden and not output.strip() and len(current().results) == named:
        raise PageError("it shows no source, prints nothing and names nothing")
    return output


def _refuse_exit(code: int) -> None:
    raise SystemExit(code)


class PageTimeout(BaseException):
    """A page takes too long; not an Exception, so that no block catches it by accident."""


def start_clock(seconds: float) -> None:
    """Interrupt the page if it has not called `stop_clock` after so many seconds."""

    def stop(*_: Any) -> None:
        raise PageTimeout(f"the page takes longer than {seconds:g} s, the limit for a page")

    if threading.current_thread() is threading.main_thread():  # signals reach no other
        signal.signal(signal.SIGALRM, stop)
        # again every second: the first may be lost in waiting for a thread
        signal.setitimer(signal.ITIMER_REAL, seconds, 1)


def stop_clock() -> None:
    """The page is done."""
    if threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_REAL, 0)


def clear_sessions() -> None:
    """Forget the variables of earlier pages' blocks; and let torch compute on one thread.

    The number of threads changes the bits of a sum.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for a block that is the first to import torch
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    runner._sessions_globals.clear()
    runner._sessions_counter.clear()


def check_markdown(uri: str, markdown: str) -> tuple[list[Fence], list[str], dict[str, str]]:
    """Check a page before it is rendered.

    Returns:
        its running blocks, its headings' ids, and for each block's id that of its heading.

    Raises:
        PageError: a bad fence, or a heading without an explicit id.
    """
    fences = read_fences(uri, markdown)
    ids, sections = [], {}
    blocks = {fence.line: fence.options["id"] for fence in fences if fence.runs}
    for number, line in enumerate(without_fences(markdown, fences), start=1):
        if _HEADING.match(line):
            ids.append(_heading_id(uri, line))
        if number in blocks:
            sections[blocks[number]] = ids[-1] if ids else ""
    return [fence for fence in fences if fence.runs], ids, sections


def _heading_id(uri: str, heading: str) -> str:
    match = _HEADING_ID.search(heading)
    if match is None:
        raise PageError(f"{uri}: the heading {heading!r} needs an id, as in '## Title {{#id}}'")
    return match[1]


def check_twins(uri: str, english: tuple, chinese: tuple) -> None:
    """Raise PageError unless both languages have the same blocks and the same heading ids."""
    pairs: list[tuple[str, Callable]] = [
        ("blocks", lambda page: [(fence.options, fence.text) for fence in page[0]]),
        ("heading ids", lambda page: page[1]),
    ]
    for what, part in pairs:
        ours, theirs = part(english), part(chinese)
        for one, other in zip(ours, theirs, strict=False):
            if one != other:
                raise PageError(f"{uri}: {what} differ between the languages: {one} and {other}")
        if len(ours) != len(theirs):
            raise PageError(f"{uri}: {len(ours)} {what} in English, {len(theirs)} in Chinese")


def fill_in(page: Page, html: str) -> str:
    """Put the named results where the prose asks for them.

    Raises:
        PageError: a name that no block of the page has given, or a fence or snippet left as text.
    """
    if _SNIPPET.search(unescape(re.sub(r"<[^>]*>", "", html))):
        raise PageError(f"{page.uri}: a snippet was left as text")
    if "```" in _CODE.sub("", html) or "~~~" in _CODE.sub("", html):
        raise PageError(f"{page.uri}: a code fence was left as text")
    for name in page.made:
        if f'id="{name}"' not in html:
            raise PageError(f"{page.uri}: a block makes {name!r} and prints nothing of it")
    return _NAME.sub(partial(_value, page), html)


def _value(page: Page, match: re.Match) -> str:
    if match[1] not in page.results:
        known = ", ".join(sorted(page.results)) or "none"
        raise PageError(f"{page.uri}: no block names the result {match[1]!r}; named are: {known}")
    return page.results[match[1]]
