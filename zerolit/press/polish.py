"""Small repairs to Material's own HTML and scripts: pages validate, everybody can use them."""

import re
from pathlib import Path

from .fences import PageError

_LABELS = {"en": ("Search", "Navigation"), "zh": ("搜索", "导航")}
_REPAIRS = (
    # autocomplete is not for check boxes, and a tabindex is a number (HTML standard)
    (r'(<input\b[^>]*type="(?:checkbox|radio)"[^>]*?) autocomplete="off"', r"\1"),
    (r'(<label\b[^>]*) tabindex=""', r'\1 tabindex="0"'),
    # a dialog and a check box need names (WCAG 4.1.2)
    (r'role="dialog"', r'role="dialog" aria-label="{search}"'),
    (r'(<input\b[^>]*id="__search")', r'\1 aria-label="{search}"'),
    (r'(<input\b[^>]*id="__drawer")', r'\1 aria-label="{menu}"'),
    # what the search needs before Material's script need not hold up the text
    (
        r'(?s)(<script src="[^"]*iframe-worker\.js"></script>)(.*?)(?=<script src="[^"]*/bundle\.)',
        r"\2\1",
    ),
)
_REFERENCE_STYLE = re.compile(r'<link rel="stylesheet" href="[^"]*_mkdocstrings\.css">')
_SEARCH = (
    # A Chinese query is cut into words of the index by looking at all its parts, but at none that
    # reaches its end: "重叠" was looked up as "重".
    ("workers/search.*.min.js", "o<t.length;o++)t.slice(s,o)in", "o<=t.length;o++)t.slice(s,o)in"),
    # The index, as large as a page, is fetched when the search is opened, not with every page...
    ("bundle.*.min.js", '$(location.protocol!=="file:"),Je("search")', '$(!1),Je("search")'),
    # ... or when a page is opened from a result, whose words it marks.
    (
        "bundle.*.min.js",
        'z([t,r.pipe(Q(we()),g(o=>!!o.searchParams.get("h")))]).pipe(',
        'r.pipe(Q(we()),g(o=>!!o.searchParams.get("h")),b(o=>t.pipe(m(n=>[n,o])))).pipe(',
    ),
)


def polish(html: str, language: str) -> str:
    """The page, repaired."""
    search, menu = _LABELS[language]
    for wrong, right in _REPAIRS:
        html = re.sub(wrong, right.format(search=search, menu=menu), html)
    return html if 'class="doc ' in html else _REFERENCE_STYLE.sub("", html)


_DRAFT = {
    "en": "Draft: some blocks were not run again. <code>zerolit build</code> runs all.",
    "zh": "草稿：部分代码块没有重新运行。<code>zerolit build</code> 会全部运行。",
}


def mark_draft(html: str, language: str) -> str:
    """The page, with a line above it that says that it is a draft."""
    line = f'<p class="zl-draft" role="status">{_DRAFT[language]}</p>'
    return re.sub(r"(<body\b[^>]*>)", lambda body: body[1] + line, html, count=1)


def mend_search(site: Path) -> None:
    """Change Material's search in one language's built site: whole words, and only when it is used.

    Raises:
        PageError: this version of Material has another search.
    """
    for pattern, wrong, right in _SEARCH:
        for path in (site / "assets" / "javascripts").glob(pattern):
            script = path.read_text()
            if wrong not in script and right not in script:
                raise PageError(f"{path.name} of Material is not the one that is mended here")
            path.write_text(script.replace(wrong, right))
