"""The drawings of the chapters, each from the data that it shows."""

from collections.abc import Sequence
from fractions import Fraction

import matplotlib.patches as patches
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.path import Path

from zerolit.comm import CommLog
from zerolit.plan import Overlap, Training

from .figure import FAINT, INK, PAPER, SERIES, canvas, render
from .labels import label
from .page import current

Holding = list[list[frozenset[int]]]  # [rank][chunk]: whose shares are in it


def holdings(log: CommLog) -> list[Holding]:
    """Who is in which chunk of which card: at the start and after every step of a logged ring."""
    size = log.size
    moments = [[[frozenset([rank])] * size for rank in range(size)]]
    for step in range(1, log.steps + 1):
        before = moments[-1]
        after = [list(row) for row in before]
        for m in (m for m in log.messages if m.step == step):
            after[m.destination][m.chunk] |= before[m.source][m.chunk]  # type: ignore[index]
        moments.append(after)
    return moments


def ring_steps(log: CommLog) -> str:
    """The ring step by step: one panel each, cards by chunks, striped by whose share is in."""
    moments = holdings(log)
    say = current().language
    with canvas(11, 5.6) as figure:
        grid = figure.subplots(2, 4, gridspec_kw={"wspace": 0.1, "hspace": 0.42})
        figure.subplots_adjust(left=0.06, right=0.99, top=0.93, bottom=0.02)
        for step, (ax, holding) in enumerate(zip(grid.flat, moments, strict=False)):
            arrived = {(m.destination, m.chunk) for m in log.messages if m.step == step}
            phase = next((m.phase for m in log.messages if m.step == step), None)
            title = label("step n", say, n=step) if step else label("start", say)
            ax.set_title(f"{title}: {phase}" if phase else title, fontsize=11)
            _cards(ax, holding, arrived)
            names = [f"{label('card', say)} {rank}" for rank in range(log.size)]
            ax.set_yticks(
                np.arange(log.size) + 0.5, [""] * log.size if step % 4 else names, fontsize=10
            )
        _key(grid.flat[-1], log.size)
        facts = {"panels": len(moments), "ranks": log.size, "half": log.size - 1}
        panels = {
            f"panel-{i}": [sorted(cell) for row in holding for cell in row]
            for i, holding in enumerate(moments)
        }
        return render("ring-steps", figure, {**facts, "steps": log.steps}, data=panels)


def _cards(ax: Axes, holding: Holding, arrived: set) -> None:
    size = len(holding)
    for rank, row in enumerate(holding):
        for chunk, ranks in enumerate(row):
            for other in ranks:
                stripe = (chunk + 0.08 + other * 0.84 / size, rank + 0.1)
                ax.add_patch(patches.Rectangle(stripe, 0.84 / size, 0.8, color=SERIES[other], lw=0))
            edge, width = (INK, 2) if (rank, chunk) in arrived else (FAINT, 0.8)
            box = patches.Rectangle((chunk + 0.08, rank + 0.1), 0.84, 0.8, fill=False)
            box.set(edgecolor=edge, linewidth=width)
            ax.add_patch(box)
    ax.set(xlim=(0, size), ylim=(size, 0), xticks=[])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _key(ax: Axes, size: int) -> None:
    for rank in range(size):
        ax.add_patch(patches.Rectangle((0.2, rank + 0.25), 0.5, 0.5, color=SERIES[rank], lw=0))
        name = f"{label('card', current().language)} {rank}"
        ax.text(0.95, rank + 0.5, name, va="center", fontsize=11)
    ax.set(xlim=(0, size), ylim=(size, 0))
    ax.axis("off")


def home_discs(log: CommLog) -> str:
    """The whole all-reduce as discs: a circle of cells per card, a sector per chunk."""
    moments, size, say = holdings(log), log.size, current().language
    shown = [0, size // 2, size - 1, size - 1 + size // 2, log.steps]
    counts = [np.array([[len(c) for c in row] for row in moments[step]]) for step in shown]
    with canvas(11, 2.75) as figure:
        axes = figure.subplots(1, len(shown))
        figure.subplots_adjust(left=0.01, right=0.99, top=0.84, bottom=0.01, wspace=0.06)
        for ax, step, count in zip(axes, shown, counts, strict=True):
            _disc(ax, count)
            ax.set_title(label("after n", say, n=step) if step else label("start", say))
        means = ", ".join(f"{count.mean():.1f}" for count in counts)
        steps = ", ".join(map(str, shown))
        facts = {"panels": len(shown), "p": size, "steps": steps, "means": means}
        data = {f"disc-{i}": count.ravel() for i, count in enumerate(counts)}
        return render("home-discs", figure, facts, {"p": size}, data=data)


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


def time_curve(training: Training, ranks: Sequence[int]) -> str:
    """Seconds per training step against the number of cards, on log axes."""
    say = current().language
    lines = {
        "line compute": [training.compute(p) for p in ranks],
        "line ring": [training.communicate(p) for p in ranks],
        "line server": [training.communicate(p, "ps") for p in ranks],
    }
    with canvas(9, 4.6) as figure:
        ax = figure.add_axes((0.09, 0.13, 0.72, 0.82))
        for colour, (name, seconds) in zip(SERIES, lines.items(), strict=False):
            ax.plot(ranks, seconds, color=colour)
            ax.text(ranks[-1] * 1.12, seconds[-1], label(name, say), color=colour, va="center")
        ax.set(xscale="log", yscale="log", xlabel=label("number of cards", say))
        ax.set_ylabel(label("seconds per step", say))
        _ticks(ax, ranks)
        ends = (seconds[i] for seconds in lines.values() for i in (0, -1))
        keys = ("c0", "c1", "r0", "r1", "s0", "s1")
        facts = dict(zip(keys, ends, strict=True))
        return render("traffic-time-curve", figure, {"first": ranks[0], "last": ranks[-1], **facts})


def efficiency_curve(training: Training, ranks: Sequence[int]) -> str:
    """Efficiency against the number of cards for the three overlaps, with the walls marked."""
    say = current().language
    overlaps: dict[str, Overlap] = {
        "line none": 0,
        "line backward": Fraction(2, 3),
        "line perfect": 1,
    }
    with canvas(9, 4.6) as figure:
        ax = figure.add_axes((0.09, 0.13, 0.66, 0.82))
        facts: dict[str, object] = {"first": ranks[0], "last": ranks[-1]}
        for letter, colour, (name, overlap) in zip("nbo", SERIES, overlaps.items(), strict=False):
            curve = [training.efficiency(p, overlap) for p in ranks]
            ax.plot(ranks, curve, color=colour)
            _mark_wall(ax, training, overlap, colour)
            height = 0.98 - 0.075 * "nbo".index(letter)
            ax.text(1.04, height, label(name, say), color=colour, transform=ax.transAxes, va="top")
            facts |= {f"{letter}0": curve[0], f"{letter}1": curve[-1]}
        ax.set(xscale="log", ylim=(0, 1.05), xlabel=label("number of cards", say))
        ax.set_ylabel(label("efficiency", say))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        _ticks(ax, ranks)
        return render("traffic-efficiency", figure, facts)


def _mark_wall(ax: Axes, training: Training, overlap: Overlap, colour: str) -> None:
    if not overlap:
        return
    wall = training.wall(overlap)
    ax.plot([wall], [training.efficiency(wall, overlap)], "o", color=colour, markersize=8)
    words = label("wall at", current().language, ranks=wall)
    place = (wall * 1.12, training.efficiency(wall, overlap) + 0.02)
    if overlap != 1:
        place = (wall / 1.12, training.efficiency(wall, overlap) - 0.06)
    ax.text(*place, words, color=colour, ha="left" if overlap == 1 else "right")


def _ticks(ax: Axes, ranks: Sequence[int]) -> None:
    shown = [p for p in ranks if p in (8, 32, 128, 512, 2048)]
    ax.set_xticks(shown, [str(p) for p in shown])
    ax.minorticks_off()
    ax.grid(True, axis="both")
