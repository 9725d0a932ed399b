"""Bad input: one sentence that says what was given and what is allowed."""

import numpy as np
import pytest

from zerolit.comm import (
    Chunks,
    CommLog,
    Network,
    all_reduce_time,
    parameter_server_all_reduce,
    price,
    prove,
    ring,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    simulate,
)

CALLS = [ring_reduce_scatter, ring_all_reduce, parameter_server_all_reduce]
ONE = np.ones(2)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("arrays", "log", "told"),
    [
        ([], None, "no arrays were given; one per rank is needed, at least 1"),
        ([ONE, np.ones(3)], None, r"rank 1 has an array of \(3,\) float64, rank 0 of \(2,\)"),
        ([np.ones((2, 3)), np.ones((3, 2))], None, r"rank 1 .* \(3, 2\) .* rank 0 of \(2, 3\)"),
        ([ONE, np.ones(2, "f4")], None, "rank 1 has an array of .* float32, rank 0 of .* float64"),
        ([ONE, ONE], CommLog(3), "the log is for 3 ranks, but 2 were given; they must agree"),
    ],
)
def test_arrays(call, arrays, log, told):
    with pytest.raises(ValueError, match=told):
        call(arrays, log)


@pytest.mark.parametrize(
    ("chunks", "owned", "told"),
    [
        ([], [], "no chunks were given"),
        ([[ONE, ONE], [ONE]], [1, 0], "rank 1 has 1 chunks of .* every rank must have 2"),
        ([[ONE, ONE], [ONE, np.ones(3)]], [1, 0], "rank 1 has 2 chunks"),
        ([[np.ones((2, 3))] * 2] * 2, [1, 0], r"shapes \[\(2, 3\), \(2, 3\)\]; they must be 1-D"),
        ([[ONE], [ONE]], [1, 0], "rank 0 has 1 chunks of .* every rank must have 2"),
        (
            [[ONE, ONE], [ONE, np.ones(2, "f4")]],
            [1, 0],
            "float32; every rank must have 2, and the same as rank 0",
        ),
        ([[ONE, ONE], [ONE, ONE]], [0, 0], r"owned is \[0, 0\]; for 2 ranks it must be"),
        ([[ONE, ONE], [ONE, ONE]], [1], r"owned is \[1\]"),
        ([[ONE, ONE], [ONE, ONE]], [], r"owned is \[\]"),
    ],
)
def test_chunks(chunks, owned, told):
    with pytest.raises(ValueError, match=told):
        ring_all_gather(chunks, owned)


def test_a_log_for_another_size():
    with pytest.raises(ValueError, match="the log is for 3 ranks, but 2 were given"):
        ring_all_gather([[ONE, ONE], [ONE, ONE]], [1, 0], CommLog(3))
    with pytest.raises(ValueError, match="the log is for 1 ranks, but 2 were given"):
        simulate(ring.all_reduce, [Chunks([ONE, ONE]), Chunks([ONE, ONE])], CommLog(1))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (lambda: CommLog(0), "a log for 0 ranks was asked for; size must be at least 1"),
        (lambda: CommLog(-2), "a log for -2 ranks"),
        (lambda: prove(ring.all_reduce, 0), "a proof for 0 ranks was asked for"),
        (lambda: simulate(ring.all_reduce, []), "no ranks were given; at least 1 is needed"),
        (lambda: Network(0, 1, 1), "size is 0; it must be at least 1 rank"),
        (lambda: Network(2, 0, 1), "bandwidth is 0; it must be above 0 bytes/s"),
        (lambda: Network(2, float("nan"), 1), "bandwidth is nan"),
        (lambda: Network(2, 1, float("nan")), "latency is nan"),
        (lambda: Network(2, 1, -1), "latency is -1; it must be 0 seconds or more"),
        (lambda: all_reduce_time(1, -1, 1, 1), "size is -1"),
        (lambda: all_reduce_time(1, 2, 0, 1), "bandwidth is 0"),
        (lambda: all_reduce_time(1, 2, 1, -1), "latency is -1"),
        (lambda: all_reduce_time(-1, 2, 1, 1), "nbytes is -1; it must be 0 or more"),
        (lambda: all_reduce_time(1, 2, 1, 1, "tree"), "algorithm is 'tree'; it must be"),
        (lambda: price(ring.all_reduce, -1, Network(2, 1, 1)), "nbytes is -1; it must be"),
        (
            lambda: price(ring.all_reduce, 1.5, Network(2, 1, 1)),
            "nbytes is 1.5; it must be a whole",
        ),
    ],
)
def test_numbers(bad, told):
    with pytest.raises(ValueError, match=told):
        bad()
