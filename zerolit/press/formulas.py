"""Formulas as HTML, made by KaTeX while the page is built, so that no page carries its script."""

import re
from functools import partial
from html import unescape
from pathlib import Path

import quickjs

from .fences import PageError

KATEX = Path(__file__).with_name("katex") / "katex.min.js"
STYLESHEET = "assets/katex/katex.min.css"  # in docs/theme, for the pages that have a formula
_FORMULA = re.compile(r'(<(?:div|span) class="arithmatex">)\\([(\[])(.*?)\\[)\]](?=</)', re.S)
# Classes of KaTeX's whose fonts the site does not ship; its style sheet lacks them as well.
_FONTLESS = re.compile(
    r'class="[^"]*\b((?:math|text)(?:bold|it)?(?:sf|tt|frak|scr|sfit)|boldsymbol)\b'
)
_RENDER = """(tex, display) =>
  katex.renderToString(tex, { displayMode: display, throwOnError: true, strict: "error" })"""


def render_formulas(page: str, html: str) -> str:
    r"""The page's HTML with each `\(…\)` and `\[…\]` that arithmatex marked replaced by KaTeX's.

    KaTeX takes 40 ms to start; a page without a formula does not pay them.

    Raises:
        PageError: a formula that KaTeX refuses, or that needs a font which the site lacks.
    """
    if not _FORMULA.search(html):
        return html
    context = quickjs.Context()  # one a page: it must not be shared between threads
    context.eval(KATEX.read_text())
    return _FORMULA.sub(partial(_render, page, context.eval(_RENDER)), html)


def _render(page: str, katex: quickjs.Object, match: re.Match) -> str:
    opening, bracket, escaped = match.groups()
    tex = unescape(escaped).strip()
    try:
        rendered = katex(tex, bracket == "[")
    except quickjs.JSException as error:
        reason = str(error).split("\n")[0].replace("\u0332", "")  # it underlines the place
        raise PageError(f"{page}: the formula {tex!r} cannot be set: {reason}") from None
    if lacking := _FONTLESS.search(rendered):
        raise PageError(f"{page}: the formula {tex!r} needs a font for {lacking[1]}; there is none")
    return opening + rendered


def has_formula(html: str) -> bool:
    """Whether a page has one, and therefore needs the style sheet."""
    return 'class="katex"' in html
