"""The linkable places of a built site, the promise that none is lost, and all links checked."""

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from .fences import PageError
from .head import TAGS
from .ledger import git, replace_file

PUBLISHED = Path("docs/anchors.txt")  # every address ever published, a line each
REDIRECTS = Path("docs/redirects.txt")  # old -> new, a line each
_SENTENCE = re.compile(r"[.:;](?= |$)|[。：；]")  # where the first one of a caption ends
_MOVED = {"en": "This page has moved:", "zh": "本页已移至："}
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True)
class Place:
    """Something that can be linked to.

    Attributes:
        page: the page's file, as in English.
        kind: `"section"`, `"table"` or `"figure"`.
        titles: what it is called, by language.
    """

    page: str
    id: str
    kind: str
    titles: dict[str, str]

    @property
    def address(self) -> str:
        """Relative to the root of a language's pages."""
        return f"{self.page}#{self.id}"


@dataclass
class Html:
    """What matters here of one HTML file: ids, links, and the places in its article."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    places: list[tuple[str, str, str]] = field(default_factory=list)  # id, kind, title


class _Reader(HTMLParser):
    """Collects an `Html`; titles are the text of a heading, a caption or a figcaption."""

    def __init__(self) -> None:
        super().__init__()
        self.found = Html()
        self.article = False
        self.owner: tuple[str, str] | None = None  # whose title comes next: id, kind
        self.ending: str | None = None  # the tag that ends the title
        self.title: list[str] = []
        self.skipping = False  # the permalink inside a title

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found.ids |= {given["id"]} if "id" in given else set()
        self.found.links += [given[name] for name in ("href", "src") if name in given]
        self.article |= tag == "article"
        classes = given.get("class", "").split()
        if self.article and "id" in given:
            self._own(tag, given["id"], classes)
        if tag in ("caption", "figcaption") and self.owner:
            self.ending = tag
        self.skipping |= "headerlink" in classes

    def _own(self, tag: str, name: str, classes: list[str]) -> None:
        if tag in _HEADINGS:
            self.owner, self.ending = (name, "section"), tag
        elif "zl-table" in classes or "zl-figure" in classes:
            self.owner = (name, "table" if "zl-table" in classes else "figure")

    def handle_data(self, data: str) -> None:
        if self.ending and not self.skipping:
            self.title.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self.article = False
        if tag == "a":
            self.skipping = False
        if tag == self.ending and self.owner:
            title = " ".join("".join(self.title).split())
            self.found.places.append((*self.owner, title))
            self.owner = self.ending = None
            self.title = []


def read_html(path: Path) -> Html:
    """Read one HTML file."""
    reader = _Reader()
    reader.feed(path.read_text())
    return reader.found


def find_places(site: Path, pages: Sequence[str]) -> list[Place]:
    """Every section, table and figure of the pages, in both languages, in order.

    Raises:
        PageError: an id that one language lacks.
    """
    places = []
    for page in pages:
        english, chinese = (read_html(site / folder / page).places for folder in ("", "zh"))
        names, twins = ([name for name, *_ in found] for found in (english, chinese))
        if names != twins:
            differ = sorted(set(names) ^ set(twins)) or "their order"
            raise PageError(f"{page}: ids differ between the languages: {differ}")
        named = zip(english, _titles(english), _titles(chinese), strict=True)
        for (name, kind, _), title, chinese_title in named:
            places.append(Place(page, name, kind, {"en": title, "zh": chinese_title}))
    return places


def _titles(found: Sequence[tuple[str, str, str]]) -> list[str]:
    """What to call a page's places elsewhere: the chapter's number or name before each."""
    if not found:
        return []
    first, *others = [title for *_, title in found]
    chapter = first.split()[0] if first[:1].isdigit() else first
    return [first, *(f"{chapter} · {_SENTENCE.split(title)[0]}" for title in others)]


# The promise


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line] if path.is_file() else []


def read_redirects(root: Path) -> dict[str, str]:
    """The declared redirects, old address to new.

    Raises:
        PageError: a line that is not `old -> new`.
    """
    redirects = {}
    for number, line in enumerate(_lines(root / REDIRECTS), start=1):
        old, arrow, new = line.partition(" -> ")
        if not (arrow and old and new):
            raise PageError(
                f"{REDIRECTS}:{number}: {line!r}; it must be 'old.html#id -> new.html#id'"
            )
        redirects[old] = new
    return redirects


def check_published(root: Path, places: Sequence[Place]) -> list[str]:
    """Every address ever published is there or redirected; returns those not yet in the list.

    Raises:
        PageError: an address that is gone, or a redirect to nowhere.
    """
    here = [place.address for place in places]
    redirects = read_redirects(root)
    targets = {*here, *(place.page for place in places)}
    published = _lines(root / PUBLISHED)
    gone = [address for address in published if address not in targets and address not in redirects]
    if gone:
        raise PageError(
            f"{', '.join(gone)}: published once, gone now; bring it back, "
            f"or say in {REDIRECTS} where it went: 'old.html#id -> new.html#id'"
        )
    for old, new in redirects.items():
        if old in targets:
            raise PageError(f"{REDIRECTS}: {old} is still there; nobody could read it")
        if new not in targets:
            raise PageError(f"{REDIRECTS}: {old} leads to {new}, which does not exist")
    return [address for address in here if address not in published]


def publish(root: Path, addresses: Sequence[str]) -> None:
    """Add addresses to the list of all that were ever published."""
    kept = sorted({*_lines(root / PUBLISHED), *addresses})
    replace_file(root / PUBLISHED, "".join(f"{address}\n" for address in kept))


def forgotten(root: Path) -> set[str] | None:
    """Addresses that an earlier version of the list has, and this one lacks.

    None where there is no history to look at: no git, or a clone of the last commit only.
    """
    if git(root, "rev-parse", "--is-shallow-repository") != "false":
        return None
    log = git(root, "log", "--full-history", "--format=%H", "--", PUBLISHED.as_posix())
    if not (commits := log.split()):
        return None
    ever = {
        line
        for commit in commits
        for line in git(root, "show", f"{commit}:{PUBLISHED}").split("\n")
    }
    return ever - {*_lines(root / PUBLISHED), ""}


# For machines


def write_index(site: Path, places: Sequence[Place]) -> None:
    """Write `anchors.json`, and the same places into each language's `objects.inv` (Sphinx)."""
    listed = [
        {
            "kind": place.kind,
            "title": place.titles,
            "url": {"en": place.address, "zh": f"zh/{place.address}"},
        }
        for place in places
    ]
    text = json.dumps(listed, indent=1, ensure_ascii=False)
    (site / "anchors.json").write_text(text + "\n")
    for language, folder in (("en", site), ("zh", site / "zh")):
        _write_inventory(folder / "objects.inv", places, language)


def _write_inventory(path: Path, places: Sequence[Place], language: str) -> None:
    """Add places as labels such as `zero/the-stages` to the inventory of the package's objects."""
    head = b"# Sphinx inventory version 2\n# Project: zerolit\n# Version: 0\n"
    head += b"# The remainder of this file is compressed using zlib.\n"
    lines = zlib.decompress(path.read_bytes().split(b"\n", 4)[4]).decode() if path.is_file() else ""
    for place in places:
        label = f"{place.page.removesuffix('.html')}/{place.id}"
        lines += f"{label} std:label -1 {place.address} {place.titles[language]}\n"
    path.write_bytes(head + zlib.compress(lines.encode(), 9))


def write_redirects(site: Path, redirects: dict[str, str]) -> None:
    """Make old addresses work in a browser: a script on every page, and pages for those gone."""
    script = _SCRIPT.replace("{}", json.dumps(redirects, indent=1, sort_keys=True))
    for language, folder in (("en", site), ("zh", site / "zh")):
        (folder / "assets").mkdir(exist_ok=True)
        (folder / "assets" / "redirects.js").write_text(script)
        for old in {old.split("#")[0] for old in redirects}:
            if not (folder / old).exists():
                (folder / old).parent.mkdir(parents=True, exist_ok=True)
                (folder / old).write_text(_stub(old, _new(old, redirects), language))


def _stub(old: str, new: str, language: str) -> str:
    """A page at an old address that leads to the new one, with or without scripts."""
    depth = "../" * old.count("/")
    return _STUB.format(
        language=TAGS[language], moved=_MOVED[language], depth=depth, new=depth + new
    )


def _new(page: str, redirects: dict[str, str]) -> str:
    return redirects.get(page) or next(to for old, to in redirects.items() if old.startswith(page))


_SCRIPT = """\
// Where addresses that were published once have gone.
(() => {
  const moved = {};
  const root = new URL("..", document.currentScript.src);
  const follow = () => {
    const page = location.pathname.slice(root.pathname.length).replace(/(^|\\/)$/, "$1index.html");
    const to = moved[page + location.hash] ?? moved[page];
    if (to) location.replace(root.href + to + (to.includes("#") ? "" : location.hash));
  };
  follow();
  addEventListener("hashchange", follow);
})();
"""
_STUB = """\
<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8"><title>zerolit</title><script src="{depth}assets/redirects.js"></script>
</head>
<body><p>{moved} <a href="{new}">{new}</a></p></body>
</html>
"""


# Links


def broken_links(site: Path) -> list[str]:
    """Every link of every page that leads to no file or no id of the site."""
    read = {
        path: read_html(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"
    }
    return [
        f"{path.relative_to(site)}: {link}"
        for path, html in read.items()
        for link in html.links
        if not _leads_somewhere(site, path, link, read)
    ]


def _leads_somewhere(site: Path, path: Path, link: str, read: dict[Path, Html]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    here = path.relative_to(site).as_posix()
    target = normpath(join(dirname(here), unquote(parts.path))) if parts.path else here
    if target.startswith(("..", "/")) or not (site / target).is_file():
        return False
    known = read.get(site / target)
    fragment = unquote(parts.fragment)
    return known is None or not fragment or fragment in known.ids | {"__skip"}


def missing_twins(site: Path, pages: Sequence[str]) -> Iterator[str]:
    """Those of the pages without a link to themselves in the other language."""
    for page in pages:
        depth = page.count("/")
        links = {"zh": "../" * depth + f"zh/{page}", "en": "../" * (depth + 1) + page}
        for folder, other in (("", "zh"), ("zh/", "en")):
            if links[other] not in read_html(site / folder / page).links:
                yield f"{folder}{page}: no link to its twin, {links[other]}"
