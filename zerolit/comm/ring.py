"""The ring: every rank talks to its two neighbours only.

Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
`x` is the list of the rank's `size` chunks; both collectives work in place. This is the textbook
ring: messages move to the right, and rank r ends the reduce-scatter owning chunk (r + 1) mod p.
`turnable` gives the programs two options: gloo's ring moves to the left (`direction=-1`) and leaves
chunk r with rank r (`owner=0`). The order of summation, and with it the last bits, depends on both.
"""

from typing import Any, Protocol

from .rename import turnable
from .swap import RankProgram, Swap, collective


class Chunks(Protocol):
    """A rank's chunks: they can be read and assigned, one at a time or several in a row."""

    def __getitem__(self, index: Any, /) -> Any: ...

    def __setitem__(self, index: Any, value: Any, /) -> None: ...


# --8<-- [start:reduce_scatter]
@collective("reduce_scatter", pieces=lambda size: size)
@turnable
def reduce_scatter(rank: int, size: int, x: Chunks) -> RankProgram:
    """Sum each chunk over the ranks; rank r ends owning chunk (r + 1) mod p."""
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(1, size):
        send, receive = (rank - step + 1) % size, (rank - step) % size
        swap = Swap(x[send], right, left, x[receive], send, "reduce-scatter")
        x[receive] += yield swap
    return right  # the number of the chunk that is finished here, too


# --8<-- [end:reduce_scatter]


def owned(rank: int, size: int, direction: int = 1, owner: int = 1) -> int:
    """The chunk that a rank has finished between the two halves of the all-reduce."""
    return (rank + owner) % size


# --8<-- [start:all_gather]
@collective("all_gather", pieces=lambda size: size, holds=owned)
@turnable
def all_gather(rank: int, size: int, x: Chunks) -> RankProgram:
    """Pass the finished chunks round; rank r starts with chunk (r + 1) mod p."""
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(1, size):
        send, receive = (rank - step + 2) % size, (rank - step + 1) % size
        swap = Swap(x[send], right, left, x[receive], send, "all-gather", fill=True)
        x[receive] = yield swap


# --8<-- [end:all_gather]


# --8<-- [start:all_reduce]
@collective("all_reduce", pieces=lambda size: size)
@turnable
def all_reduce(rank: int, size: int, x: Chunks) -> RankProgram:
    """Sum every chunk over the ranks, and give every rank all the sums."""
    yield from reduce_scatter(rank, size, x)  # (p-1)/p · n sent
    yield from all_gather(rank, size, x)  # (p-1)/p · n sent


# --8<-- [end:all_reduce]
