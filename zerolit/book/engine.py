"""The tables of the chapter on real processes: run for real while the page is built."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from matplotlib.patches import Patch
from torch import Tensor

from zerolit import engine
from zerolit.comm import CommLog
from zerolit.engine.faults import (
    FAULTS,
    WHERE,
    killed_and_restarted,
    what_the_launcher_says,
    what_the_others_see,
)
from zerolit.engine.stock import Trained, train
from zerolit.zero import STAGES, TINY_GPT, Run
from zerolit.zero.train import one_thread, share_out, step, task_worker

from .figure import SERIES, canvas, render
from .labels import label
from .ledger import rounding
from .page import current
from .table import Table
from .training import gap

Message = tuple[str, int, int]  # phase, to whom, elements

TIMEOUT = 30.0  # seconds that a rank may wait for another


@cache
def real(stage: int, size: int, steps: int, **recipe) -> Run:
    """Train on real processes; kept, so that the second language does not run them again."""
    return engine.train(stage, size, steps, timeout=TIMEOUT, **recipe)


@cache
def stock(which: str, size: int, steps: int) -> list[Trained]:
    """PyTorch's own on real processes, by its name in `zerolit.engine.stock.STOCK`."""
    return train(which, size, steps, timeout=TIMEOUT)


def agreement_table(rows: Mapping[str, tuple[Tensor, Tensor]], ranks: int, steps: int) -> Table:
    """What was compared, by its label, and how far it is apart."""
    columns = {"compared": "label", "apart": ".2g"}
    cells = [(name, gap(*pair)) for name, pair in rows.items()]
    tolerances = {"apart": rounding(30)}  # a 0 must stay 0
    return Table("real-agreement", columns, cells, {"n": ranks, "steps": steps}, tolerances)


def wire_table(theory: Mapping[str, float], ranks: int, steps: int) -> Table:
    """Bytes per rank and step over Ψ, in elements: by the paper, by gloo's algorithms, written.

    Raises:
        AssertionError: what processes wrote is not what the algorithms say, plus up to 2 % headers.
    """
    columns = {
        "training": "label",
        "theory": "g",
        "wire": ".3f",
        "written": ".2f",
        "at rest": ".3f",
    }
    rows = []
    for name, expected in theory.items():
        ran = stock(name, ranks, steps)
        by_algorithm, written = _sent(ran)
        assert written is None or 1 <= written / by_algorithm < 1.02, (name, by_algorithm, written)
        rows.append((f"stock {name}", expected, by_algorithm, written, _held(ran)))
    return Table("real-wire", columns, rows, {"n": ranks}, {"written": "rel 0.005"})


def _sent(ran: Sequence[Trained]) -> tuple[float, float | None]:
    """What a rank sent in a step, over Ψ: by gloo's algorithms; and what it wrote to its sockets.

    Both are means over the ranks: DDP broadcasts its buckets' order from rank 0.
    """
    whole = len(ran) * ran[0].parameters.nbytes
    called = sum(call.sent for rank in ran for call in rank.calls) / whole
    counts = [rank.written for rank in ran if rank.written is not None]
    return called, sum(counts) / whole if counts else None


def _held(ran: Sequence[Trained]) -> float:
    """What the fullest rank stores at rest, over Ψ."""
    return max(rank.stored.total() for rank in ran) / len(ran[0].parameters)


def stock_table(which: str, ran: Sequence[Trained]) -> Table:
    """One run of PyTorch's own: losses, sent and stored."""
    columns = {
        "training": "label",
        "first loss": ".6f",
        "last loss": ".6f",
        "wire": ".3f",
        "written": ".2f",
        "at rest": ".3f",
    }
    losses = [sum(rank.losses[i] for rank in ran) for i in (0, -1)]
    psi = len(ran[0].parameters)
    facts = {"n": len(ran), "steps": len(ran[0].losses), "psi": f"{psi:,}"}
    return Table("stock", columns, [(f"stock {which}", *losses, *_sent(ran), _held(ran))], facts)


# One step, message by message


@cache
def real_order(stage: int, size: int) -> list[list[Message]]:
    """What each process sent in a step, in its own order: (phase, to, elements)."""
    ranks = engine.trace(stage, size, timeout=TIMEOUT)
    return [[(e.phase, e.to, e.elements) for e in exchanges] for exchanges in ranks]


def simulated_order(stage: int, size: int) -> list[list[Message]]:
    """The same of the simulator's ranks."""
    log, workers = CommLog(size), [task_worker(TINY_GPT, stage, r, size) for r in range(size)]
    with one_thread():
        ((x, y),) = TINY_GPT.draw_batches(1, 32)
        step(STAGES[stage], workers, share_out(x, y, size, 1), log)
    return [
        [(m.phase, m.destination, m.elements) for m in log.messages if m.source == rank]
        for rank in range(size)
    ]


def order_figure(real: Sequence[Sequence[Message]], simulated: Sequence[Sequence[Message]]) -> str:
    """Each rank's messages in its order, by phase: on a process, and below it on the simulator."""
    say, phases = current().language, list(dict.fromkeys(m[0] for m in simulated[0]))
    colours = dict(zip(phases, SERIES, strict=False))
    with canvas(10, 0.75 * len(real) + 1.1) as figure:
        ax = figure.add_axes((0.12, 0.17, 0.72, 0.8))
        for rank, pair in enumerate(zip(real, simulated, strict=True)):
            for half, messages in enumerate(pair):
                paint = [colours[phase] for phase, *_ in messages]
                height, alpha = (0.42, 1.0) if half == 0 else (0.28, 0.45)
                y = -rank - 0.37 * half
                ax.barh([y] * len(paint), 0.85, height, range(len(paint)), color=paint, alpha=alpha)
        ax.set_yticks([-rank - 0.1 for rank in range(len(real))])
        ax.set_yticklabels([label("rank", say, n=rank) for rank in range(len(real))])
        ax.set_xlabel(label("message", say))
        handles = [
            Patch(color=colours[phase], label=label(f"phase {phase}", say)) for phase in phases
        ]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        facts = {"n": len(real), "messages": sum(map(len, real))}
        data = {f"rank-{rank}": [m[2] for m in messages] for rank, messages in enumerate(real)}
        return render("real-order", figure, facts, facts, data=data)


def trace_table(stage: int, size: int) -> Table:
    """A step on real processes: runs of messages of one phase and length, with measured times."""
    ranks = engine.trace(stage, size)
    columns = {"phase": "label", "messages": "d", "elements each": ",d"}
    columns |= {f"ms {word}": ".2f" for word in ("began", "first ended", "last ended")}
    rows = []
    for same in zip(*map(_runs, ranks), strict=True):
        messages = [exchange for run in same for exchange in run]
        ended = [run[-1].ended for run in same]
        times = (min(e.began for e in messages), min(ended), max(ended))
        counts = (len(messages), max(e.elements for e in messages))
        rows.append((f"phase {messages[0].phase}", *counts, *(1e3 * seconds for seconds in times)))
    return Table("trace", columns, rows, {"n": size, "stage": stage})


def _runs(exchanges: Sequence[engine.Exchange]) -> list[list[engine.Exchange]]:
    """A rank's messages, those together that follow each other in one phase, about as long."""
    runs: list[list[engine.Exchange]] = []
    for e in exchanges:
        last = runs[-1][-1] if runs else None
        if last is None or last.phase != e.phase or abs(last.elements - e.elements) > 1:
            runs.append([])
        runs[-1].append(e)
    return runs


# Faults


@cache
def _fault(fault: str) -> tuple[str | None, str]:
    return what_the_others_see(fault), what_the_launcher_says(fault, timeout=2)


def faults_table() -> Table:
    """Every fault, injected: what another rank sees, and the launcher's words."""
    rows = []
    for fault in FAULTS:
        seen, told = _fault(fault)
        rows.append((f"fault {fault}", f"seen {seen}", told))
    return Table("faults", {"fault": "label", "seen": "label", "told": "sentence"}, rows)


_restarted = cache(killed_and_restarted)


def restart_table(whole: Run) -> Table:
    """Rank 1 killed at every place of a step, and a restart beside a run that was never stopped."""
    rows = []
    for where in WHERE:
        told, run = _restarted(where)
        rows.append((f"where {where}", told, gap(run.parameters, whole.parameters)))
    columns = {"killed in": "label", "told": "sentence", "restart apart": "g"}
    return Table("restarts", columns, rows, tolerances={"restart apart": "exact"})


# A model of one's own

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


@cache
def run_example(name: str) -> list[float]:
    """Run a program of `docs/examples` in a process of its own; the numbers that it prints.

    Raises:
        RuntimeError, TimeoutExpired: it fails, or takes more than a minute.
    """
    command = [sys.executable, str(EXAMPLES / name)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if ran.returncode:
        raise RuntimeError(f"{name} exited with {ran.returncode}: {ran.stderr.strip()}")
    return [float(word) for word in ran.stdout.split()]


# At scale

at_scale = cache(engine.at_scale)


def scale_table(ranks: Sequence[int], layers: int, width: int) -> Table:
    """FSDP2 on ranks that do not exist: stored and sent by one, beside 4Ψ/p and 3(p-1)/p·Ψ.

    Raises:
        AssertionError: what is stored or sent is not the formula's, padding counted.
    """
    columns = {
        "ranks": "d",
        "stored": ".6f",
        "4/p": ".6f",
        "sent": ".4f",
        "3(p-1)/p": ".4f",
        "padding": ".1%",
    }
    rows = []
    for p in ranks:
        seen = at_scale(p, layers, width)
        padding = seen.padded / seen.parameters
        assert seen.stored == 4 * seen.padded // p, seen
        assert seen.sent == 3 * (p - 1) * (seen.padded // p), seen
        psi = seen.parameters
        theory = (4 / p, 3 * (p - 1) / p)
        rows.append((p, seen.stored / psi, theory[0], seen.sent / psi, theory[1], padding - 1))
    return Table("real-scale", columns, rows, {"psi": f"{psi / 1e6:,.0f}"})
