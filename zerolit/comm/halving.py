"""Halving and doubling: partners at distance p/2, p/4, … exchange half of what they still have.

Rabenseifner, "Optimization of Collective Reduction Operations", 2004. As little traffic as a ring,
in 2·log₂ p messages a rank. p must be a power of two. Rank r ends the reduce-scatter with chunk r.
"""

from .ring import Chunks
from .swap import RankProgram, Swap, collective


# --8<-- [start:halving]
@collective("all_reduce", pieces=lambda size: size)
def all_reduce(rank: int, size: int, x: Chunks) -> RankProgram:
    """Keep the half with one's own chunk and add to it, until one is left; then back.

    Raises:
        ValueError: a number of ranks that is no power of two.
    """
    if size & (size - 1):
        raise ValueError(f"size is {size}; halving needs a power of two")
    distance = size // 2
    while distance:
        peer = rank ^ distance
        mine, theirs = _around(rank, distance), _around(peer, distance)
        x[mine] += yield Swap(x[theirs], peer, peer, x[mine], theirs, "reduce-scatter")
        distance //= 2
    distance = 1
    while distance < size:
        peer = rank ^ distance
        mine, theirs = _around(rank, distance), _around(peer, distance)
        x[theirs] = yield Swap(x[mine], peer, peer, x[theirs], mine, "all-gather")
        distance *= 2


def _around(rank: int, distance: int) -> slice:
    """The `distance` chunks among which a rank's own one is."""
    first = rank - rank % distance
    return slice(first, first + distance)


# --8<-- [end:halving]
