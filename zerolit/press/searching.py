"""What the search of the site reads of a page: words that belong together, and no others.

Material's index runs the cells of a table together, and takes in the text of drawings and each
formula three times over (as MathML, as TeX and as it looks).
"""

import re
from collections.abc import Iterable

from .fences import PageError

EXPLAINS = 4  # by how much a section that explains its terms counts for more than others
_UNREAD = re.compile(
    r'<svg\b.*?</svg>|<a class="headerlink".*?</a>|<span class="katex-mathml">.*?</span>', re.S
)
_BETWEEN_CELLS = re.compile(r"(?<=</t[dh]>)\s*(?=<t[dh]\b)")
_LINES = re.compile(r"<(tr|caption|figcaption)\b([^>]*)>(.*?)</\1>", re.S)


def for_search(html: str) -> str:
    """The page's HTML with a dot between cells, a paragraph a row, and without what is not prose.

    Ids and headings are as they were: results lead to them.
    """
    html = _BETWEEN_CELLS.sub(" · ", _UNREAD.sub("", html))
    return _LINES.sub(r"<\1\2><p>\3</p></\1>", html)


def prefer(entries: Iterable[dict], page: str, sections: Iterable[str]) -> None:
    """Let those of the index's entries count for more that are these sections of the page.

    Raises:
        PageError: a section that the page lacks.
    """
    found = {entry["location"]: entry for entry in entries}
    for section in sections:
        if f"{page}#{section}" not in found:
            raise PageError(f"{page}: explains {section!r}, but has no such section")
        found[f"{page}#{section}"]["boost"] = EXPLAINS
