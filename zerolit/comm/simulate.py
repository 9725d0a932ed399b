"""Run a rank program on real data: every rank's arrays, in one process."""

from collections.abc import Callable, Sequence
from typing import Any

from .chunks import copied
from .lockstep import Transport, lock_step
from .log import CommLog
from .swap import Swap


def simulate(
    program: Callable,
    states: Sequence[Any],
    log: CommLog | None = None,
    threads: int = 1,
    **options: Any,
) -> list[Any]:
    """Run `program(rank, size, states[rank], **options)` for every rank, in lock step.

    Args:
        program: a rank program, such as `zerolit.comm.ring.all_reduce`.
        states: what each rank starts with; for the collectives a `Chunks` of its array. The
            program works on it in place. Chunks are numpy arrays or torch tensors.
        log: where every message is entered.
        threads: how many ranks compute at once; what they compute does not depend on it.
        options: passed on to the program.

    Returns:
        What each rank's program returned, in rank order.

    Raises:
        ProtocolError: ranks that deadlock or do not fit together.
        ValueError: no ranks or threads, or a log for another number of ranks.
    """
    size = len(states)
    if size == 0:
        raise ValueError("no ranks were given; at least 1 is needed")
    if threads < 1:
        raise ValueError(f"threads is {threads}; it must be at least 1")
    if log is not None and log.size != size:
        raise ValueError(f"the log is for {log.size} ranks, but {size} were given; they must agree")
    programs = [program(rank, size, state, **options) for rank, state in enumerate(states)]
    return lock_step(programs, Wire(log), threads)


class Wire(Transport):
    """Copies each message, as a wire does: what is in flight no longer changes."""

    def __init__(self, log: CommLog | None):
        self.log = log
        self.steps_before = log.steps if log else 0

    def carry(self, step: int, source: int, swap: Swap) -> Any:
        if self.log is not None:
            self.log.add(self.steps_before + step, source, swap)
        return copied(swap.payload)
