"""3.1: every hop of the ring, as a table and step by step as a figure; what was proved."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle, FancyArrowPatch

from zerolit.comm import CommLog, Message, Proof

from .circle import draw_cells, draw_circle
from .figure import FAINT, INK, canvas, render
from .holding import Holding, holdings
from .panels import draw_steps
from .table import Column, Table
from .words import CARD, STEP_N, Word, Words, choose, say


def gradients_table(arrays: Sequence[np.ndarray]) -> Table:
    """What each card has, cut into as many chunks as there are cards, and the sum."""
    caption = Words(
        "The gradients of {p} cards, cut into {p} chunks, and what every card is to get.",
        "{p} 张卡的梯度，各切成 {p} 块；最后一行是每张卡都要得到的和。",
    )
    p = len(arrays)
    columns = [Column("card", "s", "card", "卡")]
    for chunk in range(p):
        columns.append(Column(f"chunk {chunk}", "s", f"chunk {chunk}", f"第 {chunk} 块"))
    names = [Word(str(rank), str(rank)) for rank in range(p)] + [Word("sum", "sum", "和")]
    rows = [
        (name, *(" ".join(map(str, part)) for part in np.array_split(array, p)))
        for name, array in zip(names, [*arrays, sum(arrays)], strict=True)
    ]
    return Table("ring-gradients", caption, columns, rows, {"p": p})


def hops_table(log: CommLog, length: int) -> Table:
    """Every hop of a logged ring on arrays of `length`: who sends what to whom, and when."""
    caption = Words(
        "Every hop of the ring: {p} cards, {n} numbers; card r starts with (r + 1) · [0, 1, 2, …].",
        "环形 all-reduce 的每一次传输：{p} 张卡，{n} 个数；"
        "第 r 张卡的初值是 (r + 1) · [0, 1, 2, …]。",
    )
    columns = [
        Column("step", "d", "step", "步"),
        Column("phase", "s", "phase", "环节"),
        Column("from", "d", "from card", "发送方"),
        Column("to", "d", "to card", "接收方"),
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
        "Each program run on multisets of cards; what it sends, in exact fractions of the array.",
        "用“卡的多重集”代替数，把每个程序各运行一遍；发送量以占数组的精确分数表示。",
    )
    columns = [
        Column("goal", "s", "collective", "集合通信"),
        Column("proved for", "s", "proved for p", "对哪些 p 已证明"),
        Column("sent share", "s", "busiest card sends, p = 4", "p = 4 时单卡最大发送量"),
        Column("bound share", "s", "lower bound", "下界"),
        Column("reached", "s", "bound reached", "是否达到下界"),
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


_ROUND_CAPTION = Words(
    "What moves in each step; what a card holds is drawn as it is before the step. The numbers "
    "above a card's cells are its chunks; a colour in a cell is a card's share that is in it.",
    "每一步传的是什么；卡上画的是这一步之前的内容。格子上方的数字是块的编号；格子里有某种颜色，"
    "表示对应的卡的那一份已加进这一块。",
)
_ROUND_ALT = Words(
    "{panels} rings of {ranks} cards. Every card sends one chunk to the next one. Card 0 sends, "
    "step after step, the chunks {card_0}.",
    "{panels} 个由 {ranks} 张卡组成的环。每张卡都把一块发给下一张卡；第 0 张卡各步依次发出第 "
    "{card_0} 块。",
)
_BEFORE = Words("{phase}: step {n}", "{phase}：第 {n} 步")


def ring_round(log: CommLog) -> str:
    """The cards in a circle and the chunks on their arrows, a panel for each step."""
    moments = holdings(log)
    steps = [[m for m in log.messages if m.step == step] for step in range(1, log.steps + 1)]
    first = ", ".join(str(step[0].chunk) for step in steps)
    facts = {"panels": len(steps), "ranks": log.size, "card_0": first}
    data = {f"step-{i}": [m.chunk for m in step] for i, step in enumerate(steps, start=1)}
    with canvas(11, 7.3) as wide, canvas(4, 7.1) as narrow:
        _round(wide, moments, steps, (2, 3), 10.5)
        _round(narrow, moments, steps, (3, 2), 8)
        return render(
            "ring-round", wide, _ROUND_CAPTION, _ROUND_ALT, facts, data=data, narrow=narrow
        )


def _round(
    figure: Figure,
    moments: Sequence[Holding],
    steps: Sequence[Sequence[Message]],
    shape: tuple[int, int],
    font: float,
) -> None:
    grid = figure.subplots(*shape)
    figure.subplots_adjust(left=0.005, right=0.995, top=0.94, bottom=0, wspace=0.02, hspace=0.16)
    for number, (ax, step) in enumerate(zip(grid.flat, steps, strict=True), start=1):
        draw_circle(ax, moments[number - 1], step, font)
        title = say(_BEFORE, phase=step[0].phase, n=number)
        ax.set_title(title, fontsize=font, pad=8)


_STEPS_CAPTION = Words(
    "What each card holds after each step. Rows are cards, columns are chunks. A stripe in a "
    "card's colour means: that card's share is in this chunk. Outlined: what has just arrived.",
    "每一步之后各卡的内容。行是卡，列是块。某种颜色的竖条表示：该卡的那一份已加进这一块。"
    "粗框是刚到达的块。",
)
_STEPS_ALT = Words(
    "{panels} panels of {ranks} by {ranks} cells. At the start each cell holds 1 card's share; "
    "after step {half} one cell per card holds {ranks}; after step {steps} all do.",
    "{panels} 幅 {ranks}×{ranks} 的格子图。开始时每格只含 1 张卡的一份；第 {half} 步后"
    "每张卡有一格含 {ranks} 份；第 {steps} 步后所有格子都含 {ranks} 份。",
)


def ring_steps(log: CommLog) -> str:
    """The ring step by step: one panel each, cards by chunks, striped by whose share is in."""
    moments = holdings(log)
    facts = {"panels": len(moments), "ranks": log.size, "half": log.size - 1, "steps": log.steps}
    panels = {
        f"panel-{i}": [sorted(cell) for row in holding for cell in row]
        for i, holding in enumerate(moments)
    }
    with canvas(11, 5.9) as wide, canvas(4, 9.2) as narrow:
        draw_steps(wide, log, moments, (2, 4), 10)
        draw_steps(narrow, log, moments, (4, 2), 9)
        return render(
            "ring-steps", wide, _STEPS_CAPTION, _STEPS_ALT, facts, data=panels, narrow=narrow
        )


_BOUND_CAPTION = Words(
    "One element's way, by two methods on {p} cards; time runs to the right. Left of the line "
    "nobody has the sum yet: {before} sends. Right of it the others receive it: {after} more.",
    "{p} 张卡上，一个元素在两种方法里走过的路；时间从左到右。竖线左边，还没有哪张卡有完整的和："
    "{before} 次发送；右边，其余的卡收到和：又是 {after} 次。",
)
_BOUND_ALT = Words(
    "For each of {methods} methods {p} cards as lines, and an arrow for each send of the element: "
    "{before} until the first card holds the sum, {after} from then on.",
    "{methods} 种方法，各有 {p} 条表示卡的横线，每次发送是一个箭头：第一张卡得到完整的和之前有 "
    "{before} 次，之后有 {after} 次。",
)
_METHODS = {
    "ring": Words("ring", "环形"),
    "server": Words("parameter server", "参数服务器"),
}
_NOBODY = Words("nobody has the sum", "还没有完整的和")
_PASSED = Words("it is handed on", "把和传给其余的卡")


def ring_bound(logs: Mapping[str, CommLog]) -> str:
    """What becomes of chunk 0 by each method: sends before and after a first card has the sum."""
    sends = {name: [m for m in log.messages if m.chunk == 0] for name, log in logs.items()}
    size = max(log.size for log in logs.values())
    found = {name: _until_first(logs[name]) for name in logs}
    before = ", ".join(str(len([m for m in sends[n] if m.step <= found[n]])) for n in logs)
    after = ", ".join(str(len([m for m in sends[n] if m.step > found[n]])) for n in logs)
    facts = {"p": size, "methods": len(logs), "before": before, "after": after}
    shown = {"p": size, "before": before.split(", ")[0], "after": after.split(", ")[0]}
    data = {f"{name}-from": [m.source for m in sends[name]] for name in logs}
    with canvas(11, 3.4) as wide, canvas(4, 6) as narrow:
        for figure, shape, font in ((wide, (1, 2), 10.5), (narrow, (2, 1), 9.5)):
            grid = figure.subplots(*shape)
            room = 0.7 / figure.get_figwidth()
            figure.subplots_adjust(left=room, right=0.99, top=0.86, bottom=0.08, hspace=0.45)
            for ax, name in zip(grid.flat, logs, strict=True):
                ax.set_title(say(_METHODS[name]), fontsize=font + 1, pad=22)
                _way(ax, logs[name], sends[name], found[name], font)
        return render(
            "ring-bound", wide, _BOUND_CAPTION, _BOUND_ALT, facts, shown, data=data, narrow=narrow
        )


def _until_first(log: CommLog) -> int:
    """The step after which a card first holds all shares of chunk 0."""
    moments = holdings(log)
    return next(
        step for step, rows in enumerate(moments) if any(len(row[0]) == log.size for row in rows)
    )


def _way(ax: Axes, log: CommLog, sends: Sequence[Message], first: int, font: float) -> None:
    size, moments = log.size, holdings(log)
    ax.hlines(range(size), -0.2, log.steps + 0.3, color=FAINT, linewidth=1)
    cells = [((-0.2, rank - 0.26), moments[0][rank][0]) for rank in range(size)]
    look: Any = {"arrowstyle": ArrowStyle("-|>", head_length=5, head_width=2.6), "color": INK}
    for m in sends:
        ends = (m.step - 0.75, m.source), (m.step - 0.22, m.destination)
        ax.add_patch(
            FancyArrowPatch(*ends, shrinkA=0, shrinkB=0, lw=1.5, zorder=6, clip_on=False, **look)
        )
        holds = moments[m.step][m.destination][0]
        cells.append(((m.step - 0.2, m.destination - 0.26), holds))
    draw_cells(ax, cells, size, 0.4, 0.52, covers=True)
    ax.vlines([first + 0.24], -0.75, size - 0.4, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    ax.text(first + 0.1, -0.62, say(_NOBODY), ha="right", va="bottom", fontsize=font - 1)
    ax.text(first + 0.4, -0.62, say(_PASSED), ha="left", va="bottom", fontsize=font - 1)
    ax.set(xlim=(-0.3, log.steps + 0.35), ylim=(size - 0.4, -0.75))
    ax.set_yticks(range(size), [f"{say(CARD)} {rank}" for rank in range(size)], fontsize=font)
    numbers = [say(STEP_N, n=1), *map(str, range(2, log.steps + 1))]
    ax.set_xticks(range(1, log.steps + 1), numbers, fontsize=font - 1)
    ax.tick_params(length=0, pad=2)
    ax.spines[:].set_visible(False)
