"""The tables of the chapter on real processes: run for real while the page is built."""

from collections.abc import Mapping, Sequence
from functools import cache

from torch import Tensor

from zerolit import engine
from zerolit.engine.faults import FAULTS, what_the_launcher_says
from zerolit.engine.stock import Trained, run
from zerolit.zero import Run

from .table import Table
from .training import gap

TIMEOUT = 30.0  # seconds that a rank may wait for another


@cache
def real(stage: int, size: int, steps: int, **recipe) -> Run:
    """Train on real processes; kept, so that the second language does not run them again."""
    return engine.train(stage, size, steps, timeout=TIMEOUT, **recipe)


@cache
def stock(which: str, size: int, steps: int) -> list[Trained]:
    """PyTorch's own on real processes, by its name in `zerolit.engine.stock.STOCK`."""
    return engine.launch(run, size, which, steps, timeout=TIMEOUT)


def agreement_table(rows: Mapping[str, tuple[Tensor, Tensor]], ranks: int, steps: int) -> Table:
    """What was compared, by its label, and how far it is apart."""
    columns = {"compared": "label", "apart": "g"}
    cells = [(name, gap(*pair)) for name, pair in rows.items()]
    tolerances = {"apart": "exact"}
    return Table("real-agreement", columns, cells, {"n": ranks, "steps": steps}, tolerances)


def wire_table(theory: Mapping[str, float], ranks: int, steps: int) -> Table:
    """Bytes per rank and step over Ψ, in elements: the paper's number, and what gloo's calls send.

    Raises:
        AssertionError: ranks that do not send alike.
    """
    columns = {"training": "label", "theory": "g", "wire": ".3f", "at rest": ".3f"}
    rows = []
    for name, expected in theory.items():
        ran = stock(name, ranks, steps)
        psi, bytes_each = len(ran[0].parameters), ran[0].parameters.element_size()
        sent = {sum(call.sent for call in rank.calls) for rank in ran}
        assert len(sent) == 1, (name, sent)
        held = max(rank.stored.total() for rank in ran) / psi
        rows.append((f"stock {name}", expected, sent.pop() / bytes_each / psi, held))
    return Table("real-wire", columns, rows, {"n": ranks})


@cache
def _fault(fault: str) -> str:
    return what_the_launcher_says(fault)


def faults_table() -> Table:
    """Every fault, injected, and the launcher's sentence."""
    rows = [(f"fault {fault}", _fault(fault)) for fault in FAULTS]
    return Table("real-faults", {"fault": "label", "told": "s"}, rows)


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
