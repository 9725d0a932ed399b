"""Figures: matplotlib drawings as SVG that takes its colours and its font from the page.

Drawn in sentinel colours that are replaced by CSS variables, so one SVG follows the light and the
dark scheme. Text stays text and the layout never depends on its width, so no font is needed to
build a page in Chinese, and two builds give the same bytes.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from zerolit.press import current

from .table import permalink
from .words import Words

INK, FAINT, PAPER = "#010101", "#020202", "#030303"
SERIES = ("#a10001", "#a20002", "#a30003", "#a40004")  # one per line or card
_VARIABLES = {
    INK: "var(--md-default-fg-color)",
    FAINT: "var(--md-default-fg-color--lighter)",
    PAPER: "var(--md-default-bg-color)",
    **{colour: f"var(--zl-{i})" for i, colour in enumerate(SERIES, start=1)},
}
_CJK = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "zerolit",
    "font.family": ["DejaVu Sans"],
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 2.2,
    "mathtext.default": "regular",
}


@contextmanager
def canvas(width: float, height: float) -> Iterator[Figure]:
    """A blank figure of `width` × `height` inches in the pages' style."""
    with matplotlib.rc_context(_STYLE):
        yield Figure(figsize=(width, height))


def render(
    name: str,
    figure: Figure,
    caption: Words,
    alt: Words,
    facts: dict[str, Any],
    shown: dict[str, Any] | None = None,
    tolerances: dict[str, str] | None = None,
    data: dict[str, Any] | None = None,
    narrow: Figure | None = None,
) -> str:
    """The figure as HTML, with caption and text alternative in the language of the page.

    Args:
        name: the figure's id.
        figure: what was drawn inside `canvas`.
        alt: the text alternative.
        facts: what it is filled with: computed from the drawn data.
        shown: what the caption is filled with, if anything.
        tolerances: by fact or line, how far a rebuild may be off, if not by default.
        data: what is drawn other than as lines.
        narrow: the same for a phone, drawn on `canvas(4, …)`, where text at 11 points is read
            without scrolling; without it, the one figure is scaled down, words and all.

    Facts, data and every line enter the ledger.

    Raises:
        ValueError: Chinese text with `$…$` in it, which matplotlib draws as empty boxes.
    """
    language = current().language
    _check_text(name, figure)
    current().made.append(name)
    for key, value in (facts | (data or {}) | _lines(figure)).items():
        current().record(f"{name}.{key}", value, (tolerances or {}).get(key, ""))
    told = alt.fill(language, **facts)
    if language == "zh":
        told = told.replace(", ", "、")
    if narrow is None:
        drawn = f'<div class="zl-scroll" tabindex="0">{_image(name, figure, told)}</div>'
    else:
        _check_text(name, narrow)
        drawn = f'<div class="zl-wide">{_image(name, figure, told)}</div>'
        drawn += f'<div class="zl-narrow">{_image(f"{name}-narrow", narrow, told)}</div>'
    text = escape(caption.fill(language, **(shown or {})))
    return (
        f'<figure class="zl-figure" id="{name}">{drawn}'
        f"<figcaption>{text}{permalink(name)}</figcaption></figure>\n"
    )


def _image(name: str, figure: Figure, alt: str) -> str:
    """One SVG with its text alternative."""
    label = escape(alt, quote=True)
    svg = _paint(name, _svg(figure))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _lines(figure: Figure) -> dict[str, Any]:
    """The values of every line of data, by its gid, or numbered in the order of drawing."""
    drawn = [
        line
        for ax in figure.axes
        for line in ax.lines
        if line.get_transform().contains_branch(ax.transData)
    ]
    return {line.get_gid() or f"line-{i}": list(line.get_ydata()) for i, line in enumerate(drawn)}  # type: ignore


def _check_text(name: str, figure: Figure) -> None:
    for text in figure.findobj(matplotlib.text.Text):
        words = text.get_text()  # type: ignore[attr-defined]
        if "$" in words and _CJK.search(words):
            raise ValueError(f"figure {name}: {words!r} mixes Chinese with $…$; write it without")


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # The browser draws the text; that the build machine lacks a glyph does not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


_RECTANGLE = re.compile(r"M (\S+) (\S+) \nL (\S+) \2 \nL \3 (\S+) \nL \1 \4 \n(?:L \1 \2 \n)?z")


def _shorten(path: re.Match) -> str:
    """Coordinates to a tenth of a point, a seventh of a pixel: a third of the bytes.

    Scales below 1 keep three digits.
    """
    short = _RECTANGLE.sub(_relative, path[0])
    return re.sub(r"-?\d+\.\d{2,}", lambda number: _rounded(float(number[0])), short)


def _rounded(number: float) -> str:
    return f"{number:.1f}" if abs(number) >= 1 else f"{number:.3f}"


def _relative(rectangle: re.Match) -> str:
    """A rectangle by its corner and sides: those of one size then read the same, and compress."""
    left, low, right, top = map(float, rectangle.groups())
    wide, high = _rounded(right - left), _rounded(top - low)
    return f"M{left:.1f} {low:.1f}h{wide}v{high}h{_rounded(left - right)}z"


def _strip(svg: str) -> str:
    """Leave out names that nothing refers to, the groups round single elements, and idle turns."""
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", svg)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", svg)
    svg = re.sub(r"<g>\s*(<(text|path)\b[^<]*?(?:/>|</\2>))\s*</g>", r"\1", svg)
    return svg


def _paint(name: str, svg: str) -> str:
    """Strip the prologue, make ids the figure's own, and put CSS variables for colours."""
    svg = svg[svg.index("<svg ") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    svg = re.sub(r'(<svg [^>]*?)\s*width="[\d.]+pt"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?)\s*height="[\d.]+pt"', r"\1", svg, count=1)
    svg = _strip(svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{name}-", svg)
    svg = svg.replace("'DejaVu Sans'", "var(--zl-font)")
    svg = re.sub(r' (?:d|x|y|transform)="[^"]*"', _shorten, svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return re.sub(r"\n\s*", "\n", svg)
