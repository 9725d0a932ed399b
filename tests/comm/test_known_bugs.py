"""Bugs of the package that are known and not yet mended: a fix makes these pass, and so fail.

Once one is mended, take its mark away and move it to the file of its module.
"""

import numpy as np
import pytest

from zerolit.comm import CommError, collective, prove, ring, ring_all_gather


@pytest.mark.xfail(strict=True, reason="2-D chunks are cut by their elements, not their rows")
def test_chunks_of_more_dimensions_are_gathered_or_refused():
    owned, stale = np.full((2, 3), 9.0), np.full((2, 3), -1.0)
    chunks = [[stale, owned], [owned, stale]]  # rank r owns chunk (r + 1) mod 2
    try:
        gathered = ring_all_gather(chunks, [1, 0])
    except ValueError:
        return
    assert all((array == 9).all() for array in gathered)


@pytest.mark.xfail(strict=True, raises=KeyError, reason="no hop to blame was seen yet")
def test_a_chunk_that_is_wrong_before_any_message_is_told():
    @collective("all_reduce", pieces=lambda size: size)
    def doubles(rank, size, x):
        x[0] = x[0] + x[0]
        yield from ring.all_reduce(rank, size, x)

    with pytest.raises(CommError, match="rank 0 is in it twice"):
        prove(doubles, 3)


@pytest.mark.xfail(strict=True, reason="chunk -1 is taken for another one than chunk 2")
def test_one_chunk_under_two_names_has_no_two_owners():
    @collective("reduce_scatter", pieces=lambda size: size)
    def greedy(rank, size, x):
        yield from ring.all_reduce(rank, size, x)
        return [2, -1, 0][rank]

    with pytest.raises(CommError, match="each must own another one"):
        prove(greedy, 3)
