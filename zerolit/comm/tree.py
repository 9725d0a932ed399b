"""The binomial tree: sums go down to rank 0 in log₂ p steps, and come back up.

Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.
Few steps, but whole arrays: for short messages. `x` has one chunk, the array.
"""

from .ring import Chunks
from .swap import RankProgram, Swap, collective


# --8<-- [start:tree]
@collective("all_reduce", pieces=lambda size: 1)
def all_reduce(rank: int, size: int, x: Chunks) -> RankProgram:
    """Rank r adds what r + 1, r + 2, r + 4, … bring, then hands its sum down.

    It goes to r less its lowest set bit; the way back is the same.
    """
    distance = 1
    while distance < size and not rank & distance:
        if rank + distance < size:
            x[0] += yield Swap(frm=rank + distance, like=x[0], phase="reduce")
        distance *= 2
    if rank:
        yield Swap(x[0], to=rank - distance, chunk=0, phase="reduce")
        x[0] = yield Swap(frm=rank - distance, like=x[0], phase="broadcast")
    while distance > 1:
        distance //= 2
        if rank + distance < size:
            yield Swap(x[0], to=rank + distance, chunk=0, phase="broadcast")


# --8<-- [end:tree]
