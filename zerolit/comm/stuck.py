"""When nothing can move: who waits for whom, and who did something else than was expected."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Half(NamedTuple):
    """One half of a swap: `rank` offers to `peer`, or waits for it, from `step` on."""

    rank: int
    peer: int
    sends: bool
    step: int
    message: tuple[int, int] | None  # the first and the last chunk that it offers, if it says so

    @property
    def hop(self) -> tuple[int, int]:
        """Sender and receiver."""
        return (self.rank, self.peer) if self.sends else (self.peer, self.rank)


class Blame(NamedTuple):
    """The first rank out of turn, in which step, and a hop of that step that never came.

    Attributes:
        rank: None where all ranks do the same, and so none is out of turn.
    """

    rank: int | None
    step: int
    hop: tuple[int, int]


class Standing(NamedTuple):
    """The ranks when nothing can move any more.

    Attributes:
        open: halves that still wait.
        late: halves that were answered, but not in the step in which they were offered.
        ended: ranks that have ended, each with the last step in which it took part.
    """

    open: Sequence[Half]
    late: Sequence[Half]
    ended: Mapping[int, int]

    def told(self) -> dict[str, Any]:
        """What a sentence says about it."""
        wants: dict[int, list] = {}
        for half in sorted(self.open, key=lambda half: (half.rank, not half.sends)):
            wants.setdefault(half.rank, []).append([half.sends, half.peer, half.message, half.step])
        return {"wants": list(map(list, wants.items())), "ended": sorted(self.ended)}


class Known:
    """What is known of the ranks' chunks when nothing can move; nothing, if nobody looks."""

    def content(self, rank: int) -> bool:
        """Whether a rank already holds all that it was promised."""
        return False

    def needless(self, half: Half) -> bool:
        """Whether the receiver already has what is offered, or who waits all that it needs."""
        return False


def blame(standing: Standing, known: Known) -> Blame:
    """Find the first rank that did something else than its neighbours expected."""
    circle = _follow(standing)
    return (
        out_of_turn(standing, circle, known)
        or (_closed(standing, circle, known) if len(circle) == 2 else None)
        or _ended_early(standing, known)
        or _misdirected(standing, circle)
        or _past_the_end(standing, known)
        or _closed(standing, circle, known)
    )


def _follow(standing: Standing) -> list[Half]:
    """From the half that has waited longest to the rank it names, and on.

    The circle at the end; nothing where the way ends at a rank that has ended.
    """
    half = min(standing.open, key=lambda half: (half.step, half.rank))
    path = [half]
    while half.peer not in [h.rank for h in path]:
        if half.peer in standing.ended:
            return []
        mine = [h for h in standing.open if h.rank == half.peer]
        half = min(mine, key=lambda h: (h.peer not in standing.ended, h.sends))
        path.append(half)
    return path[[h.rank for h in path].index(half.peer) :]


def out_of_turn(standing: Standing, circle: Sequence[Half], known: Known) -> Blame | None:
    """Of the ranks that were not answered in the first step that failed, the one most in demand.

    Who only offers may be waiting for its turn; so what counts is who was waited for, then who was
    offered something. Who wants something of a rank that ended too early has an excuse.
    """
    first = min(half.step for half in circle or standing.open)
    waited = {half.rank for half in standing.late if half.step == first and not half.sends}
    late = [half for half in standing.late if half.step == first and half.rank in waited]
    halves = [half for half in standing.open if half.step == first] + late
    suspects = _all(halves) & _all(circle or halves)
    suspects -= {half.rank for half in _left_alone(standing, known)}
    among = [half for half in halves if half.peer in suspects]
    if not among:
        return None
    waits, named = (Counter(h.peer for h in among if h.sends <= sends) for sends in (0, 1))
    rank = max(sorted(named), key=lambda rank: (waits[rank], named[rank]))
    mine = {half.peer for half in standing.open if half.rank == rank}
    naming = [h for h in standing.open if h.peer == rank and h.rank in mine]  # at odds with it
    half = min(naming or [h for h in among if h.peer == rank], key=lambda h: (h.step, h.sends))
    return Blame(None if _alike(standing) else rank, first, half.hop)


def _all(halves: Sequence[Half]) -> set[int]:
    return {half.rank for half in halves}


def _left_alone(standing: Standing, known: Known) -> list[Half]:
    """Halves that name a rank which has ended without all that it was promised."""
    ended = standing.ended
    return [h for h in standing.open if h.peer in ended and not known.content(h.peer)]


def _alike(standing: Standing) -> bool:
    """Whether every rank is stuck in the same way, so that none stands out."""
    ranks = _all(standing.open)
    named = Counter(half.peer for half in standing.open)
    ways = {
        tuple(sorted((h.sends, h.step) for h in standing.open if h.rank == rank)) for rank in ranks
    }
    return not standing.ended and len(ways) == 1 and len({named[rank] for rank in ranks}) == 1


def _ended_early(standing: Standing, known: Known) -> Blame | None:
    """A rank that has ended without all that it was promised, though another one wants it."""
    missed = _left_alone(standing, known)
    if not missed or all(known.content(half.rank) for half in standing.open):
        return None
    half = min(missed, key=lambda half: standing.ended[half.peer])
    return Blame(half.peer, standing.ended[half.peer] + 1, half.hop)


def _misdirected(standing: Standing, circle: Sequence[Half]) -> Blame | None:
    """A rank that offers to another than the one that waits for it."""
    waits = {half.rank: half.peer for half in standing.open if not half.sends}
    suspects = _all(circle or standing.open)
    lost = [
        half
        for half in standing.open
        if half.sends
        and half.rank in suspects
        and half.rank in waits.values()
        and waits.get(half.peer) != half.rank
    ]
    if not lost:
        return None
    half = min(lost, key=lambda half: half.step)
    return Blame(half.rank, half.step, half.hop)


def _past_the_end(standing: Standing, known: Known) -> Blame | None:
    """A rank that wants something of one that has ended, or one that ended before it was wanted."""
    late = [half for half in standing.open if half.peer in standing.ended]
    if not late:
        return None
    half = min(late, key=lambda half: half.step)
    offered = any(h.sends and h.peer == half.rank for h in standing.open)  # by another one
    if half.sends or offered or known.content(half.rank):
        return Blame(half.rank, half.step, half.hop)
    return Blame(half.peer, standing.ended[half.peer] + 1, half.hop)


def _closed(standing: Standing, circle: Sequence[Half], known: Known) -> Blame:
    """Ranks that wait for each other in a circle: who closed it, unless it was for no need."""
    named = Counter(half.peer for half in standing.open)
    last = max(circle, key=lambda half: (half.step, named[half.rank]))
    back = [half for half in circle if half.rank == last.peer and half.peer == last.rank]
    needless = any(known.needless(half) for half in back)
    alike = len(circle) == 2 and _alike(standing)
    rank = None if alike else last.peer if needless else last.rank
    return Blame(rank, last.step, last.hop)
