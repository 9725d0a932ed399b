"""Run rank programs together, in steps.

In one step a rank sends at most one message and receives at most one. A message moves when its
sender offers it and its receiver waits for it; a rank goes on when both halves of its swap are
done. What a message *is* (an array, a set of names, a size) is the business of the `Transport`.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .chunks import parts
from .log import chunks_of
from .shares import told
from .stuck import Half, Known, Standing, blame, out_of_turn
from .swap import ProtocolError, RankProgram, Swap
from .verdict import Verdict


class Transport(Known):
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
    while True:
        for rank, swap in zip(ready, each(ranks.advance, ready), strict=True):
            ranks.post(rank, swap)
        if not ranks.sending and not ranks.waiting:
            return [ranks.results[rank] for rank in range(len(ranks.programs))]
        ready = ranks.exchange()


def check_swap(swap: Any, rank: int, size: int, step: int) -> None:
    """Refuse what is no swap, and one that names no other rank, or one that does not exist.

    Raises:
        ProtocolError: rank -1, too: who forgets `% size` would talk to nobody, or to the last.
    """
    if not isinstance(swap, Swap):
        raise ProtocolError(Verdict("no_swap", size, rank, step, what={"got": told(swap)}))
    if swap.to is None and swap.frm is None:
        raise ProtocolError(Verdict("empty", size, rank, step))
    for peer in (swap.to, swap.frm):
        if peer is None:
            continue
        if not hasattr(peer, "__index__") or not 0 <= peer < size:
            raise ProtocolError(Verdict("no_rank", size, rank, step, what={"peer": repr(peer)}))
        if peer == rank:
            raise ProtocolError(Verdict("itself", size, rank, step))


class _Ranks:
    """Which halves of its swap each rank still has open, what arrived, and who has finished."""

    def __init__(self, programs: Sequence[RankProgram], transport: Transport):
        self.programs, self.transport, self.step = programs, transport, 0
        self.sending: dict[int, Swap] = {}
        self.waiting: dict[int, Swap] = {}
        self.posted: dict[int, int] = {}  # the step from which on a rank's swap is open
        self.late: list[Half] = []
        self.inbox: dict[int, Any] = {}
        self.results: dict[int, Any] = {}
        self.ended: dict[int, int] = {}  # the last step of those that have ended

    def advance(self, rank: int) -> Any:
        """Hand the rank what arrived; return what it wants next."""
        try:
            return self.programs[rank].send(self.inbox.pop(rank, None))
        except StopIteration as end:
            self.results[rank], self.ended[rank] = end.value, self.step
            return None

    def post(self, rank: int, swap: Any) -> None:
        """Note what the rank wants, if it has not ended."""
        self.transport.went_on(rank)
        if rank in self.ended:
            return
        check_swap(swap, rank, len(self.programs), self.step + 1)
        self.posted[rank] = self.step + 1
        if swap.to is not None:
            self.sending[rank] = swap
        if swap.frm is not None:
            self.waiting[rank] = swap

    def exchange(self) -> list[int]:
        """Move every message that can move; return the ranks that can go on."""
        sending, waiting, carry = self.sending, self.waiting, self.transport.carry
        self.step = step = self.step + 1
        moving = [
            (source, swap, receiver)
            for source, swap in sending.items()
            if (receiver := waiting.get(swap.to)) is not None and receiver.frm == source  # type: ignore[arg-type]
        ]
        if not moving:
            raise ProtocolError(self._stuck())
        # All messages of a step are carried before any rank goes on and changes its chunks.
        for source, swap, wanted in moving:
            to: int = swap.to  # type: ignore[assignment]
            if not _fits(swap, wanted):
                raise ProtocolError(self._misfit(source, swap, wanted))
            del sending[source], waiting[to]
            self.inbox[to] = carry(step, source, swap)
        if sending or waiting:
            self.late += [half for half in self._open() if half.step == step]
        busy = sending.keys() | waiting.keys() | self.results.keys()
        return [rank for rank in range(len(self.programs)) if rank not in busy]

    def _open(self) -> list[Half]:
        offers = [
            Half(rank, swap.to, True, self.posted[rank], _what(swap))  # type: ignore[arg-type]
            for rank, swap in self.sending.items()
        ]
        waits = [
            Half(rank, swap.frm, False, self.posted[rank], None)  # type: ignore[arg-type]
            for rank, swap in self.waiting.items()
        ]
        return offers + waits

    def _standing(self) -> Standing:
        return Standing(self._open(), self.late, self.ended)

    def _stuck(self) -> Verdict:
        size, standing = len(self.programs), self._standing()
        rank, step, hop = blame(standing, self.transport)
        what = standing.told() | {"moved": self.step - 1}
        return Verdict("stuck", size, rank, step, hop, what=what)

    def _misfit(self, source: int, swap: Swap, wanted: Swap) -> Verdict:
        what = {
            "message": _what(swap),
            "sent": _kind(swap.payload, swap.phase),
            "expected": _kind(wanted.like, wanted.phase),
            "misfit": (self.step, source, swap.to),
        }
        to: int = swap.to  # type: ignore[assignment]
        rank: int | None = source
        step, hop = self.step, (source, to)
        if min(self.posted[source], self.posted[to]) < step:  # one of them was to meet another
            rank, step, hop = out_of_turn(self._standing(), (), Known()) or (source, step, hop)
        return Verdict("misfit", len(self.programs), rank, step, hop, what=what)


def _fits(swap: Swap, wanted: Swap) -> bool:
    payload, like = swap.payload, wanted.like
    return (
        payload.shape == like.shape and payload.dtype == like.dtype and swap.phase == wanted.phase
    )


def _kind(x: Any, phase: str) -> dict[str, Any]:
    return {
        "shape": str(tuple(x.shape)),
        "dtype": str(x.dtype),
        "parts": len(list(parts(x))),
        "phase": phase,
    }


def _what(swap: Swap) -> tuple[int, int] | None:
    chunk = chunks_of(swap)
    if isinstance(chunk, range):
        return chunk[0], chunk[-1]
    return None if chunk is None else (chunk, chunk)
