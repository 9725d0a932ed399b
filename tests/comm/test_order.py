"""Tree and halving: proved, and the order in which they and the ring add up, by hand."""

from fractions import Fraction

import numpy as np
import pytest

from zerolit.comm import (
    Chunks,
    CommLog,
    ProofError,
    Swap,
    collective,
    halving,
    order_of_sum,
    prove,
    ring,
    simulate,
    tree,
)


@pytest.mark.parametrize("size", range(1, 18))
def test_the_tree_is_proved_for_every_number_of_ranks(size):
    proof = prove(tree.all_reduce, size)
    assert max(proof.sent) <= max(0, size - 1).bit_length()  # whole arrays


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32])
def test_halving_is_proved_and_sends_as_little_as_a_ring(size):
    proof = prove(halving.all_reduce, size)
    assert proof.sent == (Fraction(2 * (size - 1), size),) * size and proof.optimal


@pytest.mark.parametrize("size", [3, 6, 12])
def test_halving_needs_a_power_of_two(size):
    with pytest.raises(ValueError, match=f"size is {size}; halving needs a power of two"):
        simulate(halving.all_reduce, [Chunks([np.ones(1)] * size)] * size)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_the_tree_takes_two_logarithms_of_steps(size):
    log = CommLog(size)
    simulate(tree.all_reduce, [Chunks([np.ones(3)]) for _ in range(size)], log)
    assert log.steps == 2 * (size - 1).bit_length()
    assert sum(log.sent) == 2 * (size - 1) * 3


@pytest.mark.parametrize(
    ("program", "options", "size", "order"),
    [
        (ring.all_reduce, {"owner": 0}, 4, "0+(3+(2+1))"),
        (ring.all_reduce, {"owner": 0, "direction": -1}, 4, "0+(1+(2+3))"),
        (ring.all_reduce, {"owner": 0}, 2, "0+1"),
        (tree.all_reduce, {}, 3, "(0+1)+2"),
        (tree.all_reduce, {}, 8, "((0+1)+(2+3))+((4+5)+(6+7))"),
        (halving.all_reduce, {}, 8, "((0+4)+(2+6))+((1+5)+(3+7))"),
        (ring.all_reduce, {}, 1, "0"),
    ],
)
def test_the_order_of_a_sum(program, options, size, order):
    assert order_of_sum(program, size, **options) == order


def test_another_chunk_begins_elsewhere():
    assert order_of_sum(ring.all_reduce, 4, chunk=2, owner=0) == "2+(1+(0+3))"


def test_the_order_that_is_told_is_the_one_that_is_computed():
    """Numbers whose sum depends on the order: 1 is lost beside 2²⁴ in float32."""
    big = np.float32(2**24)
    values = [np.float32(1), big, -big, np.float32(1)]
    one, b, minus, four = values
    states = [Chunks([np.full(1, v) for _ in range(4)]) for v in values]
    simulate(ring.all_reduce, states, owner=0)
    assert states[0][0][0] == one + (four + (minus + b)) == 2
    states = [Chunks([np.full(1, v)]) for v in values]
    simulate(tree.all_reduce, states)
    assert states[0][0][0] == (one + b) + (minus + four) == 1  # (2²⁴) + (−2²⁴ + 1)


def test_ranks_that_end_with_different_sums_are_refused():
    @collective("all_reduce", pieces=lambda size: 1)
    def own_first(rank, size, x):
        first = x[0].copy()
        arrived = yield Swap(first, 1 - rank, 1 - rank, x[0], 0)
        x[0] = first + arrived

    with pytest.raises(ProofError, match=r"ranks end with different sums: \(0\+1\), \(1\+0\)"):
        order_of_sum(own_first, 2)
