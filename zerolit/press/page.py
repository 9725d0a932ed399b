"""The page whose blocks run or which is rendered, and the build that it belongs to."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fences import PageError
from .ledger import Drift, Ledger, check_tolerance, plain

if TYPE_CHECKING:
    from .places import Place
    from .source import Source


@dataclass
class Ran:
    """What a block gave when it ran, in words that JSON has.

    Attributes:
        text: the block.
        output: what it printed.
        results: name -> as the prose shows it.
        records: (name, value, tolerance, unit), for the ledger.
        made: the ids of the tables and figures that it made; all of them must be shown.
    """

    text: str
    output: str = ""
    results: dict[str, str] = field(default_factory=dict)
    records: list[list[Any]] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As a worker sends it and a draft store keeps it."""
        return asdict(self)


@dataclass
class Page:
    """One page, while its blocks run and while it is rendered.

    Attributes:
        results: name -> as the prose shows it.
        records: (name, value, tolerance, unit), for the ledger.
        made: the ids of the tables and figures that its blocks made; all of them must be shown.
        section: the heading's id of the block which is shown.
    """

    uri: str = ""
    language: str = "en"
    results: dict[str, str] = field(default_factory=dict)
    records: list[list[Any]] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    section: str = ""

    def record(self, name: str, value: Any, tolerance: str = "", unit: str = "") -> None:
        """Note a result for the build's ledger.

        Raises:
            ValueError: a tolerance that is none.
        """
        check_tolerance(tolerance or "exact")
        self.records.append([name, plain(value), tolerance, unit])


@dataclass
class Site:
    """The build under way, both languages.

    Attributes:
        root: the folder of `mkdocs.yml`.
        draft: whether blocks that ran before need not run again; never true of what is published.
        limit: seconds that a page may take, in one session and one language.
        sources: the pages by name, such as `en/zero.md`.
        ran: what each block gave, by the page's name and the block's id.
        fresh: the blocks that did run; in a draft, others are taken from its store.
        pages: their files, in the order of the navigation.
        seconds: how long each page's blocks took.
        on_page: called when a page's blocks have run.
        ledger: every result that is shown.
        accept: whether these results are to become the reference.
        drift: what of them the reference does not say; None before the comparison.
        unpublished: addresses that are not yet in the list of those ever published.
        places: everything that can be linked to; None before they are looked for.
    """

    root: Path = Path()
    draft: bool = False
    limit: float = 300
    sources: "dict[str, Source]" = field(default_factory=dict)
    ran: dict[tuple[str, str], Ran] = field(default_factory=dict)
    fresh: list[tuple[str, str]] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    on_page: Callable[[str], None] = lambda page: None
    ledger: Ledger = field(default_factory=Ledger)
    accept: bool = False
    drift: list[Drift] | None = None
    unpublished: list[str] = field(default_factory=list)
    places: "list[Place] | None" = None

    def start(self, root: Path) -> None:
        """Forget an earlier build in this process."""
        self.root = root
        self.sources, self.ran, self.fresh, self.pages, self.seconds = {}, {}, [], [], {}
        self.ledger, self.drift, self.unpublished, self.places = Ledger(), None, [], None

    def show(self, page: Page, block: str, text: str) -> str:
        """Enter what a block of `page` gave, and return what it printed.

        Raises:
            PageError: the block is not the one that ran, or a result that cannot be entered.
        """
        ran = self.ran.get((page.uri, block))
        if ran is None or ran.text.strip() != text.strip():
            raise PageError("its text is not what has run; no snippets in it, and build again")
        if twice := sorted(set(ran.results) & set(page.results)):
            raise PageError(f"the result {twice[0]!r} is named twice on this page")
        page.section = self.sources[page.uri].sections.get(block, "")
        page.results |= ran.results
        page.made += ran.made
        for name, value, tolerance, unit in ran.records:
            self.ledger.record(name, value, page, tolerance, unit)
        return ran.output


site = Site()
_current = Page()


def current() -> Page:
    """The page at work; an English one without a name outside a build."""
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
