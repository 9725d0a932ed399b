"""Run rank programs together, in steps.

In one step a rank sends at most one message and receives at most one. A message moves when its
sender offers it and its receiver waits for it; a rank goes on when both halves of its swap are
done. What a message *is* (an array, a multiset, a size) is the business of the `Transport`.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .swap import NOBODY, ProtocolError, RankProgram, Swap


class Transport:
    """What happens to a message on its way. This plain one hands over the very object."""

    def carry(self, step: int, source: int, swap: Swap) -> Any:
        """Return what arrives at rank `swap.to`; `step` counts from 1."""
        return swap.payload

    def went_on(self, rank: int) -> None:
        """Hear that `rank` has used what arrived and stands at its next swap, or at its end."""


def lock_step(programs: Sequence[RankProgram], transport: Transport, threads: int = 1) -> list[Any]:
    """Run one program per rank to its end; return what each returned, in rank order.

    With several `threads`, as many ranks compute at once between two exchanges.

    Raises:
        ProtocolError: a deadlock, a message nobody expects, or one that does not fit. It names
            the ranks and what each waits for.
    """
    if threads == 1:
        return _run(_Ranks(programs, transport), map)
    with ThreadPoolExecutor(threads) as pool:
        return _run(_Ranks(programs, transport), pool.map)


def _run(ranks: "_Ranks", each: Callable) -> list[Any]:
    """Let all ranks compute, then move what they send, until all have finished."""
    ready: Iterable[int] = range(len(ranks.programs))
    step = 0
    while True:
        for rank, swap in zip(ready, each(ranks.advance, ready), strict=True):
            ranks.post(rank, swap)
        if not ranks.sending and not ranks.waiting:
            return [ranks.results[rank] for rank in range(len(ranks.programs))]
        step += 1
        ready = ranks.exchange(step)


class _Ranks:
    """Which halves of its swap each rank still has open, what arrived, and who has finished."""

    def __init__(self, programs: Sequence[RankProgram], transport: Transport):
        self.programs, self.transport = programs, transport
        self.sending: dict[int, Swap] = {}
        self.waiting: dict[int, Swap] = {}
        self.inbox: dict[int, Any] = {}
        self.results: dict[int, Any] = {}

    def advance(self, rank: int) -> Swap | None:
        """Hand the rank what arrived; return what it wants next, or None at its end."""
        try:
            return self.programs[rank].send(self.inbox.pop(rank, None))
        except StopIteration as end:
            self.results[rank] = end.value
            return None

    def post(self, rank: int, swap: Swap | None) -> None:
        """Note what the rank wants."""
        self.transport.went_on(rank)
        if swap is None:
            return
        to, frm, size = swap.to, swap.frm, len(self.programs)
        if not (NOBODY <= to < size and NOBODY <= frm < size):
            peer = frm if NOBODY <= to < size else to
            raise ProtocolError(f"rank {rank} names rank {peer}, but ranks are 0 to {size - 1}")
        if to == frm == NOBODY:
            raise ProtocolError(f"rank {rank} yields a swap that neither sends nor receives")
        if to != NOBODY:
            self.sending[rank] = swap
        if frm != NOBODY:
            self.waiting[rank] = swap

    def exchange(self, step: int) -> list[int]:
        """Move every message that can move; return the ranks that can go on."""
        sending, waiting, carry = self.sending, self.waiting, self.transport.carry
        moving = [
            (source, swap)
            for source, swap in sending.items()
            if (receiver := waiting.get(swap.to)) is not None and receiver.frm == source
        ]
        if not moving:
            raise ProtocolError(self._stuck(step))
        # All messages of a step are carried before any rank goes on and changes its chunks.
        for source, swap in moving:
            wanted = waiting.pop(swap.to)
            if _sent(swap) != _expected(wanted):
                raise ProtocolError(_misfit(step, source, swap, wanted))
            del sending[source]
            self.inbox[swap.to] = carry(step, source, swap)
        busy = sending.keys() | waiting.keys() | self.results.keys()
        return [rank for rank in range(len(self.programs)) if rank not in busy]

    def _stuck(self, step: int) -> str:
        wants = {rank: self._wants(rank) for rank in range(len(self.programs))}
        told = "; ".join(f"rank {rank} {want}" for rank, want in wants.items() if want)
        done = sorted(self.results)
        finished = f"; finished: rank {', '.join(map(str, done))}" if done else ""
        return f"nothing can move in step {step}: {told}{finished}"

    def _wants(self, rank: int) -> str:
        wants = []
        if rank in self.sending:
            swap = self.sending[rank]
            wants.append(f"offers {_what(swap)} to rank {swap.to}")
        if rank in self.waiting:
            wants.append(f"waits for rank {self.waiting[rank].frm}")
        return " and ".join(wants)


def _sent(swap: Swap) -> tuple:
    return tuple(swap.payload.shape), swap.payload.dtype, swap.phase


def _expected(swap: Swap) -> tuple:
    return tuple(swap.like.shape), swap.like.dtype, swap.phase


def _misfit(step: int, source: int, swap: Swap, wanted: Swap) -> str:
    (shape, dtype, phase), (fits, kind, other) = _sent(swap), _expected(wanted)
    in_phase, in_other = (f" in phase {p!r}" if phase != other else "" for p in (phase, other))
    return (
        f"step {step}: rank {source} sends {_what(swap)} of {shape} {dtype}{in_phase} "
        f"to rank {swap.to}, which expects {fits} {kind}{in_other}"
    )


def _what(swap: Swap) -> str:
    return "a message" if swap.chunk is None else f"chunk {swap.chunk}"
