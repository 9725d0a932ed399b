"""What a page's file says, before anything is run or rendered."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs.utils.meta import get_data

from .fences import Fence, PageError
from .gate import check_markdown, check_twins
from .made import page_text

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Source:
    """One page in one language.

    Attributes:
        uri: its file, the same in both languages.
        blocks: the code that is run for it, in order.
        ids: of its headings.
        sections: block's id -> the id of the heading that it stands under.
        title: its first heading, without the id.
        meta: its front matter.
    """

    language: str
    uri: str
    blocks: list[Fence] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    sections: dict[str, str] = field(default_factory=dict)
    title: str = ""
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """The page's name in messages, such as `en/zero.md`."""
        return f"{self.language}/{self.uri}"

    def where(self, block: str, line: int = 0) -> str:
        """A line of a block, for messages: page, line of the file, and the block's id."""
        starts = [fence.line for fence in self.blocks if fence.options["id"] == block]
        return f"{self.page}:{sum(starts) + line}, block {block!r}"


def read_source(root: Path, language: str, uri: str) -> Source:
    """Read and check one page.

    Raises:
        PageError: a bad fence, a heading without an explicit id, a page that cannot be made.
    """
    text = page_text(root, language, uri)
    markdown, meta = get_data(text)
    above = text.count("\n", 0, max(text.find(markdown.strip()), 0))  # front matter
    checked = check_markdown(f"{language}/{uri}", "\n" * above + markdown.lstrip("\n"))
    title = next((line for line in markdown.split("\n") if line.startswith("# ")), "# ")
    return Source(language, uri, *checked, title[2:].split("{")[0].strip(), meta)


def read_sources(root: Path) -> dict[str, Source]:
    """All pages of both languages by name, English first.

    Raises:
        PageError: what `read_source` refuses, a page without its twin, or twins that differ.
    """
    sources = {}
    for language in LANGUAGES:
        folder = root / "docs" / language
        for path in sorted(folder.rglob("*.md")):
            source = read_source(root, language, path.relative_to(folder).as_posix())
            sources[source.page] = source
    check_all_twins(sources)
    return sources


def check_all_twins(sources: dict[str, Source]) -> None:
    """Raise PageError unless every page is there twice, with the same blocks and ids."""
    uris = {lang: {s.uri for s in sources.values() if s.language == lang} for lang in LANGUAGES}
    if missing := sorted(f"zh/{uri}" for uri in uris["en"] - uris["zh"]):
        raise PageError(f"pages without a Chinese twin: {', '.join(missing)}")
    for uri in sorted(uris["zh"] - uris["en"]):
        raise PageError(f"zh/{uri}: there is no such page in English")
    for uri in sorted(uris["en"]):
        check_twins(uri, *((s.blocks, s.ids) for s in (sources[f"en/{uri}"], sources[f"zh/{uri}"])))
