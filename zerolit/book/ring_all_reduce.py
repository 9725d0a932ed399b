"""3.1: every hop of the ring, as a table and step by step as a figure; what was proved."""

from collections.abc import Sequence
from fractions import Fraction

import matplotlib.patches as patches
import numpy as np
from matplotlib.axes import Axes

from zerolit.comm import CommLog, Proof

from .figure import FAINT, INK, SERIES, canvas, render
from .holding import Holding, holdings
from .table import Column, Table
from .words import CARD, START, STEP_N, Word, Words, choose, say


def hops_table(log: CommLog, length: int) -> Table:
    """Every hop of a logged ring on arrays of `length`: who sends what to whom, and when."""
    caption = Words(
        "Every hop of the ring: {p} cards, {n} numbers; card r starts with (r + 1) · [0, 1, 2, …].",
        "环形 all-reduce 的每一跳：{p} 张卡，{n} 个数；第 r 张卡的初值是 (r + 1) · [0, 1, 2, …]。",
    )
    columns = [
        Column("step", "d", "step", "步"),
        Column("phase", "s", "phase", "阶段"),
        Column("from", "d", "from card", "发送卡"),
        Column("to", "d", "to card", "接收卡"),
        Column("chunk", "d", "chunk", "块"),
        Column("values", "s", "what is in it", "内容"),
    ]
    rows = [
        (m.step, m.phase, m.source, m.destination, m.chunk, _values(m.values, m.elements))
        for m in log.messages
    ]
    return Table("ring-hops", caption, columns, rows, {"p": log.size, "n": length})


def _values(values: tuple | None, elements: int) -> str:
    return f"{elements} ×" if values is None else " ".join(map(str, values))


_PROGRAMS = {
    "ring reduce_scatter": ("ring reduce-scatter", "环形 reduce-scatter"),
    "ring all_gather": ("ring all-gather", "环形 all-gather"),
    "ring all_reduce": ("ring all-reduce", "环形 all-reduce"),
    "server all_reduce": ("parameter server", "参数服务器"),
}


def proofs_table(proofs: dict[str, Sequence[Proof]]) -> Table:
    """What was proved: for each program the numbers of cards, and the busiest card's traffic."""
    caption = Words(
        "Each program run on multisets of cards. Shares of the array are exact fractions.",
        "每个程序都在“卡的多重集”上运行。占数组的比例是精确分数。",
    )
    columns = [
        Column("goal", "s", "collective", "集合通信"),
        Column("proved for", "s", "proved for p", "已证明的 p"),
        Column("sent share", "s", "busiest card sends, p = 4", "最忙的卡发出，p = 4"),
        Column("bound share", "s", "lower bound", "下界"),
        Column("reached", "s", "bound reached", "达到下界"),
    ]
    rows = []
    for name, proved in proofs.items():
        four = next(proof for proof in proved if proof.size == 4)
        optimal = all(proof.optimal for proof in proved)
        reached = Word("yes", "yes", "是") if optimal else Word("no", "no", "否")
        sizes = f"{proved[0].size} … {proved[-1].size}"
        shares = (_share(max(four.sent)), _share(four.bound))
        rows.append((choose(name, _PROGRAMS), sizes, *shares, reached))
    return Table("ring-proofs", caption, columns, rows)


def _share(share: Fraction) -> str:
    return f"{share} · n"


def ring_steps(log: CommLog) -> str:
    """The ring step by step: one panel each, cards by chunks, striped by whose share is in."""
    caption = Words(
        "Rows are cards, columns are chunks. A stripe in a card's colour means: that card's share "
        "is in this chunk. Outlined: what has just arrived.",
        "行是卡，列是块。某种颜色的竖条表示：该卡的那一份已加进这一块。描边的是刚到达的块。",
    )
    alt = Words(
        "{panels} panels of {ranks} by {ranks} cells. At the start each cell holds 1 card's share; "
        "after step {half} one cell per card holds {ranks}; after step {steps} all do.",
        "{panels} 幅 {ranks}×{ranks} 的格子图。开始时每格只含 1 张卡的一份；第 {half} 步后"
        "每张卡有一格含 {ranks} 份；第 {steps} 步后所有格子都含 {ranks} 份。",
    )
    moments = holdings(log)
    with canvas(11, 5.6) as figure:
        grid = figure.subplots(2, 4, gridspec_kw={"wspace": 0.1, "hspace": 0.42})
        figure.subplots_adjust(left=0.06, right=0.99, top=0.93, bottom=0.02)
        for step, (ax, holding) in enumerate(zip(grid.flat, moments, strict=False)):
            arrived = {(m.destination, m.chunk) for m in log.messages if m.step == step}
            phase = next((m.phase for m in log.messages if m.step == step), None)
            title = say(STEP_N, n=step) if step else say(START)
            ax.set_title(f"{title}: {phase}" if phase else title, fontsize=11)
            _cards(ax, holding, arrived)
            names = [f"{say(CARD)} {rank}" for rank in range(log.size)]
            ax.set_yticks(
                np.arange(log.size) + 0.5, [""] * log.size if step % 4 else names, fontsize=10
            )
        _key(grid.flat[-1], log.size)
        facts = {"panels": len(moments), "ranks": log.size, "half": log.size - 1}
        panels = {
            f"panel-{i}": [sorted(cell) for row in holding for cell in row]
            for i, holding in enumerate(moments)
        }
        facts["steps"] = log.steps
        return render("ring-steps", figure, caption, alt, facts, data=panels)


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
        ax.text(0.95, rank + 0.5, f"{say(CARD)} {rank}", va="center", fontsize=11)
    ax.set(xlim=(0, size), ylim=(size, 0))
    ax.axis("off")
