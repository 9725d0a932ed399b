"""The two-level all-reduce: sums, proof, traffic on each level, and its time with segments."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from zerolit.comm import Chunks, CommLog, prove, simulate, two_level
from zerolit.comm.two_level import Levels, timeline

SHAPES = [(1, 4), (4, 1), (2, 2), (2, 4), (3, 4), (4, 3)]  # nodes, cards in each


def run(nodes, cards, length):
    size = nodes * cards
    log, rng = CommLog(size), np.random.default_rng(0)
    arrays = [rng.integers(0, 100, length) for _ in range(size)]
    kept = [array.copy() for array in arrays]
    states = [Chunks(np.array_split(array, size)) for array in kept]
    simulate(two_level.all_reduce, states, log, cards=cards)
    return arrays, kept, log


@pytest.mark.parametrize(("nodes", "cards"), SHAPES)
def test_every_card_ends_with_the_sum(nodes, cards):
    arrays, sums, _ = run(nodes, cards, length=29)  # which none of the sizes divides
    for total in sums:
        assert np.array_equal(total, sum(arrays))


@pytest.mark.parametrize(("nodes", "cards"), SHAPES)
def test_it_is_proved_and_reaches_the_bound(nodes, cards):
    size = nodes * cards
    proof = prove(two_level.all_reduce, size, cards=cards)
    assert proof.sent == (Fraction(2 * (size - 1), size),) * size
    assert proof.steps == 2 * (cards - 1) + 2 * (nodes - 1)


def test_between_nodes_each_card_sends_only_its_share():
    nodes, cards, length = 3, 4, 1200
    _, _, log = run(nodes, cards, length)
    inside, between = [0] * 12, [0] * 12
    for m in log.messages:
        near = m.source // cards == m.destination // cards
        (inside if near else between)[m.source] += m.elements
        assert near or m.source % cards == m.destination % cards  # cards of the same number
    assert inside == [2 * length * (cards - 1) // cards] * 12
    assert between == [2 * (length // cards) * (nodes - 1) // nodes] * 12


def test_messages_name_the_chunk_that_they_carry():
    _, _, log = run(2, 2, length=4)
    # The textbook ring leaves card 0 with the second half; between the nodes that is chunks 2, 3.
    told = {m.chunk for m in log.messages if m.source == 0 and m.destination == 2}
    assert told == {2, 3}
    assert {m.chunk for m in log.messages if m.destination == 1} >= {range(0, 2), range(2, 4)}


@pytest.mark.parametrize(("nodes", "cards"), SHAPES)
def test_one_segment_takes_what_the_formula_says(nodes, cards):
    nbytes = 1_200_000
    fast, slow, latency = Fraction(900), Fraction(50), Fraction(1, 1000)
    sent = timeline(nbytes, Levels(nodes, cards, fast, slow, latency))
    inside = Fraction(2 * (cards - 1) * nbytes, cards) / fast
    between = Fraction(2 * (nodes - 1) * nbytes, nodes * cards) / slow
    assert max(s.arrived for s in sent) == 2 * (cards + nodes - 2) * latency + inside + between


def test_segments_hide_the_fast_links_under_the_slow_ones():
    # By hand: two nodes of two cards; 8 s on fast links, half before and half after 16 s on slow.
    levels, nbytes = Levels(2, 2, Fraction(1), Fraction(1, 4)), 8
    times = {s: max(m.arrived for m in timeline(nbytes, levels, s)) for s in (1, 2)}
    # With two: the first segment's 2 s inside, then the network never idles, then 2 s inside.
    assert times == {1: 4 + 16 + 4, 2: 2 + 16 + 2}


def test_a_link_carries_one_message_at_a_time_and_nothing_leaves_before_it_is_there():
    levels = Levels(2, 4, 450.0, 25.0, 1e-3)
    sent = timeline(6400, levels, segments=5)
    assert {m.segment for m in sent} == set(range(5))
    for rank in range(8):
        for inside in (True, False):
            link = sorted((m.start, m.end) for m in sent if (m.source, m.inside) == (rank, inside))
            assert all(end <= start for (_, end), (start, _) in pairwise(link))
        first = min(m.start for m in sent if m.source == rank and not m.inside)
        needed = [m.arrived for m in sent if m.to == rank and m.inside and m.segment == 0][:3]
        assert first == max(needed)  # its share is summed inside its node by then


def test_bad_input():
    with pytest.raises(ValueError, match="6 ranks were given for nodes of 4 cards"):
        simulate(two_level.all_reduce, [Chunks()] * 6, cards=4)
    with pytest.raises(ValueError, match="segments is 0; it must be at least 1"):
        timeline(8, Levels(2, 2, 1, 1), 0)
    with pytest.raises(ValueError, match="nodes is 0; it must be at least 1"):
        Levels(0, 2, 1, 1)
    with pytest.raises(ValueError, match="between is 0; it must be above 0 bytes/s"):
        Levels(1, 2, 1, 0)
    with pytest.raises(ValueError, match="latency is -1; it must be 0 seconds or more"):
        Levels(1, 2, 1, 1, -1)
