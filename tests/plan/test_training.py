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


def test_the_servers_wall_is_about_the_root_of_the_rings():
    server, ring = CASE.wall(1, "ps"), CASE.wall(1)
    fits = [CASE.communicate(p, "ps") <= CASE.compute(p) for p in range(1, 20)]
    assert fits.index(False) + 1 == server
    assert ring == pytest.approx(server * (server - 1), rel=0.1)


@pytest.mark.parametrize("params", [1e8, 1.3e9, 7e10])
@pytest.mark.parametrize(("overlap", "by_hand"), [(1, 121.2), (BACKWARD, 81.1)])
def test_without_latency_the_wall_does_not_depend_on_the_parameters(params, overlap, by_hand):
    # 1.5 · f · 1e6 tokens · 12.5e9 / 156e12, and one: 1 + 120.2 and 1 + 80.1.
    case = Training(params=params, latency=0)
    exact = case.wall_without_latency(overlap)
    assert exact == pytest.approx(by_hand, abs=0.05)
    assert case.wall(overlap) == int(exact) + 1
    assert Training(params=params).wall(overlap) <= case.wall(overlap)


def test_tokens_at_the_wall_by_hand():
    # 156e12 / (1.5 · 12.5e9) = 8320; under two thirds of the compute, 1.5 times as many.
    assert CASE.tokens_at_the_wall(1) == pytest.approx(8320)
    assert CASE.tokens_at_the_wall(BACKWARD) == pytest.approx(12480)
    many = Training(latency=0, tokens=1e12)
    assert many.tokens / many.wall(1) == pytest.approx(8320, rel=1e-6)


def test_zero3_meets_its_wall_where_the_backward_pass_meets_the_ring():
    assert CASE.zero3_wall() == CASE.wall(BACKWARD) == 81
    assert CASE.zero3_efficiency(80) == pytest.approx(1, abs=1e-12)
    # At 128: 0.390625 s of compute; three times half of 0.41402 s of ring.
    assert CASE.zero3_efficiency(128) == pytest.approx(0.390625 / (3 * 0.20701))


def test_zero3_by_hand():
    # 18 s of compute on 2 cards, 6 of them forward; each half of the ring takes 8 s: both wait.
    case = Training(params=1, tokens=6, flops=1, bandwidth=1 / 8, latency=0, gradient_bytes=2)
    assert case.zero3_efficiency(2) == 18 / (8 + 16)


def test_the_wall_checks_its_input():
    for method in (CASE.wall, CASE.wall_without_latency, CASE.tokens_at_the_wall):
        with pytest.raises(ValueError, match="overlap is 0; it must be above 0 and at most 1"):
            method(0)
    with pytest.raises(ValueError, match='algorithm is \'tree\'; it must be "ring" or "ps"'):
        CASE.wall(1, "tree")
