"""3.4: what each stage stores and sends, counted beside the formulas."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from torch import Size

from zerolit.plan.memory import RECIPES, model_states
from zerolit.zero import Run
from zerolit.zero.layout import Layout
from zerolit.zero.memory import KINDS

from .figure import FAINT, INK, SERIES, canvas, render
from .one_step import COMPUTE, STATES, Moment, OneStep
from .runs import gap, sent
from .table import Column, Table
from .words import CARD, NUMBER_OF_CARDS, STAGES, Words, choose, say

COLOURS = dict(zip(KINDS, SERIES, strict=True))
AT_REST = KINDS[:3]
_KIND_WORDS = {
    "parameters": Words("parameters", "参数"),
    "gradients": Words("gradients", "梯度"),
    "optimizer": Words("optimizer state", "优化器状态"),
    "gathered": Words("gathered unit", "临时收集的单元"),
}
_OVER_PSI = Words("elements stored, ÷ Ψ", "常驻的元素数（Ψ）")
_BYTES = Words("bytes per parameter", "每个参数的字节数")
SEVEN, CARD_BYTES = 7e9, 80e9  # the page's model, and its card's memory
_LINES = ("-", (0, (6, 2)), (0, (5, 2, 1, 2)), (0, (1, 1.5)))  # of the stages: colours are kinds
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
        "{n} 张卡上训练 {steps} 步；Ψ = {psi}。常驻量在更新之后、释放梯度之前计数。",
    )
    columns = [
        Column("stage", "s", "stage", "阶段"),
        Column("differs", ".1f", "differs from data parallel by", "与数据并行之差"),
        Column("stored", "g", "stored, ÷ Ψ", "每张卡常驻（Ψ）", "Ψ elements"),
        Column("stored formula", "s", "formula", "公式"),
        Column("sent", "g", "sent per step, ÷ Ψ", "每张卡每步发出（Ψ）", "Ψ elements"),
        Column("sent formula", "s", "formula", "公式"),
        Column("peak", ".3f", "peak, ÷ Ψ", "峰值（Ψ）", "Ψ elements"),
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
        "Traffic of one step with k micro-batches, in units of (p−1)/p · Ψ, counted on {n} cards.",
        "每步 k 个 micro-batch 时的通信量，以 (p−1)/p · Ψ 为单位，在 {n} 张卡上实际计数。",
    )
    columns = [
        Column("stage", "s", "stage", "阶段"),
        Column("G 1", "g", "k = 1", "k = 1", "(p-1)/p·Ψ elements"),
        Column("G 4", "g", "k = 4", "k = 4", "(p-1)/p·Ψ elements"),
        Column("G formula", "s", "for any k", "任意 k"),
    ]
    unit = len(once[0].parameters) * (ranks - 1) / ranks
    formulas = ("2", "2", "k + 1", "3k")
    for runs, times in ((once, 1), (more, 4)):
        for stage, run in enumerate(runs):
            assert sent(run) == round(sent_formula(stage, ranks, times) * run.padded), stage
    rows = [
        (STAGES[stage], sent(one) / unit, sent(four) / unit, formula)
        for stage, (one, four, formula) in enumerate(zip(once, more, formulas, strict=True))
    ]
    return Table("zero-accumulation", caption, columns, rows, {"n": ranks})


_RECIPE_WORDS = {
    "mixed": ("16-bit, the paper's", "16 位（论文的配方）"),
    "float32": ("float32, this page's", "float32（本页的小模型）"),
    "float32 gradients": ("16-bit, gradients in float32", "16 位，梯度 float32"),
    "no master": ("16-bit, without master weights", "16 位，没有主权重"),
}


def recipes_table(ranks: int) -> Table:
    """Bytes per parameter of the recipes in use, and what they come to for a 7B model."""
    caption = Words(
        "Four recipes: bytes per parameter (parameter + gradient + optimizer state), and GB of a "
        "7B model on each of {n} cards.",
        "四种配方：每个参数的字节数（参数 + 梯度 + 优化器状态），以及 7B 模型在 {n} 张卡上"
        "每张卡的 GB 数。",
    )
    columns = [
        Column("recipe", "s", "recipe", "配方"),
        Column("bytes", "s", "bytes", "字节", "bytes"),
        *(
            Column(f"stage {stage}", "g", name.words.en, name.words.zh, "GB")
            for stage, name in enumerate(STAGES)
        ),
    ]
    rows = []
    for name, recipe in RECIPES.items():
        per = f"{recipe.parameters} + {recipe.gradients} + {recipe.optimizer}"
        totals = [model_states(SEVEN, stage, ranks, recipe).total / 1e9 for stage in range(4)]
        rows.append((choose(name, _RECIPE_WORDS), per, *totals))
    return Table("zero-recipes", caption, columns, rows, {"n": ranks})


# What several figures share


def _key(figure: Figure, kinds: Sequence[str], left: float, top: float, step: float) -> None:
    """Swatches with their words in one row; places are fractions of the figure's width."""
    wide, high = figure.get_size_inches()
    side = 0.13
    for i, kind in enumerate(kinds):
        x, y = left + i * step, 1 - top / high
        swatch = Rectangle((x, y), side / wide, side / high, color=COLOURS[kind], lw=0)
        figure.add_artist(swatch)
        words = say(_KIND_WORDS[kind])
        figure.text(x + 0.2 / wide, y + side / high / 2, words, va="center", fontsize=10)


def _letters(units: int) -> list[str]:
    """E for the embedding, H for the head, and the blocks by number."""
    return ["E", *(str(i) for i in range(1, units - 1)), "H"]


_PHASES = {
    "forward": Words("forward", "前向"),
    "backward": Words("backward", "反向"),
    "sum": Words("sum", "求和"),
    "update": Words("update", "更新"),
}


def _phases(moments: Sequence[Moment]) -> list[tuple[str, int, int]]:
    """The parts of a step: (name, its first moment, the one after its last)."""
    starts, what = {"forward": 0}, [m.what for m in moments]
    starts["backward"] = len(what) - what[::-1].index("forward")
    ended = len(what) - what[::-1].index("backward")
    starts["update"] = what.index("update")
    if starts["update"] - ended > 1:  # one unit's sum, in ZeRO-2 and 3, belongs to its backward
        starts["sum"] = ended
    ordered = sorted(starts.items(), key=lambda item: item[1])
    ends = [start for _, start in ordered[1:]] + [len(what)]
    return [(name, start, end) for (name, start), end in zip(ordered, ends, strict=True)]


def _axis(ax: Axes, moments: Sequence[Moment], y: float, line: float, size: float = 9) -> None:
    """Below a step's picture: the units that are computed, and brackets over the phases.

    Args:
        y: where the letters stand.
        line: the height of a line of text, downwards where the axis is turned over.
        size: of the letters, in points.
    """
    letters = _letters(1 + max(m.unit for m in moments))
    for x, m in enumerate(moments):
        compute = m.what in COMPUTE
        colour = INK if compute else COLOURS[m.moved]
        sign = letters[m.unit] if compute else "→"
        ax.text(x + 0.5, y, sign, color=colour, ha="center", va="center", fontsize=size)
    for name, start, end in _phases(moments):
        ax.plot([start + 0.15, end - 0.15], [y + 0.8 * line] * 2, color=INK, lw=1, clip_on=False)
        middle, told = (start + end) / 2, say(_PHASES[name])
        ax.text(middle, y + 1.5 * line, told, ha="center", va="center", fontsize=size + 1)


def cards_figure(steps: Sequence[OneStep]) -> str:
    """For each stage: what each card holds between uses, and who sends to whom, when in a step."""
    caption = Words(
        "Boxes: what each of {n} cards holds, P parameters, G gradients, m and v; a quarter of a "
        "box is a slice. Lines: one step of the {n} cards, from left to right. A grey bar computes "
        "a unit: E the embedding, 1 and 2 the blocks, H the head. Arrows show who sends to whom: "
        "solid ones add (reduce-scatter), dotted ones copy (all-gather). A group of arrows is "
        "the {turns} steps of a unit's collective; the long arrow closes the ring.",
        "方格：{n} 张卡各存什么，P 是参数，G 是梯度，还有 m 和 v；四分之一格是一段。"
        "横线：{n} 张卡的一个训练步，从左到右。灰条表示在算一个单元：E 是嵌入层，1、2 是 "
        "Transformer 层，H 是输出层。箭头表示谁发给谁：实线边传边加（reduce-scatter），"
        "虚线只复制（all-gather）。一组箭头代表一个单元的一次集合通信，共 {turns} 步；"
        "长箭头把环闭合。更新部分的灰条：数据并行更新整个单元，ZeRO 只更新本卡的一段。",
    )
    alt = Words(
        "For stages 0 to 3 each card holds {stored} Ψ. In one step it sends to the next card of "
        "the ring in {counts} collectives, {sent} Ψ in all.",
        "阶段 0 到 3 每张卡依次存 {stored} Ψ。一步之内向环上的下一张卡发送，"
        "集合通信次数依次为 {counts}，共发出 {sent} Ψ。",
    )
    with canvas(9.4, 9) as figure, canvas(4, 15.2) as narrow:
        for stage, one in enumerate(steps):
            _stage_wide(figure, stage, one)
            _stage_narrow(narrow, stage, one)
        _key(figure, AT_REST, 0.08, 0.24, 0.18)
        _key(narrow, AT_REST, 0.03, 0.24, 0.31)
        sums = [sum(m.elements for m in one.moments[0]) / one.padded for one in steps]
        facts = {
            "stored": ", ".join(f"{one.states[0].total() / one.padded:g}" for one in steps),
            "counts": ", ".join(str(len(_collectives(one))) for one in steps),
            "sent": ", ".join(f"{each:g}" for each in sums),
        }
        shown = {"n": len(steps[0].moments), "turns": len(steps[0].moments) - 1}
        return render("zero-cards", figure, caption, alt, facts, shown, narrow=narrow)


def _collectives(one: OneStep) -> list[Moment]:
    return [m for m in one.moments[0] if m.to is not None]


def _stage_title(stage: int, one: OneStep) -> str:
    words = Words("{name}: holds {held}, sends {sent}", "{name}：存 {held}，发 {sent}")
    moved = sum(m.elements for m in one.moments[0]) / one.padded
    held = one.states[0].total() / one.padded
    return say(words, name=say(STAGES[stage]), held=_psi(held), sent=_psi(moved))


def _psi(times: float) -> str:
    return "Ψ" if times == 1 else f"{times:g}Ψ"


def _stage_wide(figure: Figure, stage: int, one: OneStep) -> None:
    bottom = 0.975 - 0.236 * (stage + 1)
    _held(figure.add_axes((0.08, bottom + 0.055, 0.2, 0.135)), one)
    _traffic(figure.add_axes((0.3, bottom + 0.055, 0.695, 0.135)), one)
    figure.text(0.3, bottom + 0.2, _stage_title(stage, one), fontsize=11, weight="bold")


def _stage_narrow(figure: Figure, stage: int, one: OneStep) -> None:
    bottom = 0.975 - 0.241 * (stage + 1)
    figure.text(0.02, bottom + 0.222, _stage_title(stage, one), fontsize=10.5, weight="bold")
    _held(figure.add_axes((0.17, bottom + 0.13, 0.8, 0.07)), one)
    _traffic(figure.add_axes((0.02, bottom + 0.035, 0.96, 0.075)), one, size=7)


def _held(ax: Axes, one: OneStep) -> None:
    """Cards in rows, states in columns: a box for all of a state, filled where it is held."""
    size, boxes = len(one.states), list[Points]()
    for column, (state, kind) in enumerate(zip(STATES, (*KINDS[:3], KINDS[2]), strict=True)):
        filled = []
        for rank, held in enumerate(one.states):
            share = held[state] / one.padded
            start = column + (0 if share == 1 else 0.86 * rank / size)
            filled.append(_box(start, rank - 0.32, 0.86 * share, 0.64))
            boxes.append(_box(column, rank - 0.32, 0.86, 0.64))
        ax.add_patch(PathPatch(_closed(filled), color=COLOURS[kind], lw=0))
        ax.text(column + 0.43, -0.75, "PGmv"[column], ha="center", va="center", fontsize=10)
    ax.add_patch(PathPatch(_closed(boxes), fill=False, edgecolor=FAINT))
    for rank in range(size):
        ax.text(-0.12, rank, f"{say(CARD)} {rank}", ha="right", va="center", fontsize=9.5)
    ax.set(xlim=(-0.05, 4), ylim=(size - 0.5, -0.5))
    ax.axis("off")


def _traffic(ax: Axes, one: OneStep, size: float = 9) -> None:
    """Cards in rows, moments in columns: bars where they compute, arrows where they send."""
    ranks, length = len(one.moments), len(one.moments[0])
    bars: list[Points] = []
    arrows: dict[tuple[str, str], list[tuple[float, int, int]]] = {}
    for rank, moments in enumerate(one.moments):
        ax.plot([0, length], [rank] * 2, color=FAINT, lw=0.8)
        for x, m in enumerate(moments):
            if m.to is None:
                bars.append(_box(x + 0.2, rank - 0.14, 0.6, 0.28))
                continue
            place = x + (0.3 if m.to == rank + 1 else 0.78)  # the way back round the ring: aside
            arrows.setdefault((m.moved, m.what), []).append((place, rank, m.to))
    ax.add_patch(PathPatch(_closed(bars), color=INK, alpha=0.45, lw=0))
    for (moved, what), lines in arrows.items():
        _arrows(ax, lines, COLOURS[moved], "-" if what == "reduce-scatter" else ":")
    ax.set(xlim=(0, length), ylim=(ranks - 0.5, -0.5))
    ax.axis("off")
    _axis(ax, one.moments[0], ranks - 0.45, 0.55, size)


Points = list[tuple[float, float]]


def _box(x: float, y: float, width: float, height: float) -> Points:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _closed(shapes: Sequence[Points]) -> Path:
    """Many shapes as one path, which keeps the page small."""
    return Path.make_compound_path(*(Path([*s, s[0]], closed=True) for s in shapes))


def _arrows(ax: Axes, lines: Sequence[tuple[float, int, int]], colour: str, style: str) -> None:
    """Vertical arrows at x, from row to row: all lines one path, all heads another."""
    shafts, heads = [], list[Points]()
    for x, start, end in lines:
        back = 0.24 if end < start else -0.24  # how far the head reaches back
        shafts.append(Path([(x, start), (x, end + back)]))
        heads.append([(x - 0.16, end + back), (x + 0.16, end + back), (x, end)])
    shaft = PathPatch(Path.make_compound_path(*shafts), fill=False, edgecolor=colour)
    shaft.set(linewidth=1.3, linestyle=style)
    ax.add_patch(shaft)
    ax.add_patch(PathPatch(_closed(heads), color=colour, lw=0))


def cut_figure(size: int = 4) -> str:
    """A small layer as a vector, cut among the cards: flat, and by rows; from `Layout`."""
    caption = Words(
        "A layer with a weight of 5 × 2 (dark; w40 is row 4, column 0) and a bias of 5 (light) for "
        "{n} cards; 0 is padding. Flat, card 2 has the weight's last row and the bias's first two "
        "elements. By rows, each parameter is padded to a multiple of {n} rows, and card 3 has "
        "nothing but padding.",
        "一个线性层切给 {n} 张卡：权重为 5 × 2（深色；w40 是第 4 行第 0 列），偏置为 5（浅色），"
        "0 是补零。"
        "整体切分（flat）时，第 2 张卡得到权重的最后一行和偏置的前两个元素。按行切分时，"
        "每个参数各自把行数补到 {n} 的倍数，第 3 张卡分到的全是补零。",
    )
    alt = Words(
        "Flat: {flat} elements, {flat_padding} of them padding. By rows: {rows} elements, "
        "{rows_padding} of them padding.",
        "整体切分：{flat} 个元素，其中补零 {flat_padding} 个。按行切分：{rows} 个元素，"
        "其中补零 {rows_padding} 个。",
    )
    shapes = [Size((5, 2)), Size((5,))]
    layouts = {cut: Layout(shapes, size, cut) for cut in ("flat", "rows")}
    vectors = {cut: _numbered(layout) for cut, layout in layouts.items()}
    facts = {"n": size}
    for cut, layout in layouts.items():
        facts |= {cut: layout.padded, f"{cut}_padding": layout.padded - layout.length}
    with canvas(9.4, 3.4) as figure, canvas(4, 4.8) as narrow:
        for y, (cut, layout) in enumerate(layouts.items()):
            _vector(figure.add_axes((0.01, 0.53 - 0.5 * y, 0.98, 0.45)), cut, layout, size)
            _shares(narrow.add_axes((0.02, 0.5 - 0.49 * y, 0.96, 0.48)), cut, layout, size)
        return render(
            "zero-cut", figure, caption, alt, facts, {"n": size}, data=vectors, narrow=narrow
        )


_CUTS = {
    "flat": Words("flat: the whole unit in one piece", "整体切分（flat）：整个单元是一条向量"),
    "rows": Words("by rows: each parameter a piece of its own", "按行切分：每个参数各成一条向量"),
}
_NAMES = ["0", *(f"w{i}{j}" for i in range(5) for j in range(2)), *(f"b{i}" for i in range(5))]


def _numbered(layout: Layout) -> list[int]:
    """Which element stands where in the vector, counted from 1; 0 is padding."""
    numbers = torch.arange(1, layout.length + 1)
    lengths = [shape.numel() for shape in layout.shapes]
    params = [p.view(s) for p, s in zip(numbers.split(lengths), layout.shapes, strict=True)]
    return [int(each) for each in layout.flatten(params, torch.int64)]


def _cell(ax: Axes, x: float, y: float, number: int) -> None:
    alpha = 0.0 if number == 0 else 0.5 if number <= 10 else 0.2
    ax.add_patch(Rectangle((x, y), 1, 1, color=COLOURS["parameters"], alpha=alpha, lw=0))
    ax.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=FAINT, lw=0.8))
    ax.text(x + 0.5, y + 0.5, _NAMES[number], ha="center", va="center", fontsize=9)


def _vector(ax: Axes, cut: str, layout: Layout, size: int) -> None:
    """The vector's pieces in a row, with a frame and the card's name at each part."""
    numbers, start, x = _numbered(layout), 0, 0.0
    for piece in layout.pieces:
        each = piece // size
        for rank in range(size):
            for i in range(each):
                _cell(ax, x + i, 0, numbers[start + rank * each + i])
            ax.add_patch(Rectangle((x, 0), each, 1, fill=False, edgecolor=INK, lw=2))
            words = f"{say(CARD)} {rank}"
            ax.text(x + each / 2, 1.55, words, ha="center", va="center", fontsize=10)
            x += each
        start, x = start + piece, x + 0.5
    ax.text(0, -0.7, say(_CUTS[cut]), va="center", fontsize=11, weight="bold")
    ax.set(xlim=(-0.1, 25.1), ylim=(2.1, -1.2))
    ax.axis("off")


def _shares(ax: Axes, cut: str, layout: Layout, size: int) -> None:
    """The same for a phone: a row for each card's share."""
    shares = layout.shares(torch.tensor(_numbered(layout)))
    for rank in range(size):
        ax.text(-0.2, rank + 0.5, f"{say(CARD)} {rank}", ha="right", va="center", fontsize=10)
        for i, number in enumerate(shares[rank].tolist()):
            _cell(ax, i, rank, number)
        ax.add_patch(Rectangle((0, rank), layout.share, 0.98, fill=False, edgecolor=INK, lw=2))
    ax.text(-1.5, -0.6, say(_CUTS[cut]), va="center", fontsize=10.5, weight="bold")
    ax.set(xlim=(-1.6, 6.1), ylim=(size + 0.1, -1.1))
    ax.axis("off")


def stored_bars(runs: Sequence[Run], ranks: int) -> str:
    """What a card stores after the update, by kind: counted, and a 7B model's in GB."""
    caption = Words(
        "What one of {n} cards stores after the update, before gradients are released. In Ψ: this "
        "page's tiny model, counted. In GB: a 7B model in mixed precision, by the formulas, beside "
        "a card of {card:g} GB. Activations come on top.",
        "{n} 张卡时，一张卡在更新之后、释放梯度之前，参数、梯度、优化器状态各占多少。以 Ψ 计："
        "本页的小模型，实际计数。以 GB 计：混合精度的 7B 模型，按公式计算，旁边是一张 {card:g} GB "
        "的卡。激活另计。",
    )
    alt = Words(
        "Stacked bars, in units of Ψ: {totals} for stages 0 to 3; of a 7B model, in GB: {gb}.",
        "堆叠柱，以 Ψ 为单位：阶段 0 到 3 依次为 {totals}；7B 模型以 GB 计：{gb}。",
    )
    psi = len(runs[0].parameters)
    counted = {kind: [run.stored[0][kind] / psi for run in runs] for kind in AT_REST}
    states = [model_states(SEVEN, stage, ranks) for stage in range(4)]
    bytes_ = {kind: [getattr(each, kind) / 1e9 for each in states] for kind in AT_REST}
    with canvas(9.4, 3.9) as figure, canvas(4, 6.6) as narrow:
        _bars(figure.add_axes((0.13, 0.16, 0.35, 0.61)), counted)
        _gigabytes(figure.add_axes((0.53, 0.16, 0.44, 0.61)), bytes_, names=False)
        _bars(narrow.add_axes((0.27, 0.62, 0.7, 0.29)), counted)
        _gigabytes(narrow.add_axes((0.27, 0.09, 0.7, 0.33)), bytes_, names=True)
        _key(figure, AT_REST, 0.13, 0.25, 0.18)
        _key(narrow, AT_REST, 0.02, 0.25, 0.3)
        totals = ", ".join(f"{run.stored[0].total() / psi:g}" for run in runs)
        facts = {"totals": totals, "gb": ", ".join(f"{each.total / 1e9:g}" for each in states)}
        data = counted | {f"gb-{kind}": values for kind, values in bytes_.items()}
        shown = {"n": ranks, "card": CARD_BYTES / 1e9}
        return render("zero-stored", figure, caption, alt, facts, shown, data=data, narrow=narrow)


def _bars(
    ax: Axes, kinds: Mapping[str, Sequence[float]], room: float = 4.7, names: bool = True
) -> None:
    for stage, name in enumerate(STAGES):
        left = 0.0
        for kind, values in kinds.items():
            ax.barh(stage, values[stage], left=left, color=COLOURS[kind], height=0.62)
            left += values[stage]
        ax.text(left + 0.015 * room, stage, f"{left:g}", va="center")
        if names:
            ax.text(-0.03 * room, stage, say(name), ha="right", va="center")
    ax.set(ylim=(3.5, -0.5), xlim=(0, room), yticks=[], xlabel=say(_OVER_PSI))


def _gigabytes(ax: Axes, kinds: Mapping[str, Sequence[float]], names: bool) -> None:
    _bars(ax, kinds, room=132, names=names)
    _card_line(ax, vertical=True)
    ax.set_xlabel(say(Words("GB of a 7B model", "7B 模型（GB）")))
    above = ax.secondary_xaxis("top", functions=(_per_parameter, _of_the_model))
    above.set_xlabel(say(_BYTES), fontsize=10)
    above.set_xticks([0, 4, 8, 12, 16])


def _per_parameter(gigabytes: Any) -> Any:
    """Bytes for each parameter of the model; arrays as well."""
    return gigabytes * 1e9 / SEVEN


def _of_the_model(nbytes: Any) -> Any:
    """And back."""
    return nbytes * SEVEN / 1e9


def _card_line(ax: Axes, vertical: bool) -> None:
    """The card's memory, as a line that is not data."""
    gigabytes = CARD_BYTES / 1e9
    told = say(Words("{n:g} GB card", "{n:g} GB 的卡"), n=gigabytes)
    if vertical:
        ax.axvspan(gigabytes - 0.4, gigabytes + 0.4, color=INK, lw=0)
        ax.text(gigabytes + 2, 3.3, told, fontsize=10, va="center")
    else:
        ax.axhspan(gigabytes - 0.4, gigabytes + 0.4, color=INK, lw=0)
        where = ax.get_yaxis_transform()
        ax.text(0.98, gigabytes + 3, told, fontsize=10, transform=where, ha="right")


def moments_figure(steps: Sequence[OneStep]) -> str:
    """What card 0 holds through one step, stacked by kind, for each stage."""
    caption = Words(
        "What one of {n} cards holds, moment by moment, in one training step. E is the embedding, "
        "1 and 2 the blocks, H the head; an arrow is a collective, in the colour of what it moves. "
        "A step begins with room for its gradients.",
        "一个训练步之内，{n} 张卡中的一张上，各类数据的元素数如何变化。E 是嵌入层，1、2 是 "
        "Transformer 层，H 是输出层；箭头是一次集合通信，颜色表示传的是什么。"
        "一步开始时先为梯度分配空间。",
    )
    alt = Words(
        "Four stacked areas of the elements held; their peaks, in units of Ψ: {peaks}.",
        "四幅堆叠面积图，表示持有的元素数；以 Ψ 为单位的峰值依次为 {peaks}。",
    )
    with canvas(9.4, 6.7) as figure, canvas(4, 12.4) as narrow:
        for stage, one in enumerate(steps):
            left, bottom = 0.05 + 0.51 * (stage % 2), 0.56 - 0.47 * (stage // 2)
            _held_through(figure.add_axes((left, bottom, 0.43, 0.33)), stage, one, 9)
            below = 0.768 - 0.238 * stage
            _held_through(narrow.add_axes((0.1, below, 0.88, 0.165)), stage, one, 7)
        _key(figure, KINDS, 0.06, 0.25, 0.19)
        _key(narrow, KINDS[:2], 0.1, 0.2, 0.42)
        _key(narrow, KINDS[2:], 0.1, 0.4, 0.42)
        noted = [[now.total() for _, now in one.notes[0]] for one in steps]
        peaks = ", ".join(f"{max(n) / one.padded:.2f}" for n, one in zip(noted, steps, strict=True))
        data = {f"stage-{stage}": totals for stage, totals in enumerate(noted)}
        shown = {"n": len(steps[0].moments)}
        return render(
            "zero-moments", figure, caption, alt, {"peaks": peaks}, shown, data=data, narrow=narrow
        )


def _held_through(ax: Axes, stage: int, one: OneStep, size: float) -> None:
    """One stage's step: areas by kind, the peak as a number, and the axis of the moments."""
    moments, psi = one.moments[0], one.padded
    held = [m.held for m in (*moments, moments[-1])]
    series = [[now[kind] / psi for now in held] for kind in KINDS]
    ax.stackplot(range(len(held)), series, colors=list(COLOURS.values()), step="post")
    totals = [m.held.total() / psi for m in moments]
    peak = max(totals)
    assert peak == max(now.total() for _, now in one.notes[0]) / psi, stage
    words, middle = Words("peak {n:.2f}Ψ", "峰值 {n:.2f}Ψ"), len(totals) / 2
    if totals.count(peak) == 1:
        middle = totals.index(peak) + 0.5
    ax.text(middle, peak + 0.14, say(words, n=peak), ha="center", fontsize=10)
    ax.set_title(say(STAGES[stage]), fontsize=11, loc="left", weight="bold")
    ax.set(xticks=[], yticks=range(5), xlim=(0, len(moments)), ylim=(0, 4.6))
    ax.set_yticklabels([f"{n}Ψ" if n else "0" for n in range(5)], fontsize=size + 0.5)
    ax.grid(True, axis="y", color=FAINT)
    ax.set_axisbelow(True)
    _axis(ax, moments, -0.3, -0.4, size)


def ranks_figure(runs: Mapping[int, Sequence[Run]], last: int = 64) -> str:
    """Stored per card against the number of cards: counted beside the formulas, and in GB."""
    caption = Words(
        "Stored per card against the number of cards. In Ψ: lines are the formulas, dots were "
        "counted. In GB: a 7B model in mixed precision, by the formulas; the scale beside it is "
        "bytes per parameter.",
        "每张卡的存储量随卡数的变化。以 Ψ 计：线是公式，点是实际计数。以 GB 计：混合精度的 7B "
        "模型，按公式计算；旁边的刻度是每个参数的字节数。",
    )
    alt = Words(
        "Stored in units of Ψ from {first} to {last} cards; at {last} cards: {totals}; a 7B model "
        "in GB: {gb}.",
        "{first} 到 {last} 张卡的存储量，以 Ψ 为单位；{last} 张卡时依次为 {totals}；"
        "7B 模型以 GB 计：{gb}。",
    )
    ranks = [2**k for k in range(last.bit_length())]
    with canvas(9.4, 4.2) as figure, canvas(4, 8) as narrow:
        _counted_lines(figure.add_axes((0.06, 0.14, 0.35, 0.74)), runs, ranks)
        _byte_lines(figure.add_axes((0.57, 0.14, 0.28, 0.74)), ranks, 1.14)
        _counted_lines(narrow.add_axes((0.1, 0.58, 0.62, 0.37)), runs, ranks)
        _byte_lines(narrow.add_axes((0.13, 0.07, 0.48, 0.37)), ranks, 1.21)
        gigabytes = [model_states(SEVEN, stage, last).total / 1e9 for stage in range(4)]
        totals = ", ".join(f"{stored_formula(stage, last):.2f}" for stage in range(4))
        facts = {"first": 1, "last": last, "totals": totals}
        facts["gb"] = ", ".join(f"{each:.2f}" for each in gigabytes)
        return render("zero-ranks", figure, caption, alt, facts, narrow=narrow)


def _counted_lines(ax: Axes, runs: Mapping[int, Sequence[Run]], ranks: Sequence[int]) -> None:
    for stage, style in enumerate(_LINES):
        line = [stored_formula(stage, p) for p in ranks]
        counted = [r[stage].stored[0].total() / len(r[stage].parameters) for r in runs.values()]
        assert counted == [stored_formula(stage, p) for p in runs], stage
        ax.plot(ranks, line, color=INK, ls=style, lw=1.8)
        ax.plot(list(runs), counted, "o", color=INK, ms=5)
        ax.text(ranks[-1] * 1.12, line[-1], say(STAGES[stage]), va="center", fontsize=10)
    ax.set(ylim=(0, 4.3))
    ax.set_title(say(_OVER_PSI), fontsize=10.5, loc="left")
    _log_axis(ax, ranks)


def _byte_lines(ax: Axes, ranks: Sequence[int], names: float) -> None:
    for stage, style in enumerate(_LINES):
        line = [model_states(SEVEN, stage, p).total / 1e9 for p in ranks]
        ax.plot(ranks, line, color=INK, ls=style, lw=1.8)
        ax.text(names, line[-1] / 120, say(STAGES[stage]), va="center", transform=ax.transAxes)
    ax.set(ylim=(0, 120))
    _card_line(ax, vertical=False)
    ax.set_title(say(Words("GB of a 7B model", "7B 模型（GB）")), fontsize=10.5, loc="left")
    _log_axis(ax, ranks)
    beside = ax.secondary_yaxis("right", functions=(_per_parameter, _of_the_model))
    beside.set_yticks([0, 4, 8, 12, 16])


def _log_axis(ax: Axes, ranks: Sequence[int]) -> None:
    ax.set_xscale("log")
    told = say(Words("{cards}, log scale", "{cards}（对数刻度）"), cards=say(NUMBER_OF_CARDS))
    ax.set_xlabel(told, fontsize=10.5)
    ax.set_xticks(ranks, [str(p) for p in ranks])
    ax.minorticks_off()
    ax.grid(True)
