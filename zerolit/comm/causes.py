"""Where a program that misses its goal first went wrong: from what was noted on the way."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .chunks import parts
from .shares import MIXED, bits, line_at
from .verdict import Verdict

if TYPE_CHECKING:
    from .watch import Watch


class Hop(NamedTuple):
    """One chunk on its way: who is in it, and where the receiver's program stood."""

    step: int
    source: int
    destination: int
    chunk: int
    ranks: int
    twice: int
    stand: Any


class Event(NamedTuple):
    """Something that no plain collective does; what it did to the outcome shows at the end."""

    step: int
    order: int  # of events in one step
    kind: str
    rank: int
    hop: tuple[int, int] | None
    chunk: int  # where it was put
    ranks: int
    stand: Any
    brought: int = MIXED  # which chunk the hop brought


EARLY, STORED, DROPPED = 0, 1, 2  # in this order things go wrong in a step


def missed(watch: "Watch", misses: Sequence[tuple[int, int]]) -> Verdict:
    """The first thing that went wrong and matters for what is missing at the end."""
    events = [*watch.events, *_dropped(watch)]
    lacking, double, mixed = _lacking(watch, misses)
    relevant = [
        event
        for event in events
        if (event.kind == "mixed" and (event.chunk in mixed or event.brought in lacking))
        or (event.kind in ("twice", "junk") and event.ranks & double.get(event.chunk, 0))
        or (event.order != STORED and event.ranks & lacking.get(event.chunk, 0))
        or (event.kind == "lost" and event.ranks & lacking.get(event.chunk, 0))
    ]
    if relevant:
        first = min(relevant, key=lambda event: event[:2])
        if first.kind in ("early", "lost", "dropped"):
            first = first._replace(ranks=first.ranks & lacking[first.chunk])
        return _told(watch, first)
    return _never(watch, *misses[0])


def unfit(watch: "Watch", verdict: Verdict) -> Verdict:
    """Ranks that do not fit, unless a wrong sum came first."""
    spoilt = [e for e in watch.events if e.kind in ("mixed", "twice", "junk")]
    first = min(spoilt, default=None, key=lambda e: e[:2])
    if first and first.step < (verdict.step or 0):
        return _told(watch, first)
    for earlier in (_untaken(watch, verdict), _poor(watch, verdict)):
        if earlier and earlier.step < verdict.step:  # type: ignore[operator]
            return earlier
    if verdict.rank is None:
        return verdict
    return replace(verdict, line=line_at(watch.guests[verdict.rank].stand))


def _dropped(watch: "Watch") -> list[Event]:
    """Deliveries that were neither stored nor sent on, alone or in a sum."""
    return [
        Event(h.step, DROPPED, "dropped", h.destination, h[1:3], h.chunk, h.ranks, h.stand)
        for number, h in enumerate(watch.hops)
        if number not in watch.used
    ]


def _lacking(watch: "Watch", misses: Sequence[tuple[int, int]]) -> tuple[dict, dict, set]:
    """By chunk, which ranks are missing at the end, which are in it wrongly; what is mixed."""
    lacking: dict[int, int] = {}
    double: dict[int, int] = {}
    mixed: set[int] = set()
    for rank, chunk in misses:
        which, ranks, twice, _ = watch.value(rank, chunk)
        if which != chunk:
            mixed.add(chunk)
        if missing := watch.wanted(chunk) & ~ranks:
            lacking[chunk] = lacking.get(chunk, 0) | missing
        double[chunk] = double.get(chunk, 0) | twice | (ranks & watch.nobody)
    return lacking, double, mixed


def _told(watch: "Watch", event: Event) -> Verdict:
    what = {"ranks": bits(event.ranks & ~watch.nobody)}
    step, rank, chunk, line = event.step, event.rank, event.chunk, line_at(event.stand)
    return Verdict(event.kind, watch.size, rank, step, event.hop, chunk, what, line)


def _never(watch: "Watch", rank: int, chunk: int) -> Verdict:
    """A rank that ends before it has all, though it did nothing wrong with what came."""
    missing = watch.wanted(chunk) & ~watch.value(rank, chunk)[1]
    around = [(rank - back) % watch.size for back in range(1, watch.size)]
    holders = [r for r in around if watch.value(r, chunk)[1] & missing == missing]
    partly = [r for r in around if watch.value(r, chunk)[1] & missing]
    source = next(iter(holders + partly), None)
    hop = None if source is None else (source, rank)
    last = watch.guests[rank].ended or 0
    what = {"ranks": bits(missing & ~watch.nobody), "last": last}
    return Verdict("never", watch.size, rank, last + 1, hop, chunk, what)


def _untaken(watch: "Watch", verdict: Verdict) -> Verdict | None:
    """A message that left while its sender could have had more: it was offered, never taken."""
    offers = [
        (rank, peer, step, part._value)
        for rank, wants in verdict.what.get("wants", ())
        for sends, peer, _, step in wants
        if sends
        for part in parts(watch.guests[rank].swap.payload)
    ]
    hops = watch.hops
    early = [
        (hop, offer[0], offer[3][1])
        for offer in offers
        for hop in hops
        if hop[1] == offer[1] and hop.chunk == offer[3][0] and hop.step >= offer[2]
        if offer[3][1] & ~hop.ranks and hop.destination != offer[0]
    ]
    if not early:
        return None
    hop, source, ranks = min(early, key=lambda found: found[0].step)
    what = {"ranks": bits(ranks & ~hop.ranks & ~watch.nobody), "other": source}
    step, rank, line = hop.step, hop.source, line_at(watch.guests[hop.source].stand)
    return Verdict("untaken", watch.size, rank, step, hop[1:3], hop.chunk, what, line)


def _poor(watch: "Watch", verdict: Verdict) -> Verdict | None:
    """The last message from the rank that is to blame to one that ended with too little."""
    wanted = {peer for _, wants in verdict.what.get("wants", ()) for _, peer, *_ in wants}
    promised = [] if watch.goal == "reduce_scatter" else watch.promised([])
    last = {
        (hop.destination, hop.chunk): hop
        for hop in watch.hops
        if hop.source == verdict.rank
        and hop.destination not in wanted
        and watch.guests[hop.destination].ended is not None
        and (hop.destination, hop.chunk) in promised
        and not watch.finished(hop.destination, hop.chunk)
    }
    if not last:
        return None
    hop = min(last.values(), key=lambda hop: hop.step)
    missing = watch.wanted(hop.chunk) & ~watch.value(hop.destination, hop.chunk)[1]
    what, line = {"ranks": bits(missing), "last": hop.destination}, line_at(hop.stand)
    return Verdict("poor", watch.size, hop.source, hop.step, hop[1:3], hop.chunk, what, line)
