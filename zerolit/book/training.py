"""Tables and drawings of the chapters on training: 3.3 and 3.4.

Runs are kept while the process lives, so that the second language does not train again.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache, partial

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from torch import Tensor

from zerolit import zero
from zerolit.zero import Run, Step
from zerolit.zero.memory import KINDS

from .figure import FAINT, SERIES, canvas, render
from .labels import label
from .ledger import MACHINE, rounding
from .page import current
from .table import Table

THREADS = (os.cpu_count() or 1) + 1  # compute at once, so that no core idles; same bits
train = cache(partial(zero.train, threads=THREADS))
bigger_batch = cache(partial(zero.bigger_batch, threads=THREADS))
noise_scale = cache(zero.noise_scale)

COLOURS = dict(zip(KINDS, SERIES, strict=True))
AT_REST = KINDS[:3]
VARIANTS = {  # of 3.3, as they are drawn: colour and line
    "adamw 32": (SERIES[0], "-"),
    "adamw 32 sums 64": (SERIES[0], "--"),
    "adamw 32 no bias": (SERIES[1], "-"),
    "adamw 64": (SERIES[2], "-"),
    "sgd 32": (SERIES[3], "-"),
}
STORED = ("4", "2 + 2/p", "1 + 3/p", "4/p")  # in Ψ, in the order of the stages
SENT = ("2(p−1)/p", "2(p−1)/p", "2(p−1)/p", "3(p−1)/p")
SMALL_TRAFFIC = {"tokens", "loss", "norm"}


def stored_formula(stage: int, ranks: int) -> float:
    """Elements stored per card, ÷ Ψ: the ZeRO paper's §3 with 2 for m and v, all of one dtype."""
    return (4, 2 + 2 / ranks, 1 + 3 / ranks, 4 / ranks)[stage]


def sent_formula(stage: int, ranks: int, accumulate: int = 1) -> float:
    """Elements sent per card and step, ÷ Ψ (§7; each reduction once for every micro-batch)."""
    halves = (2, 2, accumulate + 1, 3 * accumulate)[stage]
    return halves * (ranks - 1) / ranks


def gap(one: Tensor, other: Tensor) -> float:
    """The largest difference of two vectors; 0 means: the same bits."""
    return (one - other).abs().max().item()


def sent(run: Run) -> int:
    """What the busiest card sent in a step, without the few numbers of loss, tokens and norm."""
    return max(
        sum(n for phase, n in counts.items() if phase not in SMALL_TRAFFIC) for counts in run.sent
    )


# 3.3

# Another processor adds up in another order, as another number of cards does. What that does to a
# loss is in the table itself, below 1e-6; this leaves room for a hundred times as much. A
# difference of two runs is rounding, magnified: its size is reproducible, its value is not.
LOSS, GAP = "rel 0.0001", rounding(30)


def batch_table(steps: Sequence[Step], shown: Sequence[int], ranks: int) -> Table:
    """Some steps of data parallelism beside one big batch."""
    columns = {
        "training step": "d",
        "gradient gap": ".1e",
        "single loss": ".6f",
        "mean loss": ".6f",
        "parameter gap": ".1e",
    }
    rows = []
    for i in shown:
        step = steps[i]
        gaps = (step.gradient_gap, step.single_loss, step.mean_loss, step.parameter_gap)
        rows.append((i, *gaps))
    tolerances = dict.fromkeys(("single loss", "mean loss"), LOSS)
    tolerances.update(dict.fromkeys(("gradient gap", "parameter gap"), GAP))
    return Table("batch-steps", columns, rows, {"n": ranks}, tolerances)


def leaders_table(variants: Mapping[str, Sequence[Step]], ranks: int) -> Table:
    """For each way of training: how far apart at the start and at the end, and what leads."""
    columns = {
        "variant": "label",
        "gap first": ".1e",
        "leads first": "s",
        "gap last": ".1e",
        "leads last": "s",
    }
    rows = [
        (
            name,
            steps[0].parameter_gap,
            _leader(steps[0]),
            steps[-1].parameter_gap,
            _leader(steps[-1]),
        )
        for name, steps in variants.items()
    ]
    last = len(next(iter(variants.values()))) - 1
    tolerances = dict.fromkeys(("gap first", "gap last"), GAP)
    tolerances.update(dict.fromkeys(("leads first", "leads last"), MACHINE))
    return Table("batch-leaders", columns, rows, {"n": ranks, "last": last}, tolerances)


def _leader(step: Step) -> str:
    return step.leader.removeprefix("units.").replace("attention.", "")


def batch_curves(variants: Mapping[str, Sequence[Step]], ranks: int) -> str:
    """Both loss curves, and the growth of the difference for each way of training."""
    say, steps = current().language, variants["adamw 32"]
    with canvas(11, 4.2) as figure:
        left = figure.add_axes((0.07, 0.14, 0.33, 0.8))
        left.plot([s.single_loss for s in steps], color=SERIES[0], linewidth=5, alpha=0.35)
        left.plot([s.mean_loss for s in steps], color=SERIES[1], linewidth=1.4)
        left.set(xlabel=label("training step", say), ylabel=label("loss", say))
        for y, (key, colour) in enumerate((("single loss", SERIES[0]), ("mean loss", SERIES[1]))):
            words = label(key, say, n=ranks)
            left.text(0.4, 0.92 - 0.09 * y, words, color=colour, transform=left.transAxes)
        right = figure.add_axes((0.46, 0.14, 0.24, 0.8))
        for y, (name, told) in enumerate(variants.items()):
            colour, line = VARIANTS[name]
            right.plot([s.parameter_gap for s in told], color=colour, ls=line)
            where, height = right.transAxes, 0.95 - 0.09 * y
            sample = Line2D([1.04, 1.11], [height] * 2, color=colour, ls=line, transform=where)
            right.add_artist(sample).set_clip_on(False)
            right.text(1.14, height, label(name, say), color=colour, va="center", transform=where)
        right.set(yscale="log", xlabel=label("training step", say))
        right.set_ylabel(label("largest difference", say))
        right.minorticks_off()
        double = variants["adamw 64"]
        facts: dict[str, float] = {
            "n": ranks,
            "l0": steps[0].single_loss,
            "l1": steps[-1].single_loss,
        }
        for letter, told in (("d", steps), ("e", double)):
            facts |= {f"{letter}0": told[0].parameter_gap, f"{letter}1": told[-1].parameter_gap}
        losses = ("l0", "l1", "line-0", "line-1")
        gaps = ["d0", "d1", "e0", "e1", *(f"line-{i + 2}" for i in range(len(variants)))]
        tolerances = dict.fromkeys(losses, LOSS) | dict.fromkeys(gaps, GAP)
        return render("batch-curves", figure, facts, tolerances=tolerances)


# 3.4


def stages_table(runs: Mapping[int, Run], ranks: int) -> Table:
    """The stages beside stage 0, if it is there; stored and sent, counted beside the formula.

    Raises:
        AssertionError: a count and its formula, on the padded length, part.
    """
    first = next(iter(runs.values()))
    psi = len(first.parameters)
    columns = {
        "stage": "label",
        "differs": ".1f",
        "stored": "g",
        "stored formula": "s",
        "sent": "g",
        "sent formula": "s",
        "peak": ".3f",
    }
    rows = []
    for stage, run in runs.items():
        stored = max(kinds.total() for kinds in run.stored)
        assert stored == round(stored_formula(stage, ranks) * run.padded), (stage, stored)
        assert sent(run) == round(sent_formula(stage, ranks) * run.padded), (stage, sent(run))
        differs = gap(run.parameters, runs[0].parameters) if 0 in runs else None
        peak = max(kinds.total() for kinds in run.peaks) / psi
        counts = (stored / psi, STORED[stage], sent(run) / psi, SENT[stage], peak)
        rows.append((f"stage {stage}", differs, *counts))
    facts = {"n": ranks, "steps": len(first.losses), "psi": f"{psi:,}"}
    return Table("zero-stages", columns, rows, facts)


def accumulation_table(once: Sequence[Run], more: Sequence[Run], ranks: int) -> Table:
    """Traffic with one and with four micro-batches per step."""
    unit = len(once[0].parameters) * (ranks - 1) / ranks
    columns = {"stage": "label", "G 1": "g", "G 4": "g", "G formula": "s"}
    formulas = ("2", "2", "G + 1", "3G")
    for runs, times in ((once, 1), (more, 4)):
        for stage, run in enumerate(runs):
            assert sent(run) == round(sent_formula(stage, ranks, times) * run.padded), stage
    rows = [
        (f"stage {stage}", sent(one) / unit, sent(four) / unit, formula)
        for stage, (one, four, formula) in enumerate(zip(once, more, formulas, strict=True))
    ]
    return Table("zero-accumulation", columns, rows, {"n": ranks})


def stored_bars(runs: Sequence[Run], ranks: int) -> str:
    """What a card stores after the update, by kind, for each stage."""
    say, psi = current().language, len(runs[0].parameters)
    with canvas(9, 3.4) as figure:
        ax = figure.add_axes((0.15, 0.17, 0.6, 0.8))
        for stage, run in enumerate(runs):
            left = 0.0
            for kind in AT_REST:
                width = run.stored[0][kind] / psi
                ax.barh(stage, width, left=left, color=COLOURS[kind], height=0.62)
                left += width
            ax.text(left + 0.06, stage, f"{left:g}", va="center")
        ax.set_yticks(range(4), [label(f"stage {stage}", say) for stage in range(4)])
        ax.set(ylim=(3.5, -0.5), xlim=(0, 4.4), xlabel=label("elements over psi", say))
        _kinds(ax, AT_REST)
        totals = ", ".join(f"{run.stored[0].total() / psi:g}" for run in runs)
        data = {kind: [run.stored[0][kind] / psi for run in runs] for kind in AT_REST}
        return render("zero-stored", figure, {"totals": totals}, {"n": ranks}, data=data)


def _kinds(ax: Axes, kinds: Sequence[str]) -> None:
    for y, kind in enumerate(kinds):
        words = label(kind, current().language)
        ax.text(1.04, 0.95 - 0.1 * y, words, color=COLOURS[kind], transform=ax.transAxes, va="top")


def moments_figure(runs: Sequence[Run]) -> str:
    """What card 0 holds through one step, stacked by kind, for each stage."""
    say, psi = current().language, len(runs[0].parameters)
    with canvas(10, 5.4) as figure:
        grid = figure.subplots(2, 2, sharey=True, gridspec_kw={"wspace": 0.1, "hspace": 0.36})
        figure.subplots_adjust(left=0.08, right=0.8, top=0.93, bottom=0.1)
        for stage, (ax, run) in enumerate(zip(grid.flat, runs, strict=True)):
            held = [now for _, now in run.moments[0]]
            series = [[now[kind] / psi for now in held] for kind in KINDS]
            ax.stackplot(range(len(held)), series, colors=list(COLOURS.values()), step="post")
            ax.set_title(label(f"stage {stage}", say), fontsize=11)
            ax.set(xticks=[], ylim=(0, 4.3))
            ax.grid(True, axis="y", color=FAINT)
        for ax in grid[:, 0]:
            ax.set_ylabel(label("elements over psi", say))
        for ax in grid[1]:
            ax.set_xlabel(label("moments", say))
        _kinds(grid[0, 1], KINDS)
        peaks = ", ".join(f"{run.peaks[0].total() / psi:.2f}" for run in runs)
        data = {
            f"stage-{stage}": [now.total() for _, now in run.moments[0]]
            for stage, run in enumerate(runs)
        }
        return render("zero-moments", figure, {"peaks": peaks}, data=data)


def ranks_figure(runs: Mapping[int, Sequence[Run]], last: int = 64) -> str:
    """Stored per card against the number of cards: formulas as lines, counts as dots."""
    say = current().language
    ranks = [2**k for k in range(last.bit_length())]
    with canvas(9, 4) as figure:
        ax = figure.add_axes((0.09, 0.15, 0.7, 0.8))
        for stage, colour in enumerate(SERIES):
            line = [stored_formula(stage, p) for p in ranks]
            counted = [r[stage].stored[0].total() / len(r[stage].parameters) for r in runs.values()]
            assert counted == [stored_formula(stage, p) for p in runs], stage
            ax.plot(ranks, line, color=colour)
            ax.plot(list(runs), counted, "o", color=colour)
            words = label(f"stage {stage}", say)
            ax.text(ranks[-1] * 1.1, line[-1], words, color=colour, va="center")
        ax.set(xscale="log", ylim=(0, 4.3), xlabel=label("number of cards", say))
        ax.set_ylabel(label("elements over psi", say))
        ax.set_xticks(ranks, [str(p) for p in ranks])
        ax.minorticks_off()
        ax.grid(True)
        totals = ", ".join(f"{stored_formula(stage, last):.2f}" for stage in range(4))
        return render("zero-ranks", figure, {"first": 1, "last": last, "totals": totals})
