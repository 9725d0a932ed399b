"""The tables that both a page and a terminal show."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from zerolit.comm import CommLog, Proof, parameter_server_all_reduce, ring_all_reduce
from zerolit.plan import Training

from .table import Table


def hops_table(log: CommLog, length: int) -> Table:
    """Every hop of a logged ring on arrays of `length`: who sends what to whom, and when."""
    columns = {"step": "d", "phase": "label", "from": "d", "to": "d", "chunk": "d", "values": "s"}
    rows = [
        (m.step, m.phase, m.source, m.destination, m.chunk, _values(m.values, m.elements))
        for m in log.messages
    ]
    return Table("ring-hops", columns, rows, {"p": log.size, "n": length})


def _values(values: tuple | None, elements: int) -> str:
    return f"{elements} ×" if values is None else " ".join(map(str, values))


def proofs_table(proofs: dict[str, Sequence[Proof]]) -> Table:
    """What was proved: for each program the numbers of cards, and the busiest card's traffic."""
    columns = {
        "goal": "label",
        "proved for": "s",
        "sent share": "s",
        "bound share": "s",
        "reached": "label",
    }
    rows = []
    for name, proved in proofs.items():
        four = next(proof for proof in proved if proof.size == 4)
        optimal = "yes" if all(proof.optimal for proof in proved) else "no"
        sizes = f"{proved[0].size} … {proved[-1].size}"
        rows.append((name, sizes, _share(max(four.sent)), _share(four.bound), optimal))
    return Table("ring-proofs", columns, rows)


def _share(share: Fraction) -> str:
    return f"{share} · n"


def traffic_table(length: int, ranks: Sequence[int]) -> Table:
    """Elements counted on the wire, ring beside parameter server."""
    columns = {
        "ranks": "d",
        "ring sends": ",d",
        "ring steps": "d",
        "server 0": ",d",
        "server others": ",d",
    }
    rows = []
    for p in ranks:
        ring, server = CommLog(p), CommLog(p)
        arrays = [np.ones(length, dtype=np.float32)] * p
        ring_all_reduce(arrays, ring)
        parameter_server_all_reduce(arrays, server)
        rows.append(
            (p, max(ring.sent), ring.steps, server.sent[0] + server.received[0], server.sent[-1])
        )
    return Table("traffic-counted", columns, rows, {"n": length})


def time_table(training: Training, ranks: Sequence[int]) -> Table:
    """One training step: compute, ring, server, and the efficiency for three overlaps."""
    columns = {
        "ranks": "d",
        "tokens per card": ",.0f",
        "compute": ".3f",
        "ring": ".3f",
        "server": ",.1f",
        "no overlap": ".0%",
        "backward overlap": ".0%",
        "perfect overlap": ".0%",
    }
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
    return Table("traffic-time", columns, rows, facts)


def bus_table(rows: Sequence[tuple[str, int, int, float]], bandwidth: float) -> Table:
    """algbw and busbw: rows of where a time comes from, cards, bytes and seconds.

    `bandwidth` is that of the model's links, in bytes/s.

    algbw = S/t; busbw = algbw · 2(p-1)/p for an all-reduce (nccl-tests, PERFORMANCE.md).
    """
    columns = {
        "source": "label",
        "ranks": "d",
        "bytes": ",d",
        "time us": ",.0f",
        "algbw": ".2f",
        "busbw": ".2f",
    }
    cells = []
    for source, p, nbytes, seconds in rows:
        algbw = nbytes / seconds / 1e9
        cells.append((source, p, nbytes, seconds * 1e6, algbw, algbw * 2 * (p - 1) / p))
    return Table("traffic-busbw", columns, cells, {"bandwidth": f"{bandwidth / 1e9:g}"})
