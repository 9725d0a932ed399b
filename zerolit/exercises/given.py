"""What an exercise on tensors may use: the ring's collectives on a rank's vector.

Each is a rank program: call it by `yield from`.
"""

from torch import Tensor

from zerolit.comm import Chunks, RankProgram, ring


def cut(flat: Tensor, size: int) -> Chunks:
    """The ranks' slices of a vector `[n]`, as views; they differ by one element at most."""
    return Chunks(flat.tensor_split(size))


def reduce_scatter(rank: int, size: int, flat: Tensor) -> RankProgram:
    """Sum a vector `[n]` over the ranks; returns this rank's slice, finished, a view of `flat`.

    The rest of `flat` then holds partial sums. (p-1)/p · n sent.
    """
    slices = cut(flat, size)
    yield from ring.reduce_scatter(rank, size, slices, owner=0)
    return slices[rank]


def all_gather(rank: int, size: int, flat: Tensor) -> RankProgram:
    """Fill a vector `[n]` with every rank's slice, in place. (p-1)/p · n sent."""
    yield from ring.all_gather(rank, size, cut(flat, size), owner=0)


def all_reduce(rank: int, size: int, flat: Tensor) -> RankProgram:
    """Sum a vector `[n]` over the ranks, in place. 2(p-1)/p · n sent."""
    yield from ring.all_reduce(rank, size, cut(flat, size))
