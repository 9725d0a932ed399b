"""Cards drawn in a ring: their chunks as cells, and on the arrows what moves to the neighbour."""

from collections.abc import Iterable, Sequence
from math import cos, pi, sin
from typing import Any

import matplotlib.patches as patches
from matplotlib.axes import Axes
from matplotlib.path import Path

from zerolit.comm import Message

from .figure import FAINT, INK, PAPER, SERIES
from .holding import Holding
from .words import CARD, Words, say

Cell = tuple[tuple[float, float], frozenset[int]]  # lower left corner, whose shares are in it

CHUNK_N = Words("chunk {n}", "第 {n} 块")
SHARE_N = Words("card {n}'s share", "第 {n} 张卡的一份")
_RADIUS, _WIDE, _HIGH = 1.3, 0.29, 0.4  # of the ring, and of a cell
_REACH_X, _REACH_Y = 1.93, 1.68
_SMALL = 9  # points: in panels with smaller text, names in the middle of the ring take two lines


def draw_circle(
    ax: Axes, holding: Holding, moving: Iterable[Message] = (), font: float = 10
) -> None:
    """Cards clockwise from above, what each holds, and the messages to the neighbours.

    Args:
        holding: `[rank][chunk]`: whose shares are in it.
        moving: the messages of one step, each drawn with the shares that it carries.
        font: size of the text in points.
    """
    size = len(holding)
    moved = {message.source: message.chunk for message in moving}
    cells, parcels = [], []
    for rank, row in enumerate(holding):
        cells += _card(ax, rank, row, font)
        chunk = moved.get(rank)
        _arrow(ax, rank, size, FAINT if chunk is None else INK)
        if isinstance(chunk, int):
            parcels.append((_parcel(ax, rank, size, chunk, font), row[chunk]))
    draw_cells(ax, cells, size, _WIDE, _HIGH)
    draw_cells(ax, parcels, size, _WIDE, _HIGH, covers=True)
    ax.set(xlim=(-_REACH_X, _REACH_X), ylim=(-_REACH_Y, _REACH_Y), aspect="equal")
    ax.axis("off")


def draw_cells(
    ax: Axes,
    cells: Sequence[Cell],
    size: int,
    width: float,
    height: float,
    edge: str = INK,
    line: float = 0.8,
    covers: bool = False,
) -> None:
    """Chunks as boxes: a stripe in the colour of each of the `size` ranks whose share is in it.

    One path for each colour, however many boxes: a tenth of the bytes.

    Args:
        covers: whether the boxes hide what lies below them, such as lines.
    """
    if not cells:
        return
    boxes = [_box(*corner, width, height) for corner, _ in cells]
    if covers:
        _fill(ax, boxes, facecolor=PAPER, linewidth=0, zorder=3)
    for rank in range(size):
        here = [corner for corner, ranks in cells if rank in ranks]
        stripes = [_box(x + rank * width / size, y, width / size, height) for x, y in here]
        _fill(ax, stripes, facecolor=SERIES[rank], linewidth=0, zorder=4)
    _fill(ax, boxes, fill=False, edgecolor=edge, linewidth=line, zorder=5)


def _box(x: float, y: float, width: float, height: float) -> Path:
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]
    return Path(corners, closed=True)


def _fill(ax: Axes, paths: Sequence[Path], **look: Any) -> None:
    if paths:
        path = Path.make_compound_path(*paths)
        ax.add_patch(patches.PathPatch(path, clip_on=False, **look))


def draw_key(ax: Axes, size: int, font: float = 10) -> None:
    """Whose colour is which, in the middle of an empty panel."""
    for rank in range(size):
        y = size - rank
        ax.add_patch(patches.Rectangle((0.3, y - 0.25), 0.5, 0.5, color=SERIES[rank], lw=0))
        ax.text(1.1, y, say(SHARE_N, n=rank), va="center", fontsize=font)
    ax.set(xlim=(0, 5), ylim=(-0.5, size + 1.5))
    ax.axis("off")


def _at(angle: float, radius: float = _RADIUS) -> tuple[float, float]:
    """A point of the ring; the angle in turns, clockwise from above."""
    return radius * sin(2 * pi * angle), radius * cos(2 * pi * angle)


def _card(ax: Axes, rank: int, row: Sequence[frozenset[int]], font: float) -> list[Cell]:
    """A card's name and the numbers of its chunks; returns the chunks, to be drawn with others."""
    size = len(row)
    x, y = _at(rank / size)
    left, low = x - _WIDE * size / 2, y - _HIGH / 2
    _name(ax, rank, (x, y), _WIDE * size / 2, font)
    for chunk in range(size):
        middle, above = left + (chunk + 0.5) * _WIDE, low + _HIGH + 0.05
        ax.text(middle, above, str(chunk), ha="center", va="bottom", fontsize=font - 2)
    return [((left + chunk * _WIDE, low), ranks) for chunk, ranks in enumerate(row)]


def _name(ax: Axes, rank: int, centre: tuple[float, float], half: float, font: float) -> None:
    """The card's name, on the side that looks into the ring."""
    x, y = centre
    words = f"{say(CARD)} {rank}"
    if abs(x) > abs(y):
        words = words.replace(" ", "\n") if font < _SMALL else words
        side = -1 if x > 0 else 1
        align = "right" if x > 0 else "left"
        ax.text(x + side * (half + 0.08), y, words, ha=align, va="center", fontsize=font)
    else:
        gap = _HIGH / 2 + (0.08 if y > 0 else 0.28)  # the numbers of the chunks are above
        side = -1 if y > 0 else 1
        align = "top" if y > 0 else "bottom"
        ax.text(x, y + side * gap, words, ha="center", va=align, fontsize=font)


def _arrow(ax: Axes, rank: int, size: int, colour: str) -> None:
    style = patches.ArrowStyle("-|>", head_length=5, head_width=2.6)
    begin, end = _at((rank + 0.29) / size), _at((rank + 0.75) / size)
    begin, end = _ends(rank, size, begin, end)
    bend = patches.ConnectionStyle("arc3", rad=-0.35)
    ax.add_patch(
        patches.FancyArrowPatch(
            begin,
            end,
            arrowstyle=style,
            connectionstyle=bend,
            color=colour,
            lw=1.5,
            zorder=2,
            clip_on=False,
        )
    )


def _ends(rank: int, size: int, begin: tuple, end: tuple) -> tuple[tuple, tuple]:
    """Of four cards, an arrow joins the short side of one with the long side of the next."""
    if size != 4:
        return begin, end
    half, above = _WIDE * 2 + 0.07, _HIGH / 2
    right, left, top, bottom = _RADIUS + 0.15, -_RADIUS - 0.15, above + 0.32, -above - 0.07
    return (
        ((half, _RADIUS), (right, top)),
        ((right, bottom), (half, -_RADIUS)),
        ((-half, -_RADIUS), (left, bottom)),
        ((left, top), (-half, _RADIUS)),
    )[rank]


def _parcel(ax: Axes, rank: int, size: int, chunk: int, font: float) -> tuple[float, float]:
    """The number of a chunk on its way; returns where the chunk is to be drawn."""
    x, y = _at((rank + 0.5) / size, _RADIUS * 1.22)
    place, align = (y + 0.24, "bottom") if y > 0 else (y - 0.24, "top")
    ax.text(x, place, say(CHUNK_N, n=chunk), ha="center", va=align, fontsize=font - 1)
    return x - _WIDE / 2, y - _HIGH / 2
