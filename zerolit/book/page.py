"""The page that is being built: its language, and what its blocks have named so far."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Page:
    """One page while its blocks run."""

    uri: str = ""
    language: str = "en"
    results: dict[str, str] = field(default_factory=dict)  # name -> as the prose shows it


@dataclass
class Site:
    """The build under way, both languages."""

    sources: dict[str, tuple] = field(default_factory=dict)  # what the English pages consist of
    seconds: dict[str, float] = field(default_factory=dict)  # how long each page took
    on_page: Callable[[str], None] = lambda page: None  # called when a page is rendered


site = Site()
_current = Page()


def current() -> Page:
    """The page whose blocks are running; an English one without a name outside a build."""
    return _current


def open_page(uri: str, language: str) -> Page:
    """Start a page with nothing named."""
    global _current
    _current = Page(uri, language)
    return _current


def result(name: str, value: Any, spec: str = "") -> Any:
    """Name `value` so that the page's prose can show it as `{{ name }}`; return it.

    Args:
        name: words joined by dots, at least one dot, such as `ring.sent`.
        value: a number or a string.
        spec: how the prose shows it, as in `format(value, spec)`; whole numbers get thousands
            separators by themselves.

    Raises:
        ValueError: a name without a dot, or one that this page has used already.
    """
    results = _current.results
    if "." not in name:
        raise ValueError(f"the result's name is {name!r}; it needs a dot, as in 'ring.sent'")
    if name in results:
        raise ValueError(f"the result {name!r} is named twice on this page; names must differ")
    spec = spec or ("," if isinstance(value, int) else "")
    results[name] = format(value, spec)
    return value
