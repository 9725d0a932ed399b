"""What is done when both languages are built: the comparison, the late pages, all links checked.

A late page has comments such as `<!-- zerolit: results -->` where something is due that is known
only now.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from . import ledger as books
from . import places as linking
from .fences import PageError
from .labels import label
from .ledger import Drift
from .page import Site, open_page
from .places import Place
from .table import Table

_LISTED = re.compile(r'<div class="zl-table" id="(all-[\w.-]+)"')
_DUE = re.compile(r"<!-- zerolit: (\w+) ?([\w.-]*) -->")


def finish(root: Path, folder: Path, site: Site) -> None:
    """Complete the built site in `folder`; `root` has the references.

    Raises:
        PageError: an id or a link that leads nowhere, a place that was published and is gone.
    """
    site.ledger.check_repeated()
    site.drift = books.compare(books.read(root / books.REFERENCE), site.ledger)
    books.write_build(folder / "ledger.json", site.ledger, root)
    due: dict[str, Callable[[str, str], str]] = {
        "status": lambda language, _: status(site, language),
        "environment": lambda language, _: str(environment_table(root)),
        "results": lambda language, page: str(results_table(site, page)),
    }
    _fill(folder, due)
    places = linking.find_places(folder, site.pages)
    site.unpublished = linking.check_published(root, places)
    _fill(folder, {"places": lambda language, _: str(places_table(places, language))})
    _check_late_pages(folder, site)
    linking.write_index(folder, places)
    linking.write_redirects(folder, linking.read_redirects(root))
    wrong = linking.broken_links(folder) + list(linking.missing_twins(folder, site.pages))
    if wrong:
        raise PageError("links that lead nowhere: " + "; ".join(wrong))


def _fill(folder: Path, due: Mapping[str, Callable[[str, str], str]]) -> None:
    for path in sorted(folder.rglob("*.html")):
        language = "zh" if path.relative_to(folder).parts[0] == "zh" else "en"
        text = path.read_text()
        if _DUE.search(text):
            open_page("", language)
            path.write_text(_DUE.sub(partial(_one, due, language), text))


def _one(due: Mapping[str, Callable], language: str, match: re.Match) -> str:
    """What is due, or the comment as it is, for a later pass."""
    what, about = match.groups()
    return due[what](language, about) if what in due else match[0]


def _check_late_pages(folder: Path, site: Site) -> None:
    """Every comment was filled in, and if results are listed, those of every page are."""
    english = {path.name: path.read_text() for path in folder.glob("*.html")}
    for name, text in english.items():
        if match := _DUE.search(text):
            raise PageError(f"{name}: nobody knows what {match[0]} is")
    listed = {page for text in english.values() for page in _LISTED.findall(text)}
    for page in {f"all-{entry.page.removesuffix('.md')}" for entry in site.ledger.values()}:
        if listed and page not in listed:
            raise PageError(f"the results of {page.removeprefix('all-')}.md are listed nowhere")


# The page "Reproduce"


def status(site: Site, language: str) -> str:
    """One sentence, and the drift if there is any."""
    drift, total = _shown_drift(site), len(site.ledger)
    facts = {"total": total, "drift": len(drift)}
    text = label("status drift" if drift else "status good", language, **facts)
    table = str(drift_table(drift)) if drift else ""
    return f'<p class="zl-status"><strong>{escape(text)}</strong></p>\n{table}'


def _shown_drift(site: Site) -> list[Drift]:
    """None where the results are about to become the reference."""
    return [] if site.accept else site.drift or []


def drift_table(drift: Sequence[Drift]) -> Table:
    """Every result that is not what the reference says."""
    columns = {
        "result": "s",
        "place": "link",
        "what": "label",
        "expected": "s",
        "got": "s",
        "tolerances off": "s",
    }
    rows = [
        (
            d.name,
            _place(d.page, d.section) if d.page else None,
            d.what,
            "" if d.what == "appeared" else _short(d.expected),
            "" if d.what == "vanished" else _short(d.got),
            f"{d.off:.3g}" if d.what == "drifted" else "",
        )
        for d in drift
    ]
    return Table("drift", columns, rows, linkable=False)


def environment_table(root: Path) -> Table:
    """What this very build ran on."""
    rows = list(books.environment(root).items())
    return Table("environment", {"thing": "label", "version": "s"}, rows)


def results_table(site: Site, page: str) -> Table:
    """All results of a page: value, tolerance, and whether the reference says the same."""
    off = {drift.name: drift.what for drift in _shown_drift(site)}
    rows = [
        (
            name,
            _place(entry.page, entry.section),
            _short(entry.value),
            entry.unit,
            entry.tolerance,
            off.get(name, "same"),
        )
        for name, entry in site.ledger.items()
        if entry.page == page
    ]
    columns = {
        "result": "s",
        "place": "link",
        "value": "s",
        "unit": "s",
        "tolerance": "s",
        "status": "label",
    }
    name = f"all-{page.removesuffix('.md')}"
    return Table(name, columns, rows, {"n": len(rows)}, caption_label="table results")


def _place(page: str, section: str) -> tuple[str, str]:
    address = f"{page.removesuffix('.md')}.html"
    return (section or page, f"{address}#{section}" if section else address)


def _short(value: Any) -> str:
    """A value in few characters."""
    if isinstance(value, list):
        shown = ", ".join(_short(part) for part in value[:3])
        return f"{shown}, … ({len(value)})" if len(value) > 3 else shown
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# The page "Link to a section"


def places_table(places: Sequence[Place], language: str) -> Table:
    """Every place, with Markdown for both languages; the page's script completes the addresses."""
    root = "" if language == "en" else "../"
    columns = {"place": "link", "kind": "label", "markdown en": "code", "markdown zh": "code"}
    rows = [
        (
            (place.titles[language], place.address),
            place.kind,
            f"[{place.titles['en']}]({root}{place.address})",
            f"[{place.titles['zh']}]({root}zh/{place.address})",
        )
        for place in places
    ]
    return Table("places", columns, rows, {"n": len(rows)}, linkable=False)
