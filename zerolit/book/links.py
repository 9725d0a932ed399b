"""Link to a section: every place of the site, with its Markdown."""

from zerolit.press import current
from zerolit.press.page import Site

from .table import Column, Table
from .words import Words, choose

_KINDS = {"section": ("section", "节"), "table": ("table", "表"), "figure": ("figure", "图")}


def places(site: Site, _: str) -> Table | None:
    """Every place, with Markdown for both languages; the page's script completes the addresses."""
    if site.places is None:
        return None
    language = current().language
    root = "" if language == "en" else "../"
    markdown = {
        "en": Column("markdown en", "code", "Markdown, English page", "Markdown（英文页）"),
        "zh": Column("markdown zh", "code", "Markdown, Chinese page", "Markdown（中文页）"),
    }
    own_first = sorted(markdown, key=lambda to: to != language)
    columns = [
        Column("place", "link", "place", "位置"),
        Column("kind", "s", "kind", "类别"),
        *(markdown[to] for to in own_first),
    ]
    folder = {"en": root, "zh": f"{root}zh/"}
    rows = [
        (
            (place.titles[language], place.address),
            choose(place.kind, _KINDS),
            *(f"[{place.titles[to]}]({folder[to]}{place.address})" for to in own_first),
        )
        for place in site.places
    ]
    caption = Words("{n} places.", "共 {n} 处。")
    return Table("places", caption, columns, rows, {"n": len(rows)}, linkable=False)
