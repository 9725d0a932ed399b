"""A collective step by step: a panel for each, cards by chunks, striped by whose share is in."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zerolit.comm import CommLog

from .circle import CHUNK_N, draw_cells, draw_key
from .figure import FAINT, INK
from .holding import Holding
from .words import AFTER_N, CARD, START, say


def draw_steps(
    figure: Figure, log: CommLog, moments: Sequence[Holding], shape: tuple[int, int], font: float
) -> None:
    """A panel for the start and one after each step of `log`; the key comes last.

    Args:
        moments: who is in which chunk, at the start and after each step.
        shape: rows and columns of panels, at least one more than there are moments.
        font: size of the text in points.
    """
    rows, columns = shape
    grid = figure.subplots(rows, columns, gridspec_kw={"wspace": 0.1, "hspace": 0.42})
    figure.subplots_adjust(left=0.62 / figure.get_figwidth(), right=0.99, top=0.92, bottom=0.01)
    for ax in list(grid.flat)[len(moments) :]:
        ax.axis("off")
    for step, (ax, holding) in enumerate(zip(grid.flat, moments, strict=False)):
        arrived = {(m.destination, m.chunk) for m in log.messages if m.step == step}
        ax.set_title(say(AFTER_N, n=step) if step else say(START), fontsize=font + 1, pad=8)
        _cards(ax, holding, arrived)
        first = step % columns == 0
        names = [f"{say(CARD)} {rank}" if first else "" for rank in range(log.size)]
        ax.set_yticks(np.arange(log.size) + 0.5, names, fontsize=font)
        chunks = range(log.size)
        numbers = [say(CHUNK_N, n=chunk) if columns == 4 else str(chunk) for chunk in chunks]
        ax.set_xticks(np.arange(log.size) + 0.5, numbers, fontsize=font - 2)
    draw_key(grid.flat[-1], log.size, font)


def _cards(ax: Axes, holding: Holding, arrived: set) -> None:
    size = len(holding)
    cells = {
        (rank, chunk): ((chunk + 0.08, rank + 0.1), ranks)
        for rank, row in enumerate(holding)
        for chunk, ranks in enumerate(row)
    }
    there = [cell for place, cell in cells.items() if place not in arrived]
    draw_cells(ax, there, size, 0.84, 0.8, FAINT)
    draw_cells(ax, [cells[place] for place in sorted(arrived)], size, 0.84, 0.8, INK, 2)
    ax.set(xlim=(0, size), ylim=(size, 0))
    ax.xaxis.tick_top()
    ax.tick_params(length=0, pad=1)
    ax.spines[:].set_visible(False)
