"""The everyday calls: values, traffic, and every shape and dtype."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.comm import plain
from zerolit.comm import (
    CommLog,
    parameter_server_all_reduce,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)

DTYPES = ["int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]


@st.composite
def per_rank(draw, dtypes=DTYPES, elements=None):
    """One array per rank: any size, shape and dtype, NaN and infinity included."""
    ranks = draw(st.integers(1, 9))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7))
    return [draw(arrays(dtype, shape, elements=elements)) for _ in range(ranks)]


def same_bits(one, other):
    """Equal to the bit; a NaN equals any NaN, whose sign and payload the processor may choose."""
    assert one.dtype == other.dtype and one.shape == other.shape
    nan = np.isnan(one) & np.isnan(other) if one.dtype.kind in "fc" else np.zeros(one.shape, bool)
    return np.array_equal(nan, np.isnan(one) if one.dtype.kind in "fc" else nan) and (
        one[~nan].tobytes() == other[~nan].tobytes()
    )


def test_four_ranks_of_eight_numbers():
    log = CommLog(4)
    sums = ring_all_reduce([(r + 1) * np.arange(8) for r in range(4)], log)
    assert log.steps == 6 and log.sent == [12] * 4 and log.received == [12] * 4
    assert all(np.array_equal(total, 10 * np.arange(8)) for total in sums)


def test_every_hop_of_the_textbook_ring():
    p, log = 4, CommLog(4)
    ring_all_reduce([(r + 1) * np.arange(8) for r in range(4)], log)
    scatter = [
        (s, "reduce-scatter", r, (r + 1) % p, (r - s + 1) % p)
        for s in range(1, p)
        for r in range(p)
    ]
    gather = [
        (s + p - 1, "all-gather", r, (r + 1) % p, (r + 2 - s) % p)
        for s in range(1, p)
        for r in range(p)
    ]
    hops = [(m.step, m.phase, m.source, m.destination, m.chunk) for m in log.messages]
    assert sorted(hops) == sorted(scatter + gather)
    assert all(m.elements == 2 for m in log.messages)


def test_values_and_trace_tell_what_moved():
    log = CommLog(4)
    ring_all_reduce([(r + 1) * np.arange(8) for r in range(4)], log)
    second = next(m for m in log.messages if m.step == 2 and m.source == 0)
    assert second.values == ((1 + 4) * 6, (1 + 4) * 7)  # chunk 3 of cards 3 and 0
    line = "step 2 reduce-scatter: rank 0 → rank 1, chunk 3, 2 elements [30 35]"
    assert line in log.trace and len(log.trace) == 24


def test_long_messages_are_logged_without_their_values():
    log = CommLog(2)
    ring_all_reduce([np.zeros(34)] * 2, log)
    assert [m.values for m in log.messages] == [None] * 4


@pytest.mark.parametrize(
    ("p", "sent", "steps", "server"),
    [(2, 1200, 2, 2400), (4, 1800, 6, 7200), (8, 2100, 14, 16800), (16, 2250, 30, 36000)],
)
def test_traffic_of_1200_numbers(p, sent, steps, server):
    ring, ps = CommLog(p), CommLog(p)
    ring_all_reduce([np.ones(1200)] * p, ring)
    parameter_server_all_reduce([np.ones(1200)] * p, ps)
    assert ring.sent == [sent] * p and ring.steps == steps
    assert ps.sent[0] + ps.received[0] == server
    assert ps.sent[1:] == ps.received[1:] == [1200] * (p - 1)


@pytest.mark.parametrize("call", [ring_all_reduce, parameter_server_all_reduce])
def test_one_rank_sends_nothing(call):
    log = CommLog(1)
    (total,) = call([np.arange(5)], log)
    assert log.sent == [0] and log.steps == 0 and log.messages == []
    assert total.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n", [0, 1, 3, 5, 7, 10])
def test_any_length_on_four_ranks(n):
    log = CommLog(4)
    sums = ring_all_reduce([np.arange(n) + r for r in range(4)], log)
    assert all(total.tolist() == [4 * i + 6 for i in range(n)] for total in sums)
    chunks = [part.size for part in np.array_split(np.empty(n), 4)]
    assert log.steps == 6 and len(log.messages) == 24  # an empty chunk is a message too
    # Over the two halves a rank passes on every chunk twice but one, and one it never sends on.
    assert log.sent == [2 * n - chunks[(r + 1) % 4] - chunks[(r + 2) % 4] for r in range(4)]


def test_reduce_scatter_owns_the_next_chunk_and_all_gather_completes():
    arrays_ = [np.arange(10.0) * (r + 1) for r in range(3)]
    log = CommLog(3)
    chunks, owned = ring_reduce_scatter(arrays_, log)
    assert owned == [1, 2, 0] and log.steps == 2
    assert all(np.array_equal(a, np.arange(10.0) * (r + 1)) for r, a in enumerate(arrays_))
    for rank in range(3):
        assert [part.size for part in chunks[rank]] == [4, 3, 3]
        whole = np.array_split(6 * np.arange(10.0), 3)[owned[rank]]
        assert np.array_equal(chunks[rank][owned[rank]], whole)
    before = [[part.copy() for part in row] for row in chunks]
    gathered = ring_all_gather(chunks, owned, log)
    assert all(np.array_equal(array, 6 * np.arange(10.0)) for array in gathered)
    assert log.steps == 4 and {m.step for m in log.messages} == {1, 2, 3, 4}
    assert all(
        np.array_equal(a, b)
        for x, y in zip(chunks, before, strict=True)
        for a, b in zip(x, y, strict=True)
    )


@settings(deadline=None, max_examples=200)
@given(per_rank())
def test_ring_is_the_plain_loop_bit_for_bit(given_arrays):
    before = [array.copy() for array in given_arrays]
    with np.errstate(all="ignore"):
        sums = ring_all_reduce(given_arrays)
        expected = plain.ring_all_reduce(before)
    assert all(same_bits(a, b) for a, b in zip(sums, expected, strict=True))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(given_arrays, before, strict=True))


@settings(deadline=None, max_examples=100)
@given(per_rank())
def test_server_is_the_plain_loop_bit_for_bit(given_arrays):
    before = [array.copy() for array in given_arrays]
    with np.errstate(all="ignore"):
        sums = parameter_server_all_reduce(given_arrays)
        expected = plain.server_all_reduce(before)
    assert all(same_bits(a, b) for a, b in zip(sums, expected, strict=True))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(given_arrays, before, strict=True))


@settings(deadline=None, max_examples=100)
@given(per_rank(dtypes=["int8", "uint8", "int64"]))
def test_whole_numbers_are_numpys_sum_and_overflow_like_it(given_arrays):
    dtype = given_arrays[0].dtype
    expected = np.sum(given_arrays, axis=0, dtype=dtype)
    for total in ring_all_reduce(given_arrays) + parameter_server_all_reduce(given_arrays):
        assert total.dtype == dtype and np.array_equal(total, expected)


@settings(deadline=None, max_examples=100)
@given(per_rank(dtypes=["float32", "float64"], elements=st.integers(-1000, 1000).map(float)))
def test_exact_floats_are_numpys_sum(given_arrays):
    expected = np.sum(given_arrays, axis=0)
    for total in ring_all_reduce(given_arrays) + parameter_server_all_reduce(given_arrays):
        assert np.array_equal(total, expected)


@settings(deadline=None, max_examples=100)
@given(per_rank())
def test_every_rank_ends_with_the_same_bits_and_what_is_sent_is_received(given_arrays):
    log = CommLog(len(given_arrays))
    with np.errstate(all="ignore"):
        sums = ring_all_reduce(given_arrays, log)
    assert all(total.tobytes() == sums[0].tobytes() for total in sums)
    assert sum(log.sent) == sum(log.received) == sum(m.elements for m in log.messages)
    assert log.steps == 2 * (len(given_arrays) - 1)


def test_order_of_memory_does_not_matter():
    base = np.arange(24.0).reshape(4, 6)
    odd = [np.asfortranarray(base), base[:, ::1], np.arange(48.0).reshape(4, 12)[:, ::2]]
    expected = odd[0] + odd[1] + odd[2]
    assert all(np.array_equal(total, expected) for total in ring_all_reduce(odd))
