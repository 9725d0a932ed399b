"""3.3: data parallelism beside one big batch, and how fast the two part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import nn

from zerolit import zero
from zerolit.gpt import make_model
from zerolit.press import MACHINE
from zerolit.zero import TINY_GPT, Apart, FlatAdamW, Step, Task

from .figure import FAINT, INK, SERIES, canvas, render
from .runs import GAP, LOSS, THREADS
from .table import Column, Table
from .words import TRAINING_STEP, Words, choose, say

bigger_batch = cache(partial(zero.bigger_batch, threads=THREADS))
parted = partial(bigger_batch, gradients=())  # only how far the parameters are apart
elements = cache(zero.elements)
noise_scale = cache(zero.noise_scale)

_SINGLE, _MEAN = Words("loss, 1 card", "单卡损失"), Words("loss, {n} cards", "{n} 卡损失")


def batch_table(steps: Sequence[Step], shown: Sequence[int], ranks: int) -> Table:
    """Some steps of data parallelism beside one big batch."""
    caption = Words(
        "{n} cards with a share of each batch, beside one card with all of it.",
        "{n} 张卡各分一份 batch，与一张卡处理整个 batch 对照。",
    )
    columns = [
        Column("training step", "d", *TRAINING_STEP),
        Column("gradient gap", ".1e", "gradients differ by", "梯度之差", tolerance=GAP),
        Column("single loss", ".6f", *_SINGLE, tolerance=LOSS),
        Column("mean loss", ".6f", *_MEAN, tolerance=LOSS),
        Column("parameter gap", ".1e", "parameters differ by", "参数之差", tolerance=GAP),
    ]
    rows = []
    for i in shown:
        step = steps[i]
        gaps = (step.gradient_gap, step.single_loss, step.mean_loss, step.parameter_gap)
        rows.append((i, *gaps))
    return Table("batch-steps", caption, columns, rows, {"n": ranks})


_VARIANTS = {
    "adamw 32": ("AdamW, float32", "AdamW，float32"),
    "adamw 32 sums 64": ("AdamW, sum and update in float64", "AdamW，求和与更新用 float64"),
    "adamw 32 no bias": ("AdamW, float32, no q, k, v bias", "AdamW，float32，无 q、k、v 偏置"),
    "adamw 64": ("AdamW, all in float64", "AdamW，全部用 float64"),
    "sgd 32": ("SGD, float32, lr 0.1", "SGD，float32，lr 0.1"),
    "adamw 32 sum 64": ("AdamW, only the sum in float64", "AdamW，只有求和用 float64"),
    "sgd 32 slow": ("SGD, float32, lr 0.03", "SGD，float32，lr 0.03"),
}
_LINES = {  # as they are drawn: colour, line, and the line's name in the ledger
    "adamw 32": (SERIES[0], "-", "line-2"),
    "adamw 32 sums 64": (SERIES[0], "--", "line-3"),
    "adamw 32 sum 64": (SERIES[0], ":", "line-7"),
    "adamw 32 no bias": (SERIES[1], "-", "line-4"),
    "adamw 64": (SERIES[2], "-", "line-5"),
    "sgd 32": (SERIES[3], "-", "line-6"),
    "sgd 32 slow": (SERIES[3], "--", "line-8"),
}


def leaders_table(variants: Mapping[str, Sequence[Step]], ranks: int) -> Table:
    """For each way of training: how far apart at the start and at the end, and what leads."""
    caption = Words(
        "How far {n} cards and one are apart, and which parameter is farthest.",
        "{n} 张卡与一张卡相差多少，差得最多的是哪个参数。",
    )
    columns = [
        Column("variant", "s", "training", "训练方式"),
        Column("gap first", ".1e", "after step 0", "第 0 步后", tolerance=GAP),
        Column("leads first", "s", "farthest at first", "起初差得最多的参数", tolerance=MACHINE),
        Column("gap last", ".1e", "after step {last}", "第 {last} 步后", tolerance=GAP),
        Column("leads last", "s", "farthest at the end", "最后差得最多的参数", tolerance=MACHINE),
    ]
    rows = []
    for name, steps in variants.items():
        ends = [part for s in (steps[0], steps[-1]) for part in (s.parameter_gap, short(s.leader))]
        rows.append((choose(name, _VARIANTS), *ends))
    last = len(next(iter(variants.values()))) - 1
    return Table("batch-leaders", caption, columns, rows, {"n": ranks, "last": last})


def short(name: str) -> str:
    """A parameter's name as it is shown: its unit, and what it is there."""
    return name.replace("attention.", "")


def batch_curves(variants: Mapping[str, Sequence[Step]], ranks: int) -> str:
    """The growth of the difference for each way of training."""
    caption = Words(
        "How far the parameters of {n} cards and of one are apart, step by step.",
        "{n} 张卡与一张卡的参数在每一步之后相差多少。",
    )
    alt = Words(
        "For {n} cards and one, the largest parameter difference goes from {d0:.0e} to {d1:.0e} "
        "with AdamW in float32 and from {e0:.0e} to {e1:.0e} in float64.",
        "{n} 张卡与一张卡：参数的最大差在 float32 的 AdamW 下从 {d0:.0e} 到 {d1:.0e}，"
        "在 float64 下从 {e0:.0e} 到 {e1:.0e}。",
    )
    facts: dict[str, float] = {"n": ranks}
    for letter, name in (("d", "adamw 32"), ("e", "adamw 64")):
        ran = variants[name]
        facts |= {f"{letter}0": ran[0].parameter_gap, f"{letter}1": ran[-1].parameter_gap}
    gaps = ["d0", "d1", "e0", "e1", *(name for _, _, name in _LINES.values())]
    with canvas(11, 4.2) as figure, canvas(4, 5.8) as narrow:
        _draw_gaps(figure, variants, (0.08, 0.14, 0.55, 0.8), legend=(0.66, 0.9, 0.09))
        _draw_gaps(narrow, variants, (0.19, 0.5, 0.78, 0.47), legend=(0.05, 0.37, 0.055))
        return render(
            "batch-curves",
            figure,
            caption,
            alt,
            facts,
            shown={"n": ranks},
            tolerances=dict.fromkeys(gaps, GAP),
            narrow=narrow,
        )


def _draw_gaps(
    figure: Figure,
    variants: Mapping[str, Sequence[Step]],
    box: tuple[float, float, float, float],
    legend: tuple[float, float, float],
) -> None:
    """The curves in `box`, and their names from `(x, y)` on, `legend[2]` apart."""
    axes = figure.add_axes(box)
    x, y, below = legend
    for name in (name for name in _LINES if name in variants):
        colour, line, ledger = _LINES[name]
        axes.plot([s.parameter_gap for s in variants[name]], color=colour, ls=line, gid=ledger)
        sample = Line2D([x, x + 0.45 / figure.get_figwidth()], [y] * 2, color=colour, ls=line)
        figure.add_artist(sample)
        told = say(choose(name, _VARIANTS))
        figure.text(x + 0.55 / figure.get_figwidth(), y, told, color=colour, va="center")
        y -= below
    end = variants["adamw 32"][-1].parameter_gap
    told = say(Words("farthest: a key's bias", "最远：key 的偏置"))
    axes.text(len(variants["adamw 32"]) - 1, 4 * end, told, color=SERIES[0], ha="right")
    axes.set(yscale="log", xlabel=say(TRAINING_STEP), ylim=(None, 100 * end))
    axes.set_ylabel(say(Words("largest parameter difference", "参数的最大差")))
    axes.minorticks_off()


LR, EPS = FlatAdamW(1).lr, FlatAdamW(1).eps
_ULP = 2.0**-30  # half of float32's spacing from 1/64 to 1/32, where weights of 0.02 lie
_CELLS = 8  # to a decade, in which elements are drawn as one
_LEFT, _BOTTOM, _TOP = 1e-18, 1e-16, 1e-4


def key_biases(step: Mapping[str, Apart]) -> Apart:
    """Those of all layers in a row."""
    keys = [part for name, part in step.items() if name.endswith("bias.key")]
    return Apart(*(torch.cat([getattr(key, field) for key in keys]) for field in vars(keys[0])))


def farthest(step: Mapping[str, Apart]) -> str:
    """The name of the parameter with the element that is farthest off."""
    return max(step, key=lambda name: step[name].parameter_gap.max().item())


def batch_elements(step: Mapping[str, Apart], ranks: int) -> str:
    """Every element of the parameters: its gradient, and how far it is off after one update."""
    caption = Words(
        "Each of {n:,} parameters: its gradient, and how far one card and {ranks} are apart after "
        "the first update. Curves: lr·ε·Δg/(|g| + ε)².",
        "{n:,} 个参数，每个一点：横轴为梯度，纵轴为一张卡与 {ranks} 张卡在第一次更新后之差。"
        "曲线：lr·ε·Δg/(|g| + ε)²。",
    )
    alt = Words(
        "Every parameter as a point, its gradient across and its difference up. The {k} biases of "
        "the keys lie at gradients up to {key:.0e} and differ by up to {gap:.0e}. The others lie "
        "where it falls with the square of the gradient; the farthest differs by {top:.0e}.",
        "每个参数一点，横轴为梯度，纵轴为参数之差。{k} 个 key 偏置的梯度至多 {key:.0e}，"
        "相差至多 {gap:.0e}；其余的点落在差随梯度平方下降的一段上，最远的一点相差 {top:.0e}。",
    )
    keys, name = key_biases(step), farthest(step)
    sizes = [len(part.gradient) for part in step.values()]
    facts = {
        "n": sum(sizes),
        "ranks": ranks,
        "k": len(keys.gradient),
        "key": keys.gradient.max().item(),
        "gap": keys.parameter_gap.max().item(),
        "top": step[name].parameter_gap.max().item(),
    }
    cells = _cells(step)
    decades = [sum(1 for x, _ in cells if x // _CELLS == decade) for decade in range(-15, 1)]
    with canvas(11, 5.2) as figure, canvas(4, 5) as narrow:
        _draw_elements(figure, (0.08, 0.12, 0.9, 0.84), step, cells)
        _draw_elements(narrow, (0.19, 0.12, 0.78, 0.84), step, cells)
        return render(
            "batch-elements",
            figure,
            caption,
            alt,
            facts,
            shown=facts,
            tolerances=dict.fromkeys(("key", "gap", "top"), GAP) | {"decades": MACHINE},
            data={"decades": decades},
            narrow=narrow,
        )


def _cells(step: Mapping[str, Apart]) -> set[tuple[int, int]]:
    """Where elements lie, key biases apart, in steps of 1/`_CELLS` decade."""
    others = [part for name, part in step.items() if not name.endswith("bias.key")]
    found = set()
    for part in others:
        seen = (part.gradient > 0) & (part.parameter_gap > _BOTTOM)
        pair = torch.stack([part.gradient.double()[seen], part.parameter_gap.double()[seen]])
        found |= set(map(tuple, (pair.log10() * _CELLS).floor().int().T.tolist()))
    return found


def _draw_elements(
    figure: Figure,
    box: tuple[float, float, float, float],
    step: Mapping[str, Apart],
    cells: set[tuple[int, int]],
) -> None:
    axes = figure.add_axes(box)
    axes.set(xscale="log", yscale="log", xlim=(_LEFT, 1), ylim=(_BOTTOM, _TOP))
    gradients = torch.logspace(-18, 0, 181, dtype=torch.float64)
    for power, told in ((-14, "10⁻¹⁴"), (-12, "10⁻¹²"), (-10, "Δg = 10⁻¹⁰")):
        gap = LR * EPS * 10.0**power / (gradients + EPS) ** 2
        axes.plot(gradients.tolist(), gap.tolist(), color=INK, linewidth=1)
        axes.text(2 * _LEFT, gap[0].item() * 1.4, told, va="bottom", fontsize=9)
    axes.add_patch(PathPatch(_squares(cells), facecolor=FAINT, edgecolor="none"))
    keys, name = key_biases(step), farthest(step)
    axes.scatter(keys.gradient.tolist(), keys.parameter_gap.tolist(), s=9, color=SERIES[0])
    above = keys.parameter_gap.max().item() * 1.6
    told = say(Words("key biases", "key 的偏置"))
    axes.text(1e-12, above, told, color=SERIES[0], ha="center", va="bottom")
    axes.text(1e-4, 1e-9, say(Words("all others", "其余参数")), va="bottom")
    top = step[name].parameter_gap.argmax()
    x, y = (getattr(step[name], field)[top].item() for field in ("gradient", "parameter_gap"))
    axes.scatter([x], [y], s=30, facecolors="none", edgecolors=INK)
    away = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkB": 4}
    axes.annotate(short(name), (x, y), (0.5, 20 * y), arrowprops=away, ha="right", va="center")
    axes.axvline(EPS, color=FAINT, linewidth=1, ls=":")
    axes.text(EPS * 1.3, _TOP / 2, "|g| = ε", va="top")
    axes.axhline(_ULP, color=FAINT, linewidth=1, ls="--")
    told = say(Words("half an ulp of a weight", "权重的半个 ulp"))
    axes.text(2 * _LEFT, _ULP / 2, told, va="top")
    axes.set_xlabel(say(Words("|g|: gradient on one card", "|g|：单卡的梯度")))
    axes.set_ylabel(say(Words("difference after the first update", "第一次更新后的参数之差")))
    axes.minorticks_off()


def _squares(cells: set[tuple[int, int]]) -> Path:
    """One path of all cells; those beside each other in a row are one rectangle."""
    corners = []
    for x, y in sorted(cells):
        if (x - 1, y) in cells:
            continue
        end = x + 1
        while (end, y) in cells:
            end += 1
        left, right, low, high = (10 ** (i / _CELLS) for i in (x, end, y, y + 1))
        corners.append([(left, low), (right, low), (right, high), (left, high), (left, low)])
    return Path.make_compound_path(*(Path(rectangle, closed=True) for rectangle in corners))


def larger_weights(factor: float) -> Task:
    """The tiny model's task, its matrices multiplied before the start."""
    return replace(TINY_GPT, make_units=partial(_larger_units, factor))


def _larger_units(factor: float) -> list[nn.Module]:
    model = make_model()
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data.mul_(factor)
    return list(model.units)
