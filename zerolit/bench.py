"""Benchmarks, as ratios measured in one run: absolute times say little about another machine."""

import statistics
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from zerolit.comm import ring_all_reduce

CASES = ((4, 100_000), (16, 1_000_000), (64, 1_000_000), (256, 1_000_000), (1024, 64_000))
RUNS = 5

Arrays = list[np.ndarray]


def print_ratios(console: Console) -> None:
    """Time the simulated ring beside a plain loop and beside a bare copy, for each of `CASES`.

    Medians of `RUNS` alternating runs after one that is not counted. All three get fresh copies
    of the same float32 arrays.
    """
    table = Table("ranks", "numbers", "simulator, ms", "× plain loop", "× copy of the same bytes")
    for ranks, length in CASES:
        with console.status(f"{ranks} ranks, {length:,} numbers"):
            ours, loop, copy = medians([ring_all_reduce, plain_loop, copy_bytes], ranks, length)
        cells = (f"{ours * 1e3:.1f}", f"{ours / loop:.2f}", f"{ours / copy:.2f}")
        table.add_row(str(ranks), f"{length:,}", *cells)
    console.print(table)


def medians(calls: list[Callable[[Arrays], object]], ranks: int, length: int) -> list[float]:
    """The median seconds of each call, the calls taking turns."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(length, dtype=np.float32) for _ in range(ranks)]
    seconds: list[list[float]] = [[] for _ in calls]
    for run in range(RUNS + 1):
        for call, taken in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call(arrays)
            if run:
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]


def plain_loop(arrays: Arrays) -> Arrays:
    """The ring as a double loop over lists of arrays that copies its messages; nothing else."""
    p = len(arrays)
    results = [array.copy() for array in arrays]
    x = [np.array_split(array, p) for array in results]
    for step in range(p - 1):
        sent = [x[rank][(rank - step) % p].copy() for rank in range(p)]
        for rank in range(p):
            x[(rank + 1) % p][(rank - step) % p] += sent[rank]
    for step in range(p - 1):
        sent = [x[rank][(rank + 1 - step) % p].copy() for rank in range(p)]
        for rank in range(p):
            x[(rank + 1) % p][(rank + 1 - step) % p][...] = sent[rank]
    return results


def copy_bytes(arrays: Arrays) -> None:
    """Copy as many bytes as the ring sends, 2(p-1)/p of each array, into one buffer."""
    p = len(arrays)
    part = arrays[0].size * (p - 1) // p
    buffer = np.empty(part, dtype=arrays[0].dtype)
    for array in [*arrays, *arrays]:
        np.copyto(buffer, array[:part])
