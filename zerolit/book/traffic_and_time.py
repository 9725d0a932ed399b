"""3.2: traffic counted, time by the α–β model, and how far cards can be added."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from matplotlib.axes import Axes

from zerolit.comm import CommLog, parameter_server_all_reduce, ring_all_reduce
from zerolit.plan import Overlap, Training

from .figure import SERIES, canvas, render
from .table import Column, Table
from .words import NUMBER_OF_CARDS, Words, choose, say

_RANKS = Column("ranks", "d", "cards p", "卡数 p")


def traffic_table(length: int, ranks: Sequence[int]) -> Table:
    """Elements counted on the wire, ring beside parameter server."""
    caption = Words(
        "Elements on the wire for one all-reduce of {n} numbers, counted.",
        "对 {n} 个数做一次 all-reduce 时链路上传输的元素个数（实际计数）。",
    )
    columns = [
        _RANKS,
        Column("ring sends", ",d", "ring: each card sends", "环形：每张卡发出", "elements"),
        Column("ring steps", "d", "ring: steps", "环形：步数"),
        Column(
            "server 0",
            ",d",
            "server: card 0 sends + receives",
            "参数服务器：第 0 张卡收发合计",
            "elements",
        ),
        Column(
            "server others",
            ",d",
            "server: every other card sends",
            "参数服务器：其余每张卡发出",
            "elements",
        ),
    ]
    rows = []
    for p in ranks:
        ring, server = CommLog(p), CommLog(p)
        arrays = [np.ones(length, dtype=np.float32)] * p
        ring_all_reduce(arrays, ring)
        parameter_server_all_reduce(arrays, server)
        rows.append(
            (p, max(ring.sent), ring.steps, server.sent[0] + server.received[0], server.sent[-1])
        )
    return Table("traffic-counted", caption, columns, rows, {"n": length})


def time_table(training: Training, ranks: Sequence[int]) -> Table:
    """One training step: compute, ring, server, and the efficiency for three overlaps."""
    caption = Words(
        "One training step, by the α–β model: {params} parameters, {tokens} tokens, "
        "{bandwidth} GB/s and {latency} µs per link. The last three columns are efficiencies.",
        "一个训练步的时间（α–β 模型）：{params} 参数，{tokens} token，"
        "每条链路 {bandwidth} GB/s、{latency} µs。后三列是效率。",
    )
    columns = [
        _RANKS,
        Column("tokens per card", ",.0f", "tokens per card", "每张卡的 token", "tokens"),
        Column("compute", ".3f", "compute, s", "计算，秒", "s"),
        Column("ring", ".3f", "ring, s", "环形，秒", "s"),
        Column("server", ",.1f", "server, s", "参数服务器，秒", "s"),
        Column("no overlap", ".0%", "no overlap", "不重叠"),
        Column("backward overlap", ".0%", "under backward", "与反向重叠"),
        Column("perfect overlap", ".0%", "perfect overlap", "完全重叠"),
    ]
    rows = [
        (
            p,
            training.tokens / p,
            training.compute(p),
            training.communicate(p),
            training.communicate(p, "ps"),
            *(training.efficiency(p, overlap) for overlap in (0, Fraction(2, 3), 1)),
        )
        for p in ranks
    ]
    facts = {
        "params": f"{training.params / 1e9:g}B",
        "tokens": f"{training.tokens / 1e6:g}M",
        "bandwidth": f"{training.bandwidth / 1e9:g}",
        "latency": f"{training.latency * 1e6:g}",
    }
    return Table("traffic-time", caption, columns, rows, facts)


_SOURCES = {
    "model": ("α–β model", "α–β 模型"),
    "measured": ("measured, nccl-tests", "实测，nccl-tests"),
}


def bus_table(rows: Sequence[tuple[str, int, int, float]], bandwidth: float) -> Table:
    """algbw and busbw: rows of where a time comes from, cards, bytes and seconds.

    `bandwidth` is that of the model's links, in bytes/s.

    algbw = S/t; busbw = algbw · 2(p-1)/p for an all-reduce (nccl-tests, PERFORMANCE.md).
    """
    caption = Words(
        "algbw and busbw of an all-reduce. The model's links carry {bandwidth} GB/s.",
        "一次 all-reduce 的 algbw 与 busbw。模型中每条链路为 {bandwidth} GB/s。",
    )
    columns = [
        Column("source", "s", "where from", "来源"),
        _RANKS,
        Column("bytes", ",d", "S, bytes", "S，字节", "bytes"),
        Column("time us", ",.0f", "time, µs", "时间，µs", "µs"),
        Column("algbw", ".2f", "algbw, GB/s", "algbw，GB/s", "GB/s"),
        Column("busbw", ".2f", "busbw, GB/s", "busbw，GB/s", "GB/s"),
    ]
    cells = []
    for source, p, nbytes, seconds in rows:
        algbw, word = nbytes / seconds / 1e9, choose(source, _SOURCES)
        cells.append((word, p, nbytes, seconds * 1e6, algbw, algbw * 2 * (p - 1) / p))
    return Table("traffic-busbw", caption, columns, cells, {"bandwidth": f"{bandwidth / 1e9:g}"})


def time_curve(training: Training, ranks: Sequence[int]) -> str:
    """Seconds per training step against the number of cards, on log axes."""
    caption = Words(
        "Compute per card shrinks with p, the ring's time does not, the server's grows.",
        "每张卡的计算随 p 缩短，环形的时间不缩短，参数服务器的时间不断增长。",
    )
    alt = Words(
        "Log-log lines from {first} to {last} cards: compute from {c0:.3g} to {c1:.3g} s, ring "
        "from {r0:.3g} to {r1:.3g} s, parameter server from {s0:.3g} to {s1:.3g} s.",
        "双对数曲线，{first} 到 {last} 张卡：计算从 {c0:.3g} 到 {c1:.3g} 秒，"
        "环形从 {r0:.3g} 到 {r1:.3g} 秒，参数服务器从 {s0:.3g} 到 {s1:.3g} 秒。",
    )
    lines = {
        Words("compute", "计算"): [training.compute(p) for p in ranks],
        Words("ring", "环形"): [training.communicate(p) for p in ranks],
        Words("parameter server", "参数服务器"): [training.communicate(p, "ps") for p in ranks],
    }
    with canvas(9, 4.6) as figure:
        ax = figure.add_axes((0.09, 0.13, 0.72, 0.82))
        for colour, (name, seconds) in zip(SERIES, lines.items(), strict=False):
            ax.plot(ranks, seconds, color=colour)
            ax.text(ranks[-1] * 1.12, seconds[-1], say(name), color=colour, va="center")
        ax.set(xscale="log", yscale="log", xlabel=say(NUMBER_OF_CARDS))
        ax.set_ylabel(say(Words("seconds per training step", "每个训练步的秒数")))
        _ticks(ax, ranks)
        ends = (seconds[i] for seconds in lines.values() for i in (0, -1))
        keys = ("c0", "c1", "r0", "r1", "s0", "s1")
        facts = {"first": ranks[0], "last": ranks[-1], **dict(zip(keys, ends, strict=True))}
        return render("traffic-time-curve", figure, caption, alt, facts)


def efficiency_curve(training: Training, ranks: Sequence[int]) -> str:
    """Efficiency against the number of cards for the three overlaps, with the walls marked."""
    caption = Words(
        "Overlap moves the wall; it does not remove it. Dots mark where communication and what "
        "can hide it take equally long.",
        "重叠能把墙推远，但拆不掉它。圆点处，通信与能掩盖它的计算一样长。",
    )
    alt = Words(
        "Efficiency from {first} to {last} cards: without overlap from {n0:.0%} to {n1:.0%}, "
        "hidden under the backward pass from {b0:.0%} to {b1:.0%}, with perfect overlap from "
        "{o0:.0%} to {o1:.0%}.",
        "{first} 到 {last} 张卡的效率：不重叠从 {n0:.0%} 到 {n1:.0%}，"
        "与反向传播重叠从 {b0:.0%} 到 {b1:.0%}，完全重叠从 {o0:.0%} 到 {o1:.0%}。",
    )
    overlaps: dict[Words, Overlap] = {
        Words("no overlap", "不重叠"): 0,
        Words("hidden under the backward pass", "与反向传播重叠"): Fraction(2, 3),
        Words("perfect overlap", "完全重叠"): 1,
    }
    with canvas(9, 4.6) as figure:
        ax = figure.add_axes((0.09, 0.13, 0.66, 0.82))
        facts: dict[str, object] = {"first": ranks[0], "last": ranks[-1]}
        for letter, colour, (name, overlap) in zip("nbo", SERIES, overlaps.items(), strict=False):
            curve = [training.efficiency(p, overlap) for p in ranks]
            ax.plot(ranks, curve, color=colour)
            _mark_wall(ax, training, overlap, colour)
            height = 0.98 - 0.075 * "nbo".index(letter)
            ax.text(1.04, height, say(name), color=colour, transform=ax.transAxes, va="top")
            facts |= {f"{letter}0": curve[0], f"{letter}1": curve[-1]}
        ax.set(xscale="log", ylim=(0, 1.05), xlabel=say(NUMBER_OF_CARDS))
        ax.set_ylabel(say(Words("efficiency", "效率")))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        _ticks(ax, ranks)
        return render("traffic-efficiency", figure, caption, alt, facts)


def _mark_wall(ax: Axes, training: Training, overlap: Overlap, colour: str) -> None:
    if not overlap:
        return
    wall = training.wall(overlap)
    ax.plot([wall], [training.efficiency(wall, overlap)], "o", color=colour, markersize=8)
    words = say(Words("{ranks} cards", "{ranks} 张卡"), ranks=wall)
    place = (wall * 1.12, training.efficiency(wall, overlap) + 0.02)
    if overlap != 1:
        place = (wall / 1.12, training.efficiency(wall, overlap) - 0.06)
    ax.text(*place, words, color=colour, ha="left" if overlap == 1 else "right")


def _ticks(ax: Axes, ranks: Sequence[int]) -> None:
    shown = [p for p in ranks if p in (8, 32, 128, 512, 2048)]
    ax.set_xticks(shown, [str(p) for p in shown])
    ax.minorticks_off()
    ax.grid(True, axis="both")
