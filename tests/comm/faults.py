"""Rank programs as data, so that one thing at one place can be made wrong; and their films."""

from collections import Counter
from dataclasses import dataclass, replace

from zerolit.comm import Swap, collective, halving, ring, server, tree
from zerolit.comm.watch import Watch

PROGRAMS = {
    "ring": ring.all_reduce,
    "halving": halving.all_reduce,
    "tree": tree.all_reduce,
    "server": server.all_reduce,
}
ADDS = ("reduce-scatter", "reduce", "push")


@dataclass(frozen=True)
class Move:
    """One swap of one rank, and what becomes of the arrival."""

    send: int | slice | None
    to: int | None
    receive: int | slice | None
    frm: int | None
    adds: bool
    phase: str
    keeps: bool = True  # whether the arrival is stored at all
    waits: bool = False  # whether it is stored only after the next swap has been offered
    slot: int | slice | None = None  # where it is stored, if not where it belongs


class Mark:
    """Stands for a chunk, to see which one a program means."""

    def __init__(self, index):
        self.index = index

    def __iadd__(self, other):
        return self


class Marks:
    def __getitem__(self, index):
        return Mark(index)

    def __setitem__(self, index, value):
        pass


def moves(program, rank, size):
    """What one rank's program does, read off its swaps."""
    found, generator = [], program(rank, size, Marks())
    for swap in generator:
        send, receive = (x.index if x is not None else None for x in (swap.payload, swap.like))
        found.append(Move(send, swap.to, receive, swap.frm, swap.phase in ADDS, swap.phase))
    return found


def play(schedules, pieces):
    """The program that makes these moves."""

    @collective("all_reduce", pieces=lambda size: pieces)
    def program(rank, size, x):
        pending = None
        for move in schedules[rank]:
            payload = None if move.send is None else x[move.send]
            if pending and pending[0].waits:
                payload = None if payload is None else payload.copy()
            like = None if move.receive is None else x[move.receive]
            arrived = yield Swap(payload, move.to, move.frm, like, phase=move.phase)
            if pending:
                store(x, *pending)
            pending = (move, arrived)
            if not move.waits:
                store(x, *pending)
                pending = None
        if pending:
            store(x, *pending)

    return program


def store(x, move, arrived):
    if move.receive is None or not move.keeps:
        return
    slot = move.receive if move.slot is None else move.slot
    if move.adds:
        x[slot] += arrived
    else:
        x[slot] = arrived


def shifted(where, pieces):
    """The next chunk, or the next block of as many."""
    if isinstance(where, int):
        return (where + 1) % pieces
    length = where.stop - where.start
    first = (where.start + length) % pieces
    return slice(first, first + length)


def faults(hops, at, size, pieces):
    """All ways in which move `at` can be wrong, by name; a kind that it cannot have is None."""
    move = hops[at]
    sends, receives, several = move.to is not None, move.frm is not None, pieces > 1

    def changed(**how):
        return [*hops[:at], replace(move, **how), *hops[at + 1 :]]

    before = hops[at - 1] if at else None
    fresh = before is not None and before.receive is not None and sends
    others = {half: [r for r in range(size) if r != getattr(move, half)] for half in ("to", "frm")}
    return {
        "add or overwrite": [changed(adds=not move.adds)] if receives else None,
        "arrival ignored": [changed(keeps=False)] if receives else None,
        "wrong slot": [changed(slot=shifted(move.receive, pieces))]
        if receives and several
        else None,
        "wrong chunk": [changed(send=shifted(move.send, pieces))] if sends and several else None,
        "sent before adding": [[*hops[: at - 1], replace(before, waits=True), *hops[at:]]]
        if fresh
        else None,
        "wrong receiver": [changed(to=r) for r in others["to"]] if sends else None,
        "wrong sender": [changed(frm=r) for r in others["frm"]] if receives else None,
        "both neighbours exchanged": [changed(to=move.frm, frm=move.to)]
        if sends and receives and move.to != move.frm
        else None,
        "a step too few": [[*hops[:at], *hops[at + 1 :]]],
        "a step too many": [[*hops[: at + 1], *hops[at:]]],
    }


def film(program, size):
    """What moves in each step, and what each rank holds after it: a list, from step 0."""
    watch = Watch(program, size, {}, None)
    verdict = watch.run()
    frames = [(frozenset(), frozenset()) for _ in range(watch.step + 1)]
    for hop in watch.hops:
        hops, stores = frames[hop.step]
        frames[hop.step] = (hops | {hop[1:6]}, stores)
    held = {}
    for step, rank, chunk, *value in watch.stores:
        held[rank, chunk] = tuple(value)
        hops, stores = frames[step]
        frames[step] = (hops, stores | {(rank, chunk, *value)})
    return verdict, frames


def first_difference(right, wrong):
    """The first step in which two films part."""
    for step, (one, other) in enumerate(zip(right, wrong, strict=False)):
        if one != other:
            return step
    return None if len(right) == len(wrong) else min(len(right), len(wrong))


def first_harm(right, wrong, rank):
    """The first step that the right program could not have made as well, in whatever order.

    A server may take its workers in another order; that is no fault until a message moves that
    the right program does not send, or none moves any more.
    """
    left = Counter(hop for hops, _ in right for hop in hops)
    for step, (hops, _) in enumerate(wrong):
        left.subtract(hops)
        if any(left[hop] < 0 for hop in hops):
            return step
    own = [step for step, (hops, _) in enumerate(wrong) for hop in hops if rank in hop[:2]]
    return 1 + max(own, default=0)


def offered(program, size, rank, moves_before):
    """The step in which a rank can first make the swap that comes after these."""
    watch = Watch(program, size, {}, None)
    watch.run()
    own = sorted({hop[:3] for hop in watch.hops if rank in hop[1:3]})
    halves = sum((m.to is not None) + (m.frm is not None) for m in moves_before)
    return 1 + max((hop[0] for hop in own[:halves]), default=0)
