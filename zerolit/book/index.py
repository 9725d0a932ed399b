"""Home: one all-reduce as a row of discs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib.patches as patches
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.path import Path

from zerolit.comm import CommLog

from .figure import PAPER, SERIES, canvas, render
from .holding import holdings
from .words import AFTER_N, START, Words, say

if TYPE_CHECKING:
    from zerolit.press.source import Source

_CAPTION = Words(
    "Ring all-reduce on {p} cards. A circle of cells is a card, a sector is a chunk; the "
    "stronger the colour, the more cards' shares are in it.",
    "{p} 张卡的环形 all-reduce。一圈格子是一张卡，一个扇区是一块；颜色越浓，其中已加进的卡越多。",
)
_ALT = Words(
    "{panels} discs of {p} by {p} cells, after steps {steps}. The mean number of cards' shares "
    "per cell is {means}.",
    "{panels} 个 {p}×{p} 格的圆盘，分别在第 {steps} 步之后。每格平均含 {means} 张卡的数据。",
)


def home_discs(log: CommLog) -> str:
    """The whole all-reduce as discs: a circle of cells per card, a sector per chunk."""
    moments, size = holdings(log), log.size
    shown = [0, size // 2, size - 1, size - 1 + size // 2, log.steps]
    counts = [np.array([[len(c) for c in row] for row in moments[step]]) for step in shown]
    with canvas(11, 2.75) as figure:
        axes = figure.subplots(1, len(shown))
        figure.subplots_adjust(left=0.01, right=0.99, top=0.84, bottom=0.01, wspace=0.06)
        for ax, step, count in zip(axes, shown, counts, strict=True):
            _disc(ax, count)
            ax.set_title(say(AFTER_N, n=step) if step else say(START))
        means = ", ".join(f"{count.mean():.1f}" for count in counts)
        steps = ", ".join(map(str, shown))
        facts = {"panels": len(shown), "p": size, "steps": steps, "means": means}
        data = {f"disc-{i}": count.ravel() for i, count in enumerate(counts)}
        return render("home-discs", figure, _CAPTION, _ALT, facts, {"p": size}, data=data)


def _disc(ax: Axes, count: np.ndarray) -> None:
    size = len(count)
    for ranks in np.unique(count):  # one path for each shade: half the bytes
        cells = [_cell(size, *place) for place in np.argwhere(count == ranks)]
        shade = 0.06 + 0.94 * (int(ranks) - 1) / (size - 1)
        face = (*to_rgb(SERIES[0]), shade)
        path = Path.make_compound_path(*cells)
        ax.add_patch(patches.PathPatch(path, facecolor=face, edgecolor=PAPER, linewidth=0.4))
    reach = 5 + size + 0.2
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.axis("off")


def _cell(size: int, rank: int, chunk: int) -> Path:
    """The outline of a cell: circle `rank` from the inside, sector `chunk` clockwise from above."""
    sector = 360 / size
    start = 90 - (chunk + 1) * sector
    return patches.Wedge((0, 0), 5 + rank + 1, start, start + sector, width=1).get_path()


def chapters(pages: "Sequence[Source]") -> str:
    """The pages that answer a question, as a table in Markdown."""
    head = Words("| chapter | question |", "| 章节 | 回答的问题 |").fill(pages[0].language)
    asked = (page for page in pages if "question" in page.meta)
    rows = [f"| [{page.title}]({page.uri}) | {page.meta['question']} |" for page in asked]
    return "\n".join([head, "|---|---|", *rows])
