"""The everyday calls: lists of arrays in, lists of arrays out, one per rank.

Inputs are never changed. The dtype is kept, so an integer may overflow and a float16 round, as it
would on the cards.
"""

from collections.abc import Sequence

import numpy as np

from . import ring, server
from .chunks import Chunks
from .log import CommLog
from .simulate import simulate

Arrays = Sequence[np.ndarray]


def ring_reduce_scatter(
    arrays: Arrays, log: CommLog | None = None
) -> tuple[list[list[np.ndarray]], list[int]]:
    """Sum `arrays` over the ranks; each rank ends owning one finished chunk.

    Args:
        arrays: one array per rank, all of one shape and dtype.
        log: where the traffic is entered.

    Returns:
        `chunks[rank][segment]`, 1-D, and `owned[rank] == (rank + 1) % size`, the segment that is
        finished on that rank. The other segments hold partial sums.

    Raises:
        ValueError: no arrays, different shapes or dtypes, a log for another number of ranks.
    """
    arrays = _check_arrays(arrays)
    states = [_chunks(array.reshape(-1).copy(), len(arrays)) for array in arrays]
    owned = simulate(ring.reduce_scatter, states, log)
    return [list(state) for state in states], owned


def ring_all_gather(
    chunks: Sequence[Arrays], owned: Sequence[int], log: CommLog | None = None
) -> list[np.ndarray]:
    """Pass the owned chunks round until every rank has all of them.

    Args:
        chunks: `chunks[rank][segment]`, as `ring_reduce_scatter` returns them.
        owned: the finished segment of each rank; neighbours own neighbouring segments.
        log: where the traffic is entered.

    Returns:
        one 1-D array per rank, the segments joined.

    Raises:
        ValueError: chunks that do not fit together, ownership that is not a ring's, a log for
            another number of ranks.
    """
    owner = _check_chunks(chunks, owned)
    flat = [np.concatenate(row) for row in chunks]
    states = [_views(array, [part.size for part in chunks[0]]) for array in flat]
    simulate(ring.all_gather, states, log, owner=owner)
    return flat


def ring_all_reduce(arrays: Arrays, log: CommLog | None = None) -> list[np.ndarray]:
    """Sum `arrays` over the ranks round a ring; every rank ends with the same bits.

    Each rank sends 2(p-1)/p·n elements in 2(p-1) steps.

    Args:
        arrays: one array per rank, all of one shape and dtype.
        log: where the traffic is entered.

    Returns:
        one array per rank, of the shape and dtype given.

    Raises:
        ValueError: no arrays, different shapes or dtypes, a log for another number of ranks.
    """
    return _all_reduce(ring.all_reduce, arrays, log)


def parameter_server_all_reduce(arrays: Arrays, log: CommLog | None = None) -> list[np.ndarray]:
    """Sum `arrays` on rank 0 and send the sum back; arguments and results as `ring_all_reduce`.

    Rank 0 sends and receives (p-1)·n elements each, every other rank n.
    """
    return _all_reduce(server.all_reduce, arrays, log)


def _all_reduce(program, arrays: Arrays, log: CommLog | None) -> list[np.ndarray]:
    arrays = _check_arrays(arrays)
    pieces = program.pieces(len(arrays))
    results = [array.copy() for array in arrays]
    simulate(program, [_chunks(array.reshape(-1), pieces) for array in results], log)
    return results


def _chunks(flat: np.ndarray, pieces: int) -> Chunks:
    """Cut a 1-D array into views."""
    return Chunks(np.array_split(flat, pieces))


def _views(flat: np.ndarray, lengths: Sequence[int]) -> Chunks:
    return Chunks(np.split(flat, np.cumsum(lengths)[:-1]))


def _check_arrays(arrays: Arrays) -> list[np.ndarray]:
    arrays = [np.asarray(array, order="C") for array in arrays]
    if not arrays:
        raise ValueError("no arrays were given; one per rank is needed, at least 1")
    first = arrays[0]
    for rank, array in enumerate(arrays):
        if (array.shape, array.dtype) != (first.shape, first.dtype):
            raise ValueError(
                f"rank {rank} has an array of {array.shape} {array.dtype}, rank 0 of "
                f"{first.shape} {first.dtype}; shapes and dtypes must agree"
            )
    return arrays


def _told(kinds: Sequence[tuple]) -> str:
    return ", ".join(f"{shape} {dtype}" for shape, dtype in kinds)


def _check_chunks(chunks: Sequence[Arrays], owned: Sequence[int]) -> int:
    """Check what an all-gather is given; return the segment that rank 0 owns."""
    size = len(chunks)
    if size == 0:
        raise ValueError("no chunks were given; one list per rank is needed, at least 1")
    kinds = [[(part.shape, part.dtype) for part in row] for row in chunks]
    for rank, row in enumerate(kinds):
        if len(row) != size or row != kinds[0]:
            raise ValueError(
                f"rank {rank} has {len(row)} chunks of {_told(row)}; every rank must have {size}, "
                f"and the same as rank 0, whose are of {_told(kinds[0])}"
            )
    if any(len(shape) != 1 for shape, _ in kinds[0]):
        raise ValueError(f"chunks have shapes {[shape for shape, _ in kinds[0]]}; they must be 1-D")
    first = owned[0] if len(owned) else 0
    if list(owned) != [(rank + first) % size for rank in range(size)]:
        raise ValueError(
            f"owned is {list(owned)}; for {size} ranks it must be one segment each, rank r + 1 "
            "owning the segment after rank r's"
        )
    return first
