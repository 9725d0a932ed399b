"""What a rank program says: one message out, one message in.

A rank program is a generator: one rank's view of an algorithm. It yields `Swap`s and is resumed
with what arrived. It never learns whether the other ranks are simulated, multisets of names, bare
sizes, or real processes: an interpreter decides that (`simulate`, `prove`, `price`).
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

NOBODY = -1
GOALS = ("reduce_scatter", "all_gather", "all_reduce")

RankProgram = Generator["Swap", Any, Any]


# --8<-- [start:swap]
@dataclass(slots=True)
class Swap:
    """Send `payload` to rank `to`, and wait for a message from rank `frm` that fits `like`.

    Either half may be left out. Both halves move at once, as a full-duplex link does: two ranks
    that swap with each other do not deadlock, two that send first and receive afterwards do.
    """

    payload: Any = None
    to: int = NOBODY
    frm: int = NOBODY
    like: Any = None  # a chunk with the shape and dtype of what must arrive
    chunk: int | None = None  # which chunk is sent, for the log
    phase: str = ""  # which part of the algorithm this is; both ends must say the same
    fill: bool = False  # what arrives replaces `like`, so a process may receive it in its place


# --8<-- [end:swap]


class CommError(RuntimeError):
    """Ranks that do not fit together."""


class ProtocolError(CommError):
    """A deadlock, a message nobody expects, or one that does not fit."""


class ProofError(CommError):
    """A collective that ends without what it promises."""


def collective(goal: str, pieces: Callable[[int], int]) -> Callable[[Callable], Callable]:
    """Mark a rank program with what it promises and into how many chunks it cuts an array.

    Args:
        goal: `"reduce_scatter"`, `"all_gather"` or `"all_reduce"`.
        pieces: the number of chunks, given the number of ranks.

    Raises:
        ValueError: another goal.
    """

    if goal not in GOALS:
        raise ValueError(f"goal is {goal!r}; it must be one of {', '.join(GOALS)}")

    def mark(program: Callable) -> Callable:
        program.goal, program.pieces = goal, pieces  # type: ignore[attr-defined]
        return program

    return mark


def in_phase(name: str, program: RankProgram) -> RankProgram:
    """Run `program` with its messages logged under `name`: what they move, not how."""

    def rename(swap: Swap) -> None:
        swap.phase = name

    return tap(program, rename)


def tap(program: RankProgram, look: Callable[[Swap], None]) -> RankProgram:
    """Run `program`, calling `look` with each of its swaps before it is yielded."""
    arrived = None
    while True:
        try:
            swap = program.send(arrived)
        except StopIteration as end:
            return end.value
        look(swap)
        arrived = yield swap
