"""Read the code fences of a page's Markdown, strictly: what is not well formed is an error."""

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
_INFO = re.compile(r'^(?P<language>[\w+-]*)(?P<options>( +[a-z_]+="[^"]*")*)\s*$')
_OPTION = re.compile(r'([a-z_]+)="([^"]*)"')
_RUN = {
    "exec": {"true"},
    "id": None,  # any value
    "source": {"above", "below", "material-block", "tabbed-left", "tabbed-right"},
    "session": None,
    "html": {"true"},
}
_SHOW = {"title": None, "hl_lines": None, "linenums": None}


class PageError(Exception):
    """Something on a page that must not be published; the message says where."""


@dataclass(frozen=True)
class Fence:
    """One code fence: what its first line says, and its text."""

    line: int
    end: int  # its last line
    language: str
    options: dict[str, str]
    text: str

    @property
    def runs(self) -> bool:
        """Whether its code is run while the page is built."""
        return "exec" in self.options


def read_fences(uri: str, markdown: str) -> list[Fence]:
    """All fences of a page, in order.

    Raises:
        PageError: a fence that is unclosed, an option that is unknown, unquoted or has a value
            that it cannot have, a language that may not run, an `id` missing or used twice.
    """
    fences = list(_scan(uri, markdown.split("\n")))
    seen: set[str] = set()
    for fence in fences:
        _check(uri, fence, seen)
    return fences


def without_fences(markdown: str, fences: list[Fence]) -> list[str]:
    """The lines of the page's Markdown, those of its fences left empty."""
    inside = {line for fence in fences for line in range(fence.line, fence.end + 1)}
    lines = enumerate(markdown.split("\n"), start=1)
    return ["" if number in inside else line for number, line in lines]


def _scan(uri: str, lines: list[str]):
    start = 0
    while start < len(lines):
        match = _FENCE.match(lines[start])
        if match is None:
            start += 1
            continue
        end = next(
            (
                i
                for i in range(start + 1, len(lines))
                if (m := _FENCE.match(lines[i])) and _closes(m, match["ticks"])
            ),
            None,
        )
        if end is None:
            raise PageError(f"{uri}:{start + 1}: the code fence is never closed")
        text = "\n".join(line.removeprefix(match["indent"]) for line in lines[start + 1 : end])
        yield _parse(uri, start + 1, end + 1, match["info"].strip(), text)
        start = end + 1


def _closes(match: re.Match, ticks: str) -> bool:
    same = match["ticks"][0] == ticks[0] and len(match["ticks"]) >= len(ticks)
    return same and not match["info"].strip()


def _parse(uri: str, line: int, end: int, info: str, text: str) -> Fence:
    match = _INFO.match(info)
    if match is None:
        raise PageError(f'{uri}:{line}: fence options are written name="value"; this says {info!r}')
    return Fence(line, end, match["language"], dict(_OPTION.findall(match["options"])), text)


def _check(uri: str, fence: Fence, seen: set[str]) -> None:
    where, allowed = f"{uri}:{fence.line}", _RUN if fence.runs else _SHOW
    for name, value in fence.options.items():
        if name not in allowed:
            raise PageError(f"{where}: unknown option {name!r}; allowed here: {', '.join(allowed)}")
        values = allowed[name]
        if values is not None and value not in values:
            raise PageError(f"{where}: {name} is {value!r}; allowed: {', '.join(sorted(values))}")
    if fence.runs:
        _check_block(where, fence, seen)


def _check_block(where: str, fence: Fence, seen: set[str]) -> None:
    name = fence.options.get("id", "")
    if fence.language != "python":
        raise PageError(f"{where}: a {fence.language or 'nameless'} block cannot run; only python")
    if not name:
        raise PageError(f"{where}: a block that runs needs an id")
    if name in seen:
        raise PageError(f"{where}: the id {name!r} is used twice on this page")
    seen.add(name)
