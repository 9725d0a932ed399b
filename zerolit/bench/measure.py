"""How long things take: medians of alternating runs, and processes on their own."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from subprocess import DEVNULL

RUNS = 5


Call = Callable[[], object]


def medians(calls: Sequence[Call], ready: Callable[[], object] = lambda: None) -> list[float]:
    """The median seconds of each call, the calls taking turns; `ready` comes before each."""
    seconds: list[list[float]] = [[] for _ in calls]
    for run in range(RUNS + 1):
        for call, taken in zip(calls, seconds, strict=True):
            ready()
            start = time.perf_counter()
            call()
            if run:
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]


@dataclass(frozen=True)
class Alone:
    """How long a process ran, and the most memory that it had."""

    seconds: float
    megabytes: float


def run_alone(arguments: list[str]) -> Alone:
    """Run Python with `arguments` to its end.

    Raises:
        RuntimeError: it fails.
    """
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=DEVNULL, stderr=DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"python {' '.join(arguments)} ended with status {status}")
    return Alone(time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e6)
