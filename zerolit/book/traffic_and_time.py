"""3.2: traffic counted, time by the α–β model, and how far cards can be added."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import matplotlib.patches as patches
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zerolit.comm import CommLog, parameter_server_all_reduce, ring_all_reduce
from zerolit.comm.two_level import Levels, Sending
from zerolit.plan import Overlap, Span, Training, one_after_the_other, perfect, with_buckets
from zerolit.plan import seconds as step_time

from .figure import FAINT, INK, PAPER, SERIES, canvas, render
from .table import Column, Table
from .words import NUMBER_OF_CARDS, Words, choose, say

_COMPUTE, _RING, _SERVER, _ZERO3 = SERIES  # one colour, one meaning, in all figures of the page

_RANKS = Column("ranks", "d", "cards p", "卡数 p")


def traffic_table(length: int, ranks: Sequence[int]) -> Table:
    """Elements counted on the wire, ring beside parameter server."""
    caption = Words(
        "Elements on the wire for one all-reduce of {n} numbers, counted.",
        "对 {n:,} 个数做一次 all-reduce，实际传输的元素个数。",
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
        "{bandwidth} GB/s and {latency} µs per link. The last three columns are the share of the "
        "step spent computing: if nothing overlaps, if the ring hides under the backward pass, or "
        "under all of the compute.",
        "一个训练步的时间（α–β 模型）：{params} 参数，{tokens} token，"
        "每条链路 {bandwidth} GB/s、{latency} µs。后三列是计算时间占一步的比例（效率）："
        "不重叠、与反向传播重叠、与全部计算重叠。",
    )
    columns = [
        _RANKS,
        Column("tokens per card", ",.0f", "tokens per card", "每张卡的 token", "tokens"),
        Column("compute", ".3f", "compute, s", "计算（秒）", "s"),
        Column("ring", ".3f", "ring, s", "环形（秒）", "s"),
        Column("server", ",.1f", "server, s", "参数服务器（秒）", "s"),
        Column("no overlap", ".0%", "no overlap", "不重叠"),
        Column("backward overlap", ".0%", "under backward", "与反向传播重叠"),
        Column("perfect overlap", ".0%", "perfect overlap", "完美重叠"),
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
    "measured": ("measured, nccl-tests", "实测（nccl-tests）"),
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
        Column("bytes", ",d", "S, bytes", "S（字节）", "bytes"),
        Column("time us", ",.0f", "time, µs", "时间（µs）", "µs"),
        Column("algbw", ".2f", "algbw, GB/s", "algbw（GB/s）", "GB/s"),
        Column("busbw", ".2f", "busbw, GB/s", "busbw（GB/s）", "GB/s"),
    ]
    cells = []
    for source, p, nbytes, seconds in rows:
        algbw, word = nbytes / seconds / 1e9, choose(source, _SOURCES)
        cells.append((word, p, nbytes, seconds * 1e6, algbw, algbw * 2 * (p - 1) / p))
    return Table("traffic-busbw", caption, columns, cells, {"bandwidth": f"{bandwidth / 1e9:g}"})


def wall_table(training: Training, params: Sequence[float]) -> Table:
    """The walls of models of other sizes, on the same cards, links and batch."""
    caption = Words(
        "Models of several sizes: the ring on {p} cards, and the wall, in cards, latency included. "
        "Without latency the formula gives {backward:.1f} and {perfect:.1f} for all; in the "
        "table are the first cards that wait.",
        "不同大小的模型：{p} 张卡上的环形 all-reduce，以及墙在多少张卡（计入延迟）。"
        "不计延迟时，公式对所有模型都给出 {backward:.1f} 与 {perfect:.1f}；"
        "表中是开始等网络的第一个整数。",
    )
    columns = [
        Column("params", "s", "parameters", "参数量"),
        Column("gradient", ",.1f", "gradient, GB", "梯度（GB）", "GB"),
        Column("ring", ".3f", "ring, s", "环形（秒）", "s"),
        Column("backward", ",d", "wall, under backward", "墙：与反向传播重叠", "cards"),
        Column("perfect", ",d", "wall, perfect overlap", "墙：完美重叠", "cards"),
    ]
    rows, p = [], 128
    for case in (replace(training, params=each) for each in params):
        walls = case.wall(_BACKWARD), case.wall(1)
        gradient = case.gradient_bytes * case.params / 1e9
        rows.append((f"{case.params / 1e9:g}B", gradient, case.communicate(p), *walls))
    facts = {
        "p": p,
        "backward": training.wall_without_latency(_BACKWARD),
        "perfect": training.wall_without_latency(1),
    }
    return Table("traffic-walls", caption, columns, rows, facts)


_BACKWARD = Fraction(2, 3)  # of the compute: 4 of the 6 operations per parameter and token
_COMPUTE_NAME = Words("compute", "计算")
_RING_NAME = Words("ring", "环形")
_SERVER_NAME = Words("parameter server", "参数服务器")


def time_curve(training: Training, ranks: Sequence[int]) -> str:
    """Seconds per training step against the number of cards, with both crossings marked."""
    caption = Words(
        "Compute per card shrinks with p, the ring's time does not, the server's grows. Dots mark "
        "where traffic takes as long as compute; in the shaded part the ring takes longer.",
        "随着 p 增大，每张卡的计算时间缩短，环形的时间不缩短，参数服务器的时间不断增长。"
        "圆点处通信与计算一样长；阴影部分，环形比计算更长。",
    )
    alt = Words(
        "Log-log lines from {first} to {last} cards: compute from {c0:.3g} to {c1:.3g} s, ring "
        "from {r0:.3g} to {r1:.3g} s, parameter server from {s0:.3g} to {s1:,.0f} s. The server "
        "crosses compute at {server_wall} cards, the ring at {ring_wall}.",
        "双对数曲线，{first} 到 {last} 张卡：计算从 {c0:.3g} 到 {c1:.3g} 秒，环形从 {r0:.3g} 到 "
        "{r1:.3g} 秒，参数服务器从 {s0:.3g} 到 {s1:,.0f} 秒。参数服务器在 {server_wall} 张卡处"
        "与计算相交，环形在 {ring_wall} 张卡处。",
    )
    with canvas(9, 4.6) as figure, canvas(4, 4.6) as narrow:
        lines = _draw_times(figure.add_axes((0.08, 0.13, 0.9, 0.84)), training, ranks)
        _draw_times(narrow.add_axes((0.2, 0.13, 0.77, 0.84)), training, ranks)
        ends = (times[i] for times in lines for i in (0, -1))
        keys = ("c0", "c1", "r0", "r1", "s0", "s1")
        facts = {"first": ranks[0], "last": ranks[-1], **dict(zip(keys, ends, strict=True))}
        facts |= {"server_wall": training.wall(1, "ps"), "ring_wall": training.wall(1)}
        return render("traffic-time-curve", figure, caption, alt, facts, narrow=narrow)


def _draw_times(ax: Axes, training: Training, ranks: Sequence[int]) -> list[list[float]]:
    compute = [training.compute(p) for p in ranks]
    ring = [training.communicate(p) for p in ranks]
    server = [training.communicate(p, "ps") for p in ranks]
    for colour, times in zip(SERIES, (compute, ring, server), strict=False):
        ax.plot(ranks, times, color=colour)
    ax.text(4.4, training.compute(4) * 1.15, say(_COMPUTE_NAME), color=_COMPUTE)
    ax.text(2.6, training.communicate(2) * 0.6, say(_RING_NAME), color=_RING, va="center")
    ax.text(230, training.communicate(300, "ps"), say(_SERVER_NAME), color=_SERVER, ha="right")
    ax.axvspan(training.wall(1), ranks[-1], color=FAINT, alpha=0.3, lw=0)
    bound = say(Words("communication-\nbound", "受通信限制"))
    middle = (training.wall(1) * ranks[-1]) ** 0.5
    ax.text(middle, 3, bound, ha="center", va="center")
    _cross(ax, training, "ring", _RING, (0.88, 0.42), "right")
    _cross(ax, training, "ps", _SERVER, (1.35, 0.93), "left")
    ax.set(xscale="log", yscale="log", xlim=(ranks[0] * 0.9, ranks[-1]))
    ax.set(xlabel=say(NUMBER_OF_CARDS), ylabel=say(Words("seconds per step", "每步耗时（秒）")))
    _ticks(ax, ranks)
    return [compute, ring, server]


def _cross(
    ax: Axes, training: Training, algorithm: str, colour: str, away: tuple, side: str
) -> None:
    """Mark where an all-reduce takes as long as the compute; `away` is a factor on each axis."""
    p = training.wall(1, algorithm)
    ax.scatter([p], [training.compute(p)], color=colour, s=55, zorder=3)
    place = (p * away[0], training.compute(p) * away[1])
    ax.text(*place, say(_CARDS, ranks=p), color=colour, ha=side, va="center")


_CARDS = Words("{ranks} cards", "{ranks} 张卡")
_OVERLAPS: dict[Overlap, tuple[str, Words, str]] = {
    0: ("n", Words("no overlap", "不重叠"), ":"),
    _BACKWARD: ("b", Words("under the backward pass", "与反向传播重叠"), "-"),
    1: ("o", Words("perfect overlap", "完美重叠"), "--"),
}


def efficiency_curve(training: Training, ranks: Sequence[int]) -> str:
    """Efficiency against the number of cards for the three overlaps, with the walls marked."""
    caption = Words(
        "Overlap moves the wall; it does not remove it. Dots mark where communication and what "
        "can hide it take equally long.",
        "重叠能把墙推远，但拆不掉它。圆点处，通信时间恰好等于能用来掩盖它的计算时间。",
    )
    alt = Words(
        "Efficiency from {first} to {last} cards: without overlap from {n0:.0%} to {n1:.0%}, "
        "hidden under the backward pass from {b0:.0%} to {b1:.0%}, with perfect overlap from "
        "{o0:.0%} to {o1:.0%}, ZeRO-3 from {z0:.0%} to {z1:.0%}.",
        "{first} 到 {last} 张卡的效率：不重叠从 {n0:.0%} 到 {n1:.0%}，与反向传播重叠从 {b0:.0%} "
        "到 {b1:.0%}，完美重叠从 {o0:.0%} 到 {o1:.0%}，ZeRO-3 从 {z0:.0%} 到 {z1:.0%}。",
    )
    with canvas(9, 4.4) as figure, canvas(4, 5.4) as narrow:
        ax = figure.add_axes((0.1, 0.13, 0.88, 0.84))
        curves = _draw_efficiency(ax, training, ranks)
        ax.legend(loc="upper right", bbox_to_anchor=(1, 0.94), frameon=False, handlelength=2.6)
        ax = narrow.add_axes((0.23, 0.34, 0.74, 0.64))
        _draw_efficiency(ax, training, ranks)
        place = (-0.05, -0.14)
        ax.legend(loc="upper left", bbox_to_anchor=place, frameon=False, handlelength=2.6)
        facts: dict[str, object] = {"first": ranks[0], "last": ranks[-1]}
        for letter, curve in curves.items():
            facts |= {f"{letter}0": curve[0], f"{letter}1": curve[-1]}
        return render("traffic-efficiency", figure, caption, alt, facts, narrow=narrow)


def _draw_efficiency(ax: Axes, training: Training, ranks: Sequence[int]) -> dict[str, list[float]]:
    curves = {}
    for overlap, (letter, name, style) in _OVERLAPS.items():
        curves[letter] = [training.efficiency(p, overlap) for p in ranks]
        ax.plot(ranks, curves[letter], style, color=_RING, label=say(name))
        _mark_wall(ax, training, overlap)
    curves["z"] = [training.zero3_efficiency(p) for p in ranks]
    ax.plot(ranks, curves["z"], color=_ZERO3, lw=1.6, label="ZeRO-3")
    ax.set(xscale="log", ylim=(0, 1.08), xlim=(ranks[0], ranks[-1]))
    ax.set(xlabel=say(NUMBER_OF_CARDS), ylabel=say(Words("efficiency", "效率")))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    _ticks(ax, ranks)
    return curves


def _mark_wall(ax: Axes, training: Training, overlap: Overlap) -> None:
    if not overlap:
        return
    wall = training.wall(overlap)
    height = training.efficiency(wall, overlap)
    ax.plot([wall], [height], "o", color=_RING, markersize=8)
    place, side = ((wall * 1.12, height + 0.02), "left")
    if overlap != 1:
        place, side = ((wall / 1.15, height - 0.07), "right")
    ax.text(*place, say(_CARDS, ranks=wall), color=_RING, ha=side)


def _ticks(ax: Axes, ranks: Sequence[int]) -> None:
    shown = [p for p in ranks if p in (8, 32, 128, 512, 2048)]
    ax.set_xticks(shown, [str(p) for p in shown])
    ax.minorticks_off()
    ax.grid(True, axis="both")


def overlap_timeline(training: Training, ranks: int, buckets: int) -> str:
    """One step on `ranks` cards, moment by moment, for the three overlaps."""
    caption = Words(
        "One step on {p} cards: above what a card computes, below what its link carries. In the "
        "middle the gradients go in {n} buckets; with ever smaller ones, and no latency, the step "
        "would take {limit:.2f} s.",
        "{p} 张卡的一个训练步：上行是计算，下行是链路上的通信。中间一组把梯度分成 {n} 个桶发送；"
        "桶越小（且不计延迟），一步越接近 {limit:.2f} 秒。",
    )
    alt = Words(
        "Three pairs of bars for {p} cards. Without overlap the step takes {none:.2f} s, with the "
        "ring under the backward pass {under:.2f} s, with perfect overlap {perfect:.2f} s.",
        "三组横条，{p} 张卡。不重叠时一步 {none:.2f} 秒，与反向传播重叠时 {under:.2f} 秒，"
        "完美重叠时 {perfect:.2f} 秒。",
    )
    rows = {
        _OVERLAPS[0][1]: one_after_the_other(training, ranks),
        _OVERLAPS[_BACKWARD][1]: with_buckets(training, ranks, buckets),
        _OVERLAPS[1][1]: perfect(training, ranks),
    }
    names = ("none", "under", "perfect")
    facts: dict[str, object] = {"p": ranks, "n": buckets}
    facts |= {name: step_time(spans) for name, spans in zip(names, rows.values(), strict=True)}
    shown = facts | {"limit": training.compute(ranks) / training.efficiency(ranks, _BACKWARD)}
    data = {
        f"{name}-ends": [span.end for span in spans]
        for name, spans in zip(names, rows.values(), strict=True)
    }
    with canvas(9, 3.9) as figure, canvas(4, 4.2) as narrow:
        _draw_steps(figure.add_axes((0.1, 0.13, 0.88, 0.76)), rows)
        _draw_steps(narrow.add_axes((0.2, 0.12, 0.78, 0.76)), rows)
        told = (figure, caption, alt, facts, shown)
        return render("traffic-overlap", *told, data=data, narrow=narrow)


_SPANS = {
    "forward": (_COMPUTE, 0.5, Words("forward", "前向")),
    "backward": (_COMPUTE, 1, Words("backward", "反向")),
    "ring": (_RING, 1, _RING_NAME),
}


def _draw_steps(ax: Axes, rows: dict[Words, list[Span]]) -> None:
    lanes = {"forward": 0, "backward": 0, "ring": 1}
    for i, (name, spans) in enumerate(rows.items()):
        for span in spans:
            colour, alpha, _ = _SPANS[span.name]
            _bar(ax, 3.2 * i + lanes[span.name], span.start, span.end, colour, alpha)
        took = say(
            Words("{name}: {time:.2f} s", "{name}：{time:.2f} 秒"),
            name=say(name),
            time=step_time(spans),
        )
        ax.text(0, 3.2 * i - 0.62, took, va="bottom")
    for colour, alpha, name in _SPANS.values():
        ax.bar([0], [0], color=colour, alpha=alpha, label=say(name))
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1),
        ncols=3,
        frameon=False,
        handlelength=1.2,
        columnspacing=1.2,
    )
    lane_names = [say(Words("card", "卡")), say(Words("link", "链路"))] * len(rows)
    places = [3.2 * i + lane for i in range(len(rows)) for lane in (0, 1)]
    ax.set_yticks(places, lane_names)
    ax.set(ylim=(3.2 * len(rows) - 1.6, -1.5), xlim=(0, None))
    ax.set_xlabel(say(Words("seconds since the step began", "从一步开始算起（秒）")))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _bar(ax: Axes, lane: float, start: float, end: float, colour: str, alpha: float) -> None:
    """A span of time; what follows on the same lane stays apart by the colour of the page."""
    box = patches.Rectangle((start, lane - 0.4), end - start, 0.8, color=colour, alpha=alpha)
    box.set(linewidth=0.8, edgecolor=PAPER)
    ax.add_patch(box)


def two_levels_picture(levels: Levels, sent: Sequence[Sending]) -> str:
    """Who is linked to whom inside a node and between nodes, and what each link carries."""
    caption = Words(
        "Two nodes of {cards} cards. Inside a node (grey) cards pass shares round by NVLink; "
        "between the nodes (colour) each card sends only its own share, over its own network card.",
        "两个节点，各 {cards} 张卡。节点内（灰色）各卡经 NVLink 把各段传一圈；"
        "节点之间（彩色）每张卡只经自己的网卡发自己那一段。",
    )
    alt = Words(
        "Two rows of {cards} cards. Each card sends {inside:.2f} GB to its neighbour in the row, "
        "{inside_ms:.1f} ms, and {between:.2f} GB to the card in its place of the other row, "
        "{between_ms:.1f} ms.",
        "两行，每行 {cards} 张卡。每张卡向同一行的邻居发 {inside:.2f} GB，{inside_ms:.1f} 毫秒；"
        "向另一行同一位置的卡发 {between:.2f} GB，{between_ms:.1f} 毫秒。",
    )
    inside, between = (_carried(sent, where) for where in (True, False))
    facts = {
        "cards": levels.cards,
        "inside": inside / 1e9,
        "between": between / 1e9,
        "inside_ms": inside / levels.inside * 1e3,
        "between_ms": between / levels.between * 1e3,
    }
    links = sorted({(m.source, m.to) for m in sent})
    with canvas(9, 3.7) as figure, canvas(4, 3.5) as narrow:
        _draw_levels(figure, levels, links, facts)
        _draw_levels(narrow, levels, links, facts)
        told = (figure, caption, alt, facts, facts)
        return render("traffic-two-levels", *told, data={"links": links}, narrow=narrow)


def _carried(sent: Sequence[Sending], inside: bool) -> int:
    """What card 0 sends inside its node, or out of it."""
    return sum(m.nbytes for m in sent if m.source == 0 and m.inside == inside)


def _draw_levels(figure: Figure, levels: Levels, links: list, facts: dict) -> None:
    ax, cards = figure.add_axes((0.01, 0.01, 0.98, 0.98)), levels.cards
    places = [(rank % cards + 0.5, (1, -1)[rank // cards]) for rank in range(2 * cards)]
    for node, (bottom, name_at) in enumerate(((0.6, 2), (-1.8, -2))):
        box = patches.Rectangle((0.1, bottom), cards - 0.2, 1.2)
        box.set(facecolor="none", edgecolor=FAINT)
        ax.add_patch(box)
        ax.text(0.1, name_at, say(Words("node {n}", "节点 {n}"), n=node), va="center")
    for source, to in links:
        inside = source // cards == to // cards
        _draw_link(ax, places[source], places[to], inside, figure.get_figwidth())
    for rank, (x, y) in enumerate(places):
        ax.scatter([x], [y], color=INK, s=169, zorder=2)
        ax.text(x, y, str(rank), ha="center", va="center_baseline", fontsize=9, color=PAPER)
    ax.text(cards - 0.1, 2, say(_FAST, **facts), ha="right", va="center")
    ax.text(cards - 0.1, -2, say(_SLOW, **facts), color=_RING, ha="right", va="center")
    ax.set(xlim=(0, cards), ylim=(-2.2, 2.2))
    ax.axis("off")


_FAST = Words(
    "NVLink: {inside:.2f} GB a card, {inside_ms:.1f} ms",
    "NVLink：每张卡 {inside:.2f} GB，{inside_ms:.1f} 毫秒",
)
_SLOW = Words(
    "network: {between:.2f} GB a card, {between_ms:.1f} ms",
    "网络：每张卡 {between:.2f} GB，{between_ms:.1f} 毫秒",
)


def _draw_link(ax: Axes, start: tuple, end: tuple, inside: bool, width: float) -> None:
    """An arrow; the one that closes a ring bends out of the row, by the same inches always."""
    far = abs(start[0] - end[0]) > 1
    bend = 0.8 / width * (1 if start[1] > 0 else -1) if far else 0 if inside else 0.12
    arrow = patches.FancyArrowPatch(
        start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", shrinkA=8, shrinkB=8
    )
    colour, thick = (INK, 1.4) if inside else (_RING, 2)
    arrow.set(mutation_scale=9, color=colour, linewidth=thick, alpha=0.6 if inside else 1)
    ax.add_patch(arrow)


def segments_timeline(runs: dict[int, Sequence[Sending]], flat: float, measured: float) -> str:
    """What card 0 has on both its links, by the number of segments; seconds.

    Args:
        runs: the sendings of the two-level program, by segments.
        flat: what flat rings over the same network cards take.
        measured: what was measured.
    """
    caption = Words(
        "What one card has on its two links, by the model; of the flat rings only the network is "
        "drawn. The dashed line is the measured time.",
        "模型给出的一张卡两条链路上的传输。虚线是实测时间。",
    )
    alt = Words(
        "Flat rings take {flat:.1f} ms, two levels with the whole array {one:.1f}, in {many} "
        "segments {last:.1f}; measured {measured:.1f} ms.",
        "不分层的环 {flat:.1f} 毫秒；两级、整个数组 {one:.1f} 毫秒；两级、分 {many} 段 "
        "{last:.1f} 毫秒；实测 {measured:.1f} 毫秒。",
    )
    times = {n: max(m.arrived for m in sent) * 1e3 for n, sent in runs.items()}
    facts: dict[str, object] = {"flat": flat * 1e3, "measured": measured * 1e3, "many": max(runs)}
    facts |= {"one": times[1], "last": times[max(runs)]}
    data = {f"segments-{n}": time for n, time in times.items()}
    with canvas(9, 4.4) as figure, canvas(4, 4.8) as narrow:
        _draw_segments(figure.add_axes((0.1, 0.12, 0.88, 0.78)), runs, flat, measured)
        _draw_segments(narrow.add_axes((0.22, 0.11, 0.76, 0.78)), runs, flat, measured)
        return render("traffic-segments", figure, caption, alt, facts, data=data, narrow=narrow)


_FLAT = Words("flat rings: {time:.1f} ms", "不分层的环：{time:.1f} 毫秒")
_WHOLE = Words("two levels, the whole array: {time:.1f} ms", "两级，整个数组：{time:.1f} 毫秒")
_SEGMENTS = Words("two levels, {n} segments: {time:.1f} ms", "两级，分 {n} 段：{time:.1f} 毫秒")


def _draw_segments(ax: Axes, runs: dict, flat: float, measured: float) -> None:
    names = [say(_FLAT, time=flat * 1e3)]
    _bar(ax, 1, 0, flat * 1e3, _RING, 1)
    for i, (n, sent) in enumerate(runs.items(), start=1):
        took = max(m.arrived for m in sent) * 1e3
        names.append(say(_SEGMENTS if n > 1 else _WHOLE, n=n, time=took))
        for lane, inside in ((0, True), (1, False)):
            colour, alpha = (INK, 0.55) if inside else (_RING, 1)
            for start, end in _without_gaps(sent, inside):
                _bar(ax, 3.2 * i + lane, start * 1e3, end * 1e3, colour, alpha)
    rows = len(names)
    ax.vlines(measured * 1e3, -1.3, 3.2 * rows - 1.6, color=INK, linestyle="--", linewidth=1.2)
    told = say(Words("measured: {time:.1f} ms", "实测：{time:.1f} 毫秒"), time=measured * 1e3)
    ax.text(measured * 1e3, -1.45, told, ha="center", va="bottom")
    for i, name in enumerate(names):
        box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        ax.text(0, 3.2 * i - 0.62, name, va="bottom", bbox=box)
    lanes = ["NVLink", say(Words("network", "网络"))] * rows
    ax.set_yticks([3.2 * i + lane for i in range(rows) for lane in (0, 1)], lanes)
    ax.set(ylim=(3.2 * rows - 1.6, -1.4), xlim=(0, None))
    ax.set_xlabel(say(Words("milliseconds", "毫秒")))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _without_gaps(sent: Sequence[Sending], inside: bool) -> list[tuple[float, float]]:
    """When a link of card 0 is busy: messages that follow each other at once are one."""
    merged: list[tuple[float, float]] = []
    mine = sorted((m.start, m.end) for m in sent if m.source == 0 and m.inside == inside)
    for start, end in mine:
        if merged and start - merged[-1][1] < 1e-9:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged
