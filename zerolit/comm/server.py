"""The parameter server: rank 0 collects everything, adds it up and hands the sum back."""

from .ring import Chunks
from .swap import RankProgram, Swap, collective


# --8<-- [start:all_reduce]
@collective("all_reduce", pieces=lambda size: 1)
def all_reduce(rank: int, size: int, x: Chunks) -> RankProgram:
    """Sum on rank 0, whose one link carries 2(p-1)·n; the other ranks send n each."""
    if rank != 0:
        yield Swap(x[0], to=0, chunk=0, phase="push")
        x[0] = yield Swap(frm=0, like=x[0], phase="pull")
        return
    for worker in range(1, size):
        x[0] += yield Swap(frm=worker, like=x[0], phase="push")
    for worker in range(1, size):
        yield Swap(x[0], to=worker, chunk=0, phase="pull")


# --8<-- [end:all_reduce]
