"""The ring: every rank talks to its two neighbours only.

Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
`x` is the list of the rank's `size` chunks; both collectives work in place. With the defaults this
is the textbook ring: messages move to the right, and rank r ends the reduce-scatter owning chunk
(r + 1) mod p. gloo's ring moves to the left (`direction=-1`) and leaves chunk r with rank r
(`owner=0`); the order of summation, and with it the last bits, depends on both.
"""

from typing import Any, Protocol

from .swap import RankProgram, Swap, collective


class Chunks(Protocol):
    """A rank's chunks: they can be read and assigned, one at a time."""

    def __getitem__(self, index: int, /) -> Any: ...

    def __setitem__(self, index: int, value: Any, /) -> None: ...


# --8<-- [start:reduce_scatter]
@collective("reduce_scatter", pieces=lambda size: size)
def reduce_scatter(
    rank: int, size: int, x: Chunks, direction: int = 1, owner: int = 1
) -> RankProgram:
    """Sum every chunk over the ranks; rank r ends owning the sum of chunk (r + owner) mod p."""
    to, frm = (rank + direction) % size, (rank - direction) % size
    for step in range(1, size):
        send = (rank + owner - direction * step) % size
        receive = (send - direction) % size
        x[receive] += yield Swap(x[send], to, frm, x[receive], send, "reduce-scatter")
    return (rank + owner) % size


# --8<-- [end:reduce_scatter]


# --8<-- [start:all_gather]
@collective("all_gather", pieces=lambda size: size)
def all_gather(rank: int, size: int, x: Chunks, direction: int = 1, owner: int = 1) -> RankProgram:
    """Pass the finished chunks round; rank r starts with chunk (r + owner) mod p, ends with all."""
    to, frm = (rank + direction) % size, (rank - direction) % size
    for step in range(1, size):
        send = (rank + owner - direction * (step - 1)) % size
        receive = (send - direction) % size
        x[receive] = yield Swap(x[send], to, frm, x[receive], send, "all-gather", fill=True)


# --8<-- [end:all_gather]


# --8<-- [start:all_reduce]
@collective("all_reduce", pieces=lambda size: size)
def all_reduce(rank: int, size: int, x: Chunks, direction: int = 1, owner: int = 1) -> RankProgram:
    """Sum every chunk over the ranks, and give every rank all the sums."""
    yield from reduce_scatter(rank, size, x, direction, owner)  # (p-1)/p · n sent
    yield from all_gather(rank, size, x, direction, owner)  # (p-1)/p · n sent


# --8<-- [end:all_reduce]
