"""What a rank program says: one message out, one message in.

A rank program is a generator: one rank's view of an algorithm. It yields `Swap`s and is resumed
with what arrived. It never learns whether the other ranks are simulated, sets of names, bare
sizes, or real processes: an interpreter decides that (`simulate`, `prove`, `price`).
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .verdict import Verdict

GOALS = ("reduce_scatter", "all_gather", "all_reduce", "broadcast", "reduce")

RankProgram = Generator["Swap", Any, Any]


# --8<-- [start:swap]
@dataclass(slots=True)
class Swap:
    """Send `payload` to rank `to`, and wait for a message from rank `frm` that fits `like`.

    Either half may be left out. Both halves move at once, as a full-duplex link does: two ranks
    that swap with each other do not deadlock, two that send first and receive afterwards do.
    """

    payload: Any = None  # a chunk `x[c]`, or consecutive chunks `x[a:b]`
    to: int | None = None
    frm: int | None = None
    like: Any = None  # a chunk, or chunks, with the shape and dtype of what must arrive
    chunk: int | slice | None = None  # which chunk is sent, or which chunks, for the log
    phase: str = ""  # which part of the algorithm this is; both ends must say the same
    fill: bool = False  # what arrives replaces `like`, so a process may receive it in its place


# --8<-- [end:swap]


class CommError(RuntimeError):
    """Ranks that do not fit together.

    Attributes:
        verdict: what is wrong, as data, where there is more than a sentence.
    """

    def __init__(self, told: str | Verdict):
        super().__init__(str(told))
        self.verdict = told if isinstance(told, Verdict) else None


class ProtocolError(CommError):
    """A deadlock, a message nobody expects, or one that does not fit."""


class ProofError(CommError):
    """A program that breaks a rule, or ends without what it promises."""


def collective(
    goal: str,
    pieces: Callable[[int], int],
    holds: Callable[..., Any] = lambda rank, size: rank,
    root: int = 0,
) -> Callable[[Callable], Callable]:
    """Mark a rank program with what it promises and into how many chunks it cuts an array.

    Args:
        goal: one of `GOALS`.
        pieces: the number of chunks, given the number of ranks.
        holds: for an all-gather, which chunk a rank has at the start, or which chunks, given rank,
            size and the program's options; chunk r if nothing is said.
        root: for a broadcast, the rank that has everything at the start; for a reduce, at the end.

    Raises:
        ValueError: another goal.
    """

    if goal not in GOALS:
        raise ValueError(f"goal is {goal!r}; it must be one of {', '.join(GOALS)}")

    def mark(program: Callable) -> Callable:
        vars(program).update(goal=goal, pieces=pieces, holds=holds, root=root)
        return program

    return mark


def unbind(program: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The marked program behind `functools.partial`, and all its options."""
    while isinstance(program, partial) and not program.args:
        program, options = program.func, {**program.keywords, **options}
    return program, options


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
