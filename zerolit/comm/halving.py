"""Halving and doubling: partners at distance p/2, p/4, … exchange half of what they still have.

Rabenseifner, "Optimization of Collective Reduction Operations", 2004. As little traffic as a ring,
in 2·log₂ p rounds; a round's half is sent chunk by chunk here. p must be a power of two. Rank r
ends the reduce-scatter with chunk r.
"""

from .ring import Chunks
from .swap import RankProgram, Swap, collective


# --8<-- [start:halving]
@collective("all_reduce", pieces=lambda size: size)
def all_reduce(rank: int, size: int, x: Chunks) -> RankProgram:
    """Keep the half with one's own chunk and add to it, until one is left; then the way back.

    Raises:
        ValueError: a number of ranks that is no power of two.
    """
    if size & (size - 1):
        raise ValueError(f"size is {size}; halving needs a power of two")
    distance = size // 2
    while distance:
        peer = rank ^ distance
        for mine, theirs in _halves(rank, peer, distance):
            x[mine] += yield Swap(x[theirs], peer, peer, x[mine], theirs, "reduce-scatter")
        distance //= 2
    distance = 1
    while distance < size:
        peer = rank ^ distance
        for mine, theirs in _halves(rank, peer, distance):
            x[theirs] = yield Swap(x[mine], peer, peer, x[theirs], mine, "all-gather")
        distance *= 2


def _halves(rank: int, peer: int, distance: int) -> zip:
    """The chunks that a rank keeps, and those that its partner does, pair by pair."""
    first, other = (r - r % distance for r in (rank, peer))
    return zip(range(first, first + distance), range(other, other + distance), strict=True)


# --8<-- [end:halving]
