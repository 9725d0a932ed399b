"""Prove a collective for a given number of ranks: run it on who contributed, not on numbers.

A chunk becomes the multiset of the ranks whose share is in it. A sum that holds a rank twice, or
a finished array that lacks one, shows whatever the numbers are. (Values that carry their
provenance: srush/LLM-Training-Puzzles. A multiset here, not a set, so that counting twice fails.)
"""

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .lockstep import Transport, lock_step
from .swap import ProofError, Swap


class Share:
    """The part of chunk `chunk` that the `ranks` hold, each counted as often as it is in."""

    shape, dtype = (), "share"

    def __init__(self, chunk: int | None, ranks: Counter[int]):
        self.chunk, self.ranks = chunk, ranks

    def __add__(self, other: "Share") -> "Share":
        chunk = self.chunk if self.chunk == other.chunk else None  # None: chunks were mixed
        return Share(chunk, self.ranks + other.ranks)


@dataclass(frozen=True)
class Proof:
    """What was shown: the goal is reached on `size` ranks.

    Attributes:
        goal: what the program promises.
        size: the number of ranks.
        steps: how many steps it takes.
        sent: what each rank sends, as a share of the array: exact fractions.
        bound: the least that the busiest rank must send: (p-1)/p of the array for reduce-scatter
            and all-gather, 2(p-1)/p for all-reduce (Patarasuk & Yuan 2009).
    """

    goal: str
    size: int
    steps: int
    sent: tuple[Fraction, ...]
    bound: Fraction

    @property
    def optimal(self) -> bool:
        """Whether no rank sends more than the bound."""
        return max(self.sent) <= self.bound


def prove(program: Callable, size: int, **options: Any) -> Proof:
    """Show that `program` does what it promises on `size` ranks, whatever the numbers are.

    Args:
        program: a rank program marked by `collective`.
        size: the number of ranks.
        options: passed on to the program.

    Raises:
        ProofError: the goal is missed; names the first wrong hop.
        ProtocolError: the ranks do not fit together.
        ValueError: a size below 1.
    """
    if size < 1:
        raise ValueError(f"a proof for {size} ranks was asked for; size must be at least 1")
    states = _start(program, size, options)
    watch = _Watch(states)
    programs = [program(rank, size, states[rank], **options) for rank in range(size)]
    returned = lock_step(programs, watch)
    watch.check_goal(program.goal, returned)  # type: ignore[attr-defined]
    return watch.proof(program.goal)  # type: ignore[attr-defined]


def _start(program: Any, size: int, options: dict[str, Any]) -> list[list[Share]]:
    """What each rank holds at first: its own share of all chunks, or only the chunk it owns."""
    pieces = range(program.pieces(size))
    if program.goal != "all_gather":
        return [[Share(chunk, Counter([rank])) for chunk in pieces] for rank in range(size)]
    owner = options.get("owner", inspect.signature(program).parameters["owner"].default)
    return [
        [Share(chunk, Counter([rank] * (chunk == (rank + owner) % size))) for chunk in pieces]
        for rank in range(size)
    ]


class _Watch(Transport):
    """Follows every hop and stops at the first that counts a rank twice or loses one.

    A chunk on a rank only ever gains contributors, in every correct reduction and gather.
    """

    def __init__(self, states: list[list[Share]]):
        self.states, self.size, self.steps = states, len(states), 0
        self.seen = [list(state) for state in states]
        self.sent = [0] * self.size
        self.hops: dict[int, tuple[int, str]] = {}  # the last hop to each rank
        self.brought: dict[tuple[int, int], tuple[int, str]] = {}  # and to each of its chunks

    def carry(self, step: int, source: int, swap: Swap) -> Any:
        what = f"step {step}, rank {source} → rank {swap.to}, chunk {swap.payload.chunk}"
        self.hops[swap.to] = (step, what)
        self.sent[source] += 1
        self.steps = step
        return swap.payload

    def went_on(self, rank: int) -> None:
        for chunk, (before, now) in enumerate(zip(self.seen[rank], self.states[rank], strict=True)):
            if now is not before:
                self.brought[rank, chunk] = self.hops.get(rank, (0, "before any message"))
                self._check_gain(rank, chunk, before, now)
        self.seen[rank] = list(self.states[rank])

    def _check_gain(self, rank: int, chunk: int, before: Share, now: Share) -> None:
        twice = sorted(r for r, times in now.ranks.items() if times > 1)
        lost = sorted(before.ranks - now.ranks)
        if now.chunk != chunk:
            self._fail(rank, chunk, "another chunk was put into it")
        if twice:
            self._fail(rank, chunk, f"rank {_join(twice)} is in it twice")
        if lost:
            self._fail(rank, chunk, f"rank {_join(lost)} is no longer in it")

    def _fail(self, rank: int, chunk: int, why: str) -> None:
        hop = self.brought[rank, chunk][1]
        raise ProofError(f"first wrong hop: {hop}; on rank {rank}, chunk {chunk}: {why}")

    def check_goal(self, goal: str, returned: list[Any]) -> None:
        """Raise ProofError unless every rank ends with what `goal` says."""
        if goal == "reduce_scatter" and set(returned) != set(range(self.size)):
            raise ProofError(f"the ranks end owning chunks {returned}; each must own another one")
        lacking = []
        for rank, chunk in self._promised(goal, returned):
            missing = sorted(self._wanted(goal, chunk) - set(self.states[rank][chunk].ranks))
            if missing:
                step, hop = self.brought.get((rank, chunk), (0, "none came at all"))
                lacking.append((step, rank, chunk, hop, missing))
        if lacking:
            _, rank, chunk, hop, missing = min(lacking)
            why = f"rank {rank} ends with chunk {chunk} lacking rank {_join(missing)}"
            raise ProofError(f"first wrong hop: {hop}; {why}")

    def _promised(self, goal: str, returned: list[Any]) -> list[tuple[int, int]]:
        if goal == "reduce_scatter":
            return list(enumerate(returned))
        return [(rank, chunk) for rank, x in enumerate(self.states) for chunk in range(len(x))]

    def _wanted(self, goal: str, chunk: int) -> set[int]:
        if goal == "all_gather":  # the one rank that held the chunk at first
            return set().union(*(state[chunk].ranks for state in self.states))
        return set(range(self.size))

    def proof(self, goal: str) -> Proof:
        """The numbers of the finished run."""
        pieces = len(self.states[0])
        sent = tuple(Fraction(chunks, pieces) for chunks in self.sent)
        halves = 2 if goal == "all_reduce" else 1
        return Proof(
            goal, self.size, self.steps, sent, Fraction(halves * (self.size - 1), self.size)
        )


def _join(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks))
