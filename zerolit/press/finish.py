"""What is done when both languages are built: the comparison, the late pages, all links checked.

A late page has comments such as `<!-- late: zerolit.book.reproduce.results zero.md -->` where
something is due that is known only now: the function `results` is called with the `Site` and the
word that follows, and its text takes the comment's place. It returns None as long as it lacks
`site.places`, which are looked for once the other comments are filled in.
"""

import re
from functools import partial
from importlib import import_module
from pathlib import Path

from . import ledger as books
from . import places as linking
from .fences import PageError
from .page import Site, open_page

_LISTED = re.compile(r'<div class="zl-table" id="(all-[\w.-]+)"')
_DUE = re.compile(r"<!-- late: ([\w.]+)\.(\w+) ?([\w.-]*) -->")


def finish(root: Path, folder: Path, site: Site) -> None:
    """Complete the built site in `folder`; `root` has the references.

    Raises:
        PageError: an id or a link that leads nowhere, a place that was published and is gone.
    """
    site.root = root
    site.ledger.check_repeated()
    site.drift = books.compare(books.read(root / books.REFERENCE), site.ledger)
    books.write_build(folder / "ledger.json", site.ledger, root)
    _fill(folder, site)
    site.places = linking.find_places(folder, site.pages)
    site.unpublished = linking.check_published(root, site.places)
    _fill(folder, site)
    _check_late_pages(folder, site)
    linking.write_index(folder, site.places)
    linking.write_redirects(folder, linking.read_redirects(root))
    wrong = linking.broken_links(folder) + list(linking.missing_twins(folder, site.pages))
    if wrong:
        raise PageError("links that lead nowhere: " + "; ".join(wrong))


def _fill(folder: Path, site: Site) -> None:
    for path in sorted(folder.rglob("*.html")):
        language = "zh" if path.relative_to(folder).parts[0] == "zh" else "en"
        text = path.read_text()
        if _DUE.search(text):
            open_page("", language)
            path.write_text(_DUE.sub(partial(_one, path.name, site), text))


def _one(page: str, site: Site, match: re.Match) -> str:
    """What is due, or the comment as it is, for a later pass."""
    module, name, about = match.groups()
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise PageError(f"{page}: {match[0]} cannot be filled in: {error}") from None
    told = function(site, about)
    return match[0] if told is None else str(told)


def _check_late_pages(folder: Path, site: Site) -> None:
    """Every comment was filled in, and if results are listed, those of every page are."""
    english = {path.name: path.read_text() for path in folder.glob("*.html")}
    for name, text in english.items():
        if match := _DUE.search(text):
            raise PageError(f"{name}: nothing came for {match[0]}")
    listed = {page for text in english.values() for page in _LISTED.findall(text)}
    for page in {f"all-{entry.page.removesuffix('.md')}" for entry in site.ledger.values()}:
        if listed and page not in listed:
            raise PageError(f"the results of {page.removeprefix('all-')}.md are listed nowhere")
