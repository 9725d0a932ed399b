"""The time of a training step, against the numbers of the lecture and against its own limits."""

from fractions import Fraction

import pytest

from zerolit.plan import Training

CASE = Training()
BACKWARD = Fraction(2, 3)


@pytest.mark.parametrize(
    ("p", "compute", "ring", "server", "none", "perfect"),
    [
        (8, "6.250", "0.364", "2.9", "94%", "100%"),
        (512, "0.098", "0.420", "212.6", "19%", "23%"),
        (2048, "0.024", "0.436", "851.6", "5%", "6%"),
    ],
)
def test_the_lectures_table(p, compute, ring, server, none, perfect):
    assert f"{CASE.compute(p):.3f}" == compute
    assert f"{CASE.communicate(p):.3f}" == ring
    assert f"{CASE.communicate(p, 'ps'):.1f}" == server
    assert f"{CASE.efficiency(p):.0%}" == none
    assert f"{CASE.efficiency(p, 1):.0%}" == perfect


def test_efficiency_by_hand():
    # 6 · 1 · 6 flops at 1/s on 2 cards: 18 s; the ring sends 2 bytes at 1/8 a byte/s: 16 s.
    case = Training(params=1, tokens=6, flops=1, bandwidth=1 / 8, latency=0, gradient_bytes=2)
    assert case.compute(2) == 18 and case.communicate(2) == 16
    assert case.efficiency(2) == 18 / 34
    assert case.efficiency(2, BACKWARD) == 18 / 22  # 6 s of forward, then 16 s of ring
    assert case.efficiency(2, 1) == 1


@pytest.mark.parametrize("overlap", [BACKWARD, 1])
def test_the_wall_is_where_the_ring_stops_fitting(overlap):
    wall = CASE.wall(overlap)
    fits = [CASE.communicate(p) <= float(overlap) * CASE.compute(p) for p in range(1, wall + 50)]
    assert all(fits[: wall - 1]) and not any(fits[wall - 1 :])
    assert CASE.efficiency(wall - 1, overlap) == pytest.approx(1, abs=1e-12)
    assert CASE.efficiency(wall, overlap) < 1


@pytest.mark.parametrize("overlap", [0, -1, 1.5])
def test_an_overlap_out_of_range(overlap):
    with pytest.raises(ValueError, match=f"overlap is {overlap}; it must be above 0 and at most 1"):
        CASE.wall(overlap)
