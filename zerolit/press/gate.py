"""What a page must pass before it is published, so that a strict build means what it says."""

import re
from collections.abc import Callable
from functools import partial
from html import unescape
from typing import Any

from markdown_exec import base_format
from pymdownx.superfences import SuperFencesException

from .fences import Fence, PageError, read_fences, without_fences
from .page import Page, current, site

_HEADING = re.compile(r"^#{1,6} ")
_HEADING_ID = re.compile(r"\{ *#([\w-]+)[^}]*\}\s*$")
_EXPONENT = re.compile(r"\de-\d")
_NAME = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
_SNIPPET = re.compile(r"--8\s*<\s*--")
_CODE = re.compile(r"<(pre|code|svg|script)\b.*?</\1>", re.S)


def wrap_fences(custom_fences: list[dict]) -> None:
    """Let python blocks be shown by `show_block`; take out the other languages that would run."""
    for fence in list(custom_fences):
        if fence["name"] == "python":
            fence["format"] = show_block
        elif getattr(fence["validator"], "__module__", "").startswith("markdown_exec"):
            custom_fences.remove(fence)


def show_block(source: str, language: str, css_class: str, options: dict, md: Any, **rest: Any):
    """Show a block that has run; whatever goes wrong fails the build and names page and block.

    SuperFences swallows every exception but its own, so everything becomes one of those.
    """
    page, name = current(), options.get("id", "")
    try:
        output = site.show(page, name, source)
        return base_format(
            language="python", run=lambda *_, **__: output, code=source, md=md, **options
        )
    except SuperFencesException:
        raise
    except Exception as error:
        what = str(error) if isinstance(error, PageError) else f"{type(error).__name__}: {error}"
        where = site.sources[page.uri].where(name)
        raise SuperFencesException(f"{where}: {what}") from error


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
    shown, before = page.results[match[1]], match.string[: match.start()]
    in_a_tag = before.rfind("<") > before.rfind(">")
    if in_a_tag or not _EXPONENT.search(shown):
        return shown
    return f'<span class="zl-whole">{shown}</span>'  # else a line may end after its hyphen
