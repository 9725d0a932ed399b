"""3.3: data parallelism beside one big batch, and how fast the two part."""

from collections.abc import Mapping, Sequence
from functools import cache, partial

from matplotlib.lines import Line2D

from zerolit import zero
from zerolit.press import MACHINE
from zerolit.zero import Step

from .figure import SERIES, canvas, render
from .runs import GAP, LOSS, THREADS
from .table import Column, Table
from .words import LOSS as LOSS_WORD
from .words import TRAINING_STEP, Words, choose, say

bigger_batch = cache(partial(zero.bigger_batch, threads=THREADS))
parted = partial(bigger_batch, gradients=())  # only how far the parameters are apart
noise_scale = cache(zero.noise_scale)

_SINGLE, _MEAN = Words("loss, 1 card", "损失，1 张卡"), Words("loss, {n} cards", "损失，{n} 张卡")


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
    "adamw 32 sums 64": ("the same, summed in float64", "同上，规约和更新用 float64"),
    "adamw 32 no bias": ("AdamW, float32, no q, k, v bias", "AdamW，float32，无 q、k、v 偏置"),
    "adamw 64": ("AdamW, float64", "AdamW，float64"),
    "sgd 32": ("SGD, float32", "SGD，float32"),
}
_LINES = {  # as they are drawn: colour and line
    "adamw 32": (SERIES[0], "-"),
    "adamw 32 sums 64": (SERIES[0], "--"),
    "adamw 32 no bias": (SERIES[1], "-"),
    "adamw 64": (SERIES[2], "-"),
    "sgd 32": (SERIES[3], "-"),
}


def leaders_table(variants: Mapping[str, Sequence[Step]], ranks: int) -> Table:
    """For each way of training: how far apart at the start and at the end, and what leads."""
    caption = Words(
        "How far {n} cards and one are apart, and which parameter is farthest.",
        "{n} 张卡与一张卡相差多少，差得最远的是哪个参数。",
    )
    columns = [
        Column("variant", "s", "training", "训练方式"),
        Column("gap first", ".1e", "after step 0", "第 0 步后", tolerance=GAP),
        Column("leads first", "s", "farthest at first", "起初差得最多的", tolerance=MACHINE),
        Column("gap last", ".1e", "after step {last}", "第 {last} 步后", tolerance=GAP),
        Column("leads last", "s", "farthest at the end", "最后差得最多的", tolerance=MACHINE),
    ]
    rows = []
    for name, steps in variants.items():
        ends = [part for s in (steps[0], steps[-1]) for part in (s.parameter_gap, _leader(s))]
        rows.append((choose(name, _VARIANTS), *ends))
    last = len(next(iter(variants.values()))) - 1
    return Table("batch-leaders", caption, columns, rows, {"n": ranks, "last": last})


def _leader(step: Step) -> str:
    return step.leader.removeprefix("units.").replace("attention.", "")


def batch_curves(variants: Mapping[str, Sequence[Step]], ranks: int) -> str:
    """Both loss curves, and the growth of the difference for each way of training."""
    caption = Words(
        "Left: both losses, one on top of the other. Right: how far the parameters are apart.",
        "左：两条损失曲线重合。右：参数相差多少。",
    )
    alt = Words(
        "Loss from {l0:.2f} to {l1:.2f} for one card and for {n}; the largest parameter difference "
        "goes from {d0:.0e} to {d1:.0e} with AdamW in float32 and from {e0:.0e} to {e1:.0e} in "
        "float64.",
        "1 张卡与 {n} 张卡的损失都从 {l0:.2f} 降到 {l1:.2f}；参数的最大差在 float32 的 "
        "AdamW 下从 {d0:.0e} 到 {d1:.0e}，在 float64 下从 {e0:.0e} 到 {e1:.0e}。",
    )
    steps = variants["adamw 32"]
    with canvas(11, 4.2) as figure:
        left = figure.add_axes((0.07, 0.14, 0.33, 0.8))
        left.plot([s.single_loss for s in steps], color=SERIES[0], linewidth=5, alpha=0.35)
        left.plot([s.mean_loss for s in steps], color=SERIES[1], linewidth=1.4)
        left.set(xlabel=say(TRAINING_STEP), ylabel=say(LOSS_WORD))
        for y, (words, colour) in enumerate(((_SINGLE, SERIES[0]), (_MEAN, SERIES[1]))):
            told, height = say(words, n=ranks), 0.92 - 0.09 * y
            left.text(0.4, height, told, color=colour, transform=left.transAxes)
        right = figure.add_axes((0.46, 0.14, 0.24, 0.8))
        for y, (name, ran) in enumerate(variants.items()):
            colour, line = _LINES[name]
            right.plot([s.parameter_gap for s in ran], color=colour, ls=line)
            where, height, told = right.transAxes, 0.95 - 0.09 * y, say(choose(name, _VARIANTS))
            sample = Line2D([1.04, 1.11], [height] * 2, color=colour, ls=line, transform=where)
            right.add_artist(sample).set_clip_on(False)
            right.text(1.14, height, told, color=colour, va="center", transform=where)
        right.set(yscale="log", xlabel=say(TRAINING_STEP))
        right.set_ylabel(say(Words("largest parameter difference", "参数的最大差")))
        right.minorticks_off()
        facts: dict[str, float] = {
            "n": ranks,
            "l0": steps[0].single_loss,
            "l1": steps[-1].single_loss,
        }
        for letter, ran in (("d", steps), ("e", variants["adamw 64"])):
            facts |= {f"{letter}0": ran[0].parameter_gap, f"{letter}1": ran[-1].parameter_gap}
        losses = ("l0", "l1", "line-0", "line-1")
        gaps = ["d0", "d1", "e0", "e1", *(f"line-{i + 2}" for i in range(len(variants)))]
        tolerances = dict.fromkeys(losses, LOSS) | dict.fromkeys(gaps, GAP)
        return render("batch-curves", figure, caption, alt, facts, tolerances=tolerances)
