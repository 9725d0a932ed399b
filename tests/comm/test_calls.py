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

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16"]
DTYPES = ["bool", *WHOLE, "float16", "float32", "float64", "complex64", "complex128"]


@st.composite
def per_rank(draw, dtypes=DTYPES, elements=None):
    """One array per rank: any size, shape and dtype, NaN and infinity included."""
    ranks = draw(st.integers(1, 9))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7))
    return [draw(arrays(dtype, shape, elements=elements)) for _ in range(ranks)]


def same_bits(one, other):
    """Equal to the bit; a NaN equals any NaN.

    IEEE 754 leaves the sign and payload of NaN + NaN open, and a processor that keeps the first
    operand's shows which way round a compiled loop adds; where the NaNs stand must still agree.
    """
    assert one.dtype == other.dtype and one.shape == other.shape
    if one.dtype.kind == "c":
        return same_bits(one.real, other.real) and same_bits(one.imag, other.imag)
    if one.dtype.kind != "f":
        return one.tobytes() == other.tobytes()
    nan = np.isnan(one)
    return np.array_equal(nan, np.isnan(other)) and one[~nan].tobytes() == other[~nan].tobytes()


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
@given(per_rank(dtypes=WHOLE))
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


CALLS = [ring_all_reduce, parameter_server_all_reduce]


def base(shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("call", CALLS)
def test_order_of_memory_does_not_matter(call):
    given_arrays = [
        np.asfortranarray(base((4, 6))),
        base((4, 12))[:, ::2],
        base((8, 6))[::-2],
        base((6, 4)).T,
    ]
    before = [array.copy() for array in given_arrays]
    expected = before[0] + before[1] + before[2] + before[3]
    for total in call(given_arrays):
        assert total.dtype == np.float32 and np.array_equal(total, expected)
    for array, copy in zip(given_arrays, before, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 3, 4), (0, 3), (3, 0, 2)])
def test_any_shape_is_added_element_by_element(call, shape):
    for total in call([base(shape) + rank for rank in range(3)]):
        assert total.shape == shape and total.dtype == np.float32
        assert np.array_equal(total, 3 * base(shape) + 3)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("p", [1, 3])
def test_results_share_no_memory(call, p):
    given_arrays = [np.ones(6) for _ in range(p)]
    sums = call(given_arrays)
    every = [*given_arrays, *sums]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(every) for b in every[:i])


def test_reduce_scatter_and_all_gather_share_no_memory_with_what_they_were_given():
    given_arrays = [np.ones(6) for _ in range(2)]
    chunks, owned = ring_reduce_scatter(given_arrays)
    gathered = ring_all_gather(chunks, owned)
    parts = [part for row in chunks for part in row]
    assert not any(np.shares_memory(a, part) for a in given_arrays for part in parts)
    assert not any(np.shares_memory(g, part) for g in gathered for part in parts)
    assert not np.shares_memory(*gathered)


@settings(deadline=None, max_examples=60)
@given(p=st.integers(1, 9), n=st.integers(0, 40))
def test_what_each_rank_sends_and_receives(p, n):
    log = CommLog(p)
    ring_all_reduce([np.ones(n, np.int8)] * p, log)
    length = [part.size for part in np.array_split(np.empty(n), p)]
    # First rank r sends all chunks but r+1, which it finishes, then all but r+2, which comes last.
    assert log.sent == [2 * n - length[(r + 1) % p] - length[(r + 2) % p] for r in range(p)]
    # What its left neighbour sends, it receives.
    assert log.received == [2 * n - length[r] - length[(r + 1) % p] for r in range(p)]
    assert log.steps == 2 * (p - 1) and len(log.messages) == 2 * (p - 1) * p


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
def test_segments_that_are_not_owned_hold_the_sum_so_far(p):
    arrays_ = [np.full((3, 4), 2.0**rank) for rank in range(p)]
    chunks, owned = ring_reduce_scatter(arrays_)
    assert owned == [(rank + 1) % p for rank in range(p)]
    for rank in range(p):
        for segment in range(p):
            # Chunk c sets out from rank c and moves to the right.
            ranks = [(segment + k) % p for k in range((rank - segment) % p + 1)]
            part = chunks[rank][segment]
            assert part.ndim == 1 and part.size == np.array_split(np.empty(12), p)[segment].size
            assert (part == sum(2.0**r for r in ranks)).all()


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("first", [0, 1, 2, 4])
def test_all_gather_takes_any_ring_of_owners(p, first):
    owned = [(rank + first) % p for rank in range(p)]
    chunks = [
        [np.full(3 - (s > 0), s if s == owned[r] else -1, np.int16) for s in range(p)]
        for r in range(p)
    ]
    log = CommLog(p)
    for whole in ring_all_gather(chunks, owned, log):
        assert whole.dtype == np.int16
        assert whole.tolist() == [0, 0, 0] + [s for s in range(1, p) for _ in range(2)]
    assert log.steps == p - 1
    assert [m.chunk for m in log.messages if m.step == 1] == (owned if p > 1 else [])


@pytest.mark.parametrize("call", CALLS)
def test_a_log_goes_on_counting_over_calls(call):
    once, twice = CommLog(3), CommLog(3)
    for log in (once, twice, twice):
        call([np.arange(7)] * 3, log)
    steps = once.steps
    assert twice.steps == 2 * steps
    assert twice.sent == [2 * x for x in once.sent]
    assert twice.received == [2 * x for x in once.received]
    assert [m.step for m in twice.messages] == [
        m.step + later for later in (0, steps) for m in once.messages
    ]


@pytest.mark.parametrize("p", [2, 3, 5])
def test_every_hop_of_the_server(p):
    log = CommLog(p)
    parameter_server_all_reduce([np.arange(4)] * p, log)
    hops = [(m.step, m.phase, m.source, m.destination, m.chunk, m.elements) for m in log.messages]
    push = [(w, "push", w, 0, 0, 4) for w in range(1, p)]
    pull = [(p - 1 + w, "pull", 0, w, 0, 4) for w in range(1, p)]
    assert hops == push + pull


@pytest.mark.parametrize(("n", "kept"), [(32, True), (34, False)])
def test_up_to_16_values_of_a_message_are_kept(n, kept):
    log = CommLog(2)
    ring_all_reduce([np.arange(n)] * 2, log)
    assert all(m.elements == n // 2 and (m.values is not None) == kept for m in log.messages)
    assert all(line.endswith("]") == kept for line in log.trace)


def test_how_a_trace_reads():
    log = CommLog(2)
    ring_all_reduce([np.array([0.5, 2.0, 1e-7])] * 2, log)
    # Rank 0 sends its chunk 0, of two numbers, and rank 1 its chunk 1, of one.
    assert log.trace[:2] == [
        "step 1 reduce-scatter: rank 0 → rank 1, chunk 0, 2 elements [0.5 2]",
        "step 1 reduce-scatter: rank 1 → rank 0, chunk 1, 1 element [1e-07]",
    ]
    ring_all_reduce([np.zeros(0)] * 2, log)
    assert log.trace[-1] == "step 4 all-gather: rank 1 → rank 0, chunk 0, 0 elements []"
    ring_all_reduce([np.zeros(34)] * 2, log)
    assert log.trace[-1] == "step 6 all-gather: rank 1 → rank 0, chunk 0, 17 elements"


def test_lists_do_for_arrays():
    assert [total.tolist() for total in ring_all_reduce([[1, 2], [3, 4]])] == [[4, 6]] * 2
