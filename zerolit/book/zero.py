"""3.4: what each stage stores and sends, counted beside the formulas."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from zerolit.zero import Run
from zerolit.zero.memory import KINDS

from .figure import FAINT, SERIES, canvas, render
from .runs import gap, sent
from .table import Column, Table
from .words import NUMBER_OF_CARDS, STAGES, Words, say

COLOURS = dict(zip(KINDS, SERIES, strict=True))
AT_REST = KINDS[:3]
_KIND_WORDS = {
    "parameters": Words("parameters", "参数"),
    "gradients": Words("gradients", "梯度"),
    "optimizer": Words("optimizer state", "优化器状态"),
    "gathered": Words("gathered unit", "收集到的单元"),
}
_OVER_PSI = Words("elements stored, ÷ Ψ", "存储的元素数，÷ Ψ")
STORED = ("4", "2 + 2/p", "1 + 3/p", "4/p")  # in Ψ, in the order of the stages
SENT = ("2(p−1)/p", "2(p−1)/p", "2(p−1)/p", "3(p−1)/p")


def stored_formula(stage: int, ranks: int) -> float:
    """Elements stored per card, ÷ Ψ: the ZeRO paper's §3 with 2 for m and v, all of one dtype."""
    return (4, 2 + 2 / ranks, 1 + 3 / ranks, 4 / ranks)[stage]


def sent_formula(stage: int, ranks: int, accumulate: int = 1) -> float:
    """Elements sent per card and step, ÷ Ψ (§7; each reduction once for every micro-batch)."""
    halves = (2, 2, accumulate + 1, 3 * accumulate)[stage]
    return halves * (ranks - 1) / ranks


def stages_table(runs: Mapping[int, Run], ranks: int) -> Table:
    """The stages beside stage 0, if it is there; stored and sent, counted beside the formula.

    Raises:
        AssertionError: a count and its formula, on the padded length, part.
    """
    caption = Words(
        "{steps} steps on {n} cards; Ψ = {psi}. Stored is counted after the update, before the "
        "gradients are released.",
        "{n} 张卡上训练 {steps} 步；Ψ = {psi}。存储量在更新之后、释放梯度之前计数。",
    )
    columns = [
        Column("stage", "s", "stage", "阶段"),
        Column("differs", ".1f", "differs from data parallel by", "与数据并行之差"),
        Column("stored", "g", "stored, ÷ Ψ", "存储量，÷ Ψ", "Ψ elements"),
        Column("stored formula", "s", "formula", "公式"),
        Column("sent", "g", "sent per step, ÷ Ψ", "每步发出，÷ Ψ", "Ψ elements"),
        Column("sent formula", "s", "formula", "公式"),
        Column("peak", ".3f", "peak, ÷ Ψ", "峰值，÷ Ψ", "Ψ elements"),
    ]
    first = next(iter(runs.values()))
    psi = len(first.parameters)
    rows = []
    for stage, run in runs.items():
        stored = max(kinds.total() for kinds in run.stored)
        assert stored == round(stored_formula(stage, ranks) * run.padded), (stage, stored)
        assert sent(run) == round(sent_formula(stage, ranks) * run.padded), (stage, sent(run))
        differs = gap(run.parameters, runs[0].parameters) if 0 in runs else None
        peak = max(kinds.total() for kinds in run.peaks) / psi
        counts = (stored / psi, STORED[stage], sent(run) / psi, SENT[stage], peak)
        rows.append((STAGES[stage], differs, *counts))
    facts = {"n": ranks, "steps": len(first.losses), "psi": f"{psi:,}"}
    return Table("zero-stages", caption, columns, rows, facts)


def accumulation_table(once: Sequence[Run], more: Sequence[Run], ranks: int) -> Table:
    """Traffic with one and with four micro-batches per step."""
    caption = Words(
        "Traffic of one step with G micro-batches, in units of (p−1)/p · Ψ, counted on {n} cards.",
        "每步 G 个微批次时的通信量，以 (p−1)/p · Ψ 为单位，在 {n} 张卡上实际计数。",
    )
    columns = [
        Column("stage", "s", "stage", "阶段"),
        Column("G 1", "g", "G = 1", "G = 1", "(p-1)/p·Ψ elements"),
        Column("G 4", "g", "G = 4", "G = 4", "(p-1)/p·Ψ elements"),
        Column("G formula", "s", "for any G", "任意 G"),
    ]
    unit = len(once[0].parameters) * (ranks - 1) / ranks
    formulas = ("2", "2", "G + 1", "3G")
    for runs, times in ((once, 1), (more, 4)):
        for stage, run in enumerate(runs):
            assert sent(run) == round(sent_formula(stage, ranks, times) * run.padded), stage
    rows = [
        (STAGES[stage], sent(one) / unit, sent(four) / unit, formula)
        for stage, (one, four, formula) in enumerate(zip(once, more, formulas, strict=True))
    ]
    return Table("zero-accumulation", caption, columns, rows, {"n": ranks})


def stored_bars(runs: Sequence[Run], ranks: int) -> str:
    """What a card stores after the update, by kind, for each stage."""
    caption = Words(
        "What one of {n} cards stores after the update, before gradients are released, by kind.",
        "{n} 张卡时，每张卡在更新之后、释放梯度之前存储的各类内容。",
    )
    alt = Words(
        "Stacked bars, in units of Ψ: {totals} for stages 0 to 3.",
        "堆叠柱，以 Ψ 为单位：阶段 0 到 3 依次为 {totals}。",
    )
    psi = len(runs[0].parameters)
    with canvas(9, 3.4) as figure:
        ax = figure.add_axes((0.15, 0.17, 0.6, 0.8))
        for stage, run in enumerate(runs):
            left = 0.0
            for kind in AT_REST:
                width = run.stored[0][kind] / psi
                ax.barh(stage, width, left=left, color=COLOURS[kind], height=0.62)
                left += width
            ax.text(left + 0.06, stage, f"{left:g}", va="center")
        ax.set_yticks(range(4), [say(stage) for stage in STAGES])
        ax.set(ylim=(3.5, -0.5), xlim=(0, 4.4), xlabel=say(_OVER_PSI))
        _kinds(ax, AT_REST)
        totals = ", ".join(f"{run.stored[0].total() / psi:g}" for run in runs)
        data = {kind: [run.stored[0][kind] / psi for run in runs] for kind in AT_REST}
        facts = {"totals": totals}
        return render("zero-stored", figure, caption, alt, facts, {"n": ranks}, data=data)


def _kinds(ax: Axes, kinds: Sequence[str]) -> None:
    for y, kind in enumerate(kinds):
        words, colour = say(_KIND_WORDS[kind]), COLOURS[kind]
        ax.text(1.04, 0.95 - 0.1 * y, words, color=colour, transform=ax.transAxes, va="top")


def moments_figure(runs: Sequence[Run]) -> str:
    """What card 0 holds through one step, stacked by kind, for each stage."""
    caption = Words(
        "What one card holds, moment by moment, in one training step.",
        "一个训练步之内，一张卡在各时刻持有的内容。",
    )
    alt = Words(
        "Four step curves of the elements held; their peaks, in units of Ψ: {peaks}.",
        "四条阶梯曲线，表示持有的元素数；以 Ψ 为单位的峰值依次为 {peaks}。",
    )
    psi = len(runs[0].parameters)
    with canvas(10, 5.4) as figure:
        grid = figure.subplots(2, 2, sharey=True, gridspec_kw={"wspace": 0.1, "hspace": 0.36})
        figure.subplots_adjust(left=0.08, right=0.8, top=0.93, bottom=0.1)
        for stage, (ax, run) in enumerate(zip(grid.flat, runs, strict=True)):
            held = [now for _, now in run.moments[0]]
            series = [[now[kind] / psi for now in held] for kind in KINDS]
            ax.stackplot(range(len(held)), series, colors=list(COLOURS.values()), step="post")
            ax.set_title(say(STAGES[stage]), fontsize=11)
            ax.set(xticks=[], ylim=(0, 4.3))
            ax.grid(True, axis="y", color=FAINT)
        for ax in grid[:, 0]:
            ax.set_ylabel(say(_OVER_PSI))
        for ax in grid[1]:
            ax.set_xlabel(say(Words("moments of one step", "一步之内的各时刻")))
        _kinds(grid[0, 1], KINDS)
        peaks = ", ".join(f"{run.peaks[0].total() / psi:.2f}" for run in runs)
        data = {
            f"stage-{stage}": [now.total() for _, now in run.moments[0]]
            for stage, run in enumerate(runs)
        }
        return render("zero-moments", figure, caption, alt, {"peaks": peaks}, data=data)


def ranks_figure(runs: Mapping[int, Sequence[Run]], last: int = 64) -> str:
    """Stored per card against the number of cards: formulas as lines, counts as dots."""
    caption = Words(
        "Stored per card against the number of cards: lines are the formulas, dots were counted.",
        "每张卡的存储量随卡数的变化：线是公式，点是实际计数。",
    )
    alt = Words(
        "Stored in units of Ψ from {first} to {last} cards; at {last} cards: {totals}.",
        "{first} 到 {last} 张卡的存储量，以 Ψ 为单位；{last} 张卡时依次为 {totals}。",
    )
    ranks = [2**k for k in range(last.bit_length())]
    with canvas(9, 4) as figure:
        ax = figure.add_axes((0.09, 0.15, 0.7, 0.8))
        for stage, colour in enumerate(SERIES):
            line = [stored_formula(stage, p) for p in ranks]
            counted = [r[stage].stored[0].total() / len(r[stage].parameters) for r in runs.values()]
            assert counted == [stored_formula(stage, p) for p in runs], stage
            ax.plot(ranks, line, color=colour)
            ax.plot(list(runs), counted, "o", color=colour)
            ax.text(ranks[-1] * 1.1, line[-1], say(STAGES[stage]), color=colour, va="center")
        ax.set(xscale="log", ylim=(0, 4.3), xlabel=say(NUMBER_OF_CARDS))
        ax.set_ylabel(say(_OVER_PSI))
        ax.set_xticks(ranks, [str(p) for p in ranks])
        ax.minorticks_off()
        ax.grid(True)
        totals = ", ".join(f"{stored_formula(stage, last):.2f}" for stage in range(4))
        facts = {"first": 1, "last": last, "totals": totals}
        return render("zero-ranks", figure, caption, alt, facts)
