"""The page that is being built: its language, and what its blocks have named so far."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .ledger import Drift, Ledger

if TYPE_CHECKING:
    from .places import Place


@dataclass
class Page:
    """One page while its blocks run.

    Attributes:
        results: name -> as the prose shows it.
        sections: block's id -> the id of the heading that it stands under.
        section: that of the block which is running.
        made: the ids of the tables and figures that its blocks made; all of them must be shown.
    """

    uri: str = ""
    language: str = "en"
    results: dict[str, str] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)
    section: str = ""
    made: list[str] = field(default_factory=list)

    def record(self, name: str, value: Any, tolerance: str = "", unit: str = "") -> None:
        """Enter a result in the build's ledger, under this page and section."""
        site.ledger.record(name, value, self, tolerance, unit)


@dataclass
class Site:
    """The build under way, both languages.

    Attributes:
        pages: their files, in the order of the navigation.
        sources: what the English pages consist of.
        seconds: how long each page took.
        on_page: called when a page's blocks have run.
        ledger: every result that is shown.
        accept: whether these results are to become the reference.
        drift: what of them the reference does not say; None before the comparison.
        unpublished: addresses that are not yet in the list of those ever published.
        root: the folder of `mkdocs.yml`.
        places: everything that can be linked to; None before they are looked for.
    """

    pages: list[str] = field(default_factory=list)
    sources: dict[str, tuple] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    on_page: Callable[[str], None] = lambda page: None
    ledger: Ledger = field(default_factory=Ledger)
    accept: bool = False
    drift: list[Drift] | None = None
    unpublished: list[str] = field(default_factory=list)
    root: Path = Path()
    places: "list[Place] | None" = None

    def start(self) -> None:
        """Forget an earlier build in this process."""
        self.pages, self.sources, self.seconds, self.ledger = [], {}, {}, Ledger()
        self.drift, self.unpublished, self.places = None, [], None


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


def result(name: str, value: Any, spec: str = "", tolerance: str = "", unit: str = "") -> Any:
    """Name `value`, so that the page's prose can show it as `{{ name }}`; return it.

    It is entered in the ledger, too, and compared with the reference after the build.

    Args:
        name: words joined by dots, at least one dot, such as `ring.sent`.
        value: a number or a string.
        spec: how the prose shows it, as in `format(value, spec)`; whole numbers get thousands
            separators by themselves.
        tolerance: how far a rebuild may be off: `"rel 0.001"`, `rounding(10)` or `"machine"`;
            by default whole numbers and words are exact, and other numbers 1e-6 relative.
        unit: of the value, for the ledger.

    Raises:
        ValueError: a name without a dot, or one that this page has used already.
    """
    results = _current.results
    if "." not in name:
        raise ValueError(f"the result's name is {name!r}; it needs a dot, as in 'ring.sent'")
    if name in results:
        raise ValueError(f"the result {name!r} is named twice on this page; names must differ")
    spec = spec or ("," if isinstance(value, int) and not isinstance(value, bool) else "")
    results[name] = format(value, spec)
    _current.record(name, value, tolerance, unit)
    return value
