"""The moments of a training step: by hand, and against the efficiencies of `Training`."""

from fractions import Fraction

import pytest

from zerolit.plan import Training, one_after_the_other, perfect, seconds, with_buckets

CASE = Training()
# 18 s of compute on 2 cards, 6 of them forward; a ring of 16 s.
SMALL = Training(params=1, tokens=6, flops=1, bandwidth=1 / 8, latency=0, gradient_bytes=2)


def spans(found, name):
    return [(span.start, span.end) for span in found if span.name == name]


def test_two_buckets_by_hand():
    found = with_buckets(SMALL, 2, buckets=2)
    assert spans(found, "forward") == [(0, 6)]
    assert spans(found, "backward") == [(6, 12), (12, 18)]
    assert spans(found, "ring") == [(12, 20), (20, 28)]  # the second is ready at 18, and queues


def test_a_link_that_waits_for_the_next_bucket():
    quick = Training(params=1, tokens=6, flops=1, bandwidth=1, latency=0, gradient_bytes=2)
    found = with_buckets(quick, 2, buckets=2)  # 1 s of ring for each bucket
    assert spans(found, "ring") == [(12, 13), (18, 19)]


@pytest.mark.parametrize("ranks", [8, 81, 128, 512])
def test_the_three_cases_have_the_efficiencies_of_the_table(ranks):
    compute = CASE.compute(ranks)
    assert compute / seconds(one_after_the_other(CASE, ranks)) == CASE.efficiency(ranks)
    assert compute / seconds(perfect(CASE, ranks)) == CASE.efficiency(ranks, 1)
    free = Training(latency=0)  # many buckets cost nothing only without latency
    step = seconds(with_buckets(free, ranks, buckets=10_000))
    assert compute / step == pytest.approx(free.efficiency(ranks, Fraction(2, 3)), rel=1e-4)


def test_each_bucket_pays_a_rings_latency():
    late = Training(params=1, tokens=6, flops=1, bandwidth=1 / 8, latency=1, gradient_bytes=2)
    ring = spans(with_buckets(late, 2, buckets=4), "ring")
    assert [end - start for start, end in ring] == [4 + 2] * 4


def test_no_buckets():
    with pytest.raises(ValueError, match="buckets is 0; it must be at least 1"):
        with_buckets(CASE, 8, buckets=0)
