"""The price of a program, against closed forms and against sums done by hand."""

from fractions import Fraction as F
from types import SimpleNamespace

import numpy as np
import pytest

from zerolit.comm import Network, Swap, all_reduce_time, collective, price, ring, server
from zerolit.comm.cut import sizes

B, ALPHA = F(3), F(7, 11)


@pytest.mark.parametrize("p", range(2, 65))
def test_closed_forms_agree_exactly_where_p_divides_n(p):
    n, network = 5 * p, Network(p, B, ALPHA)
    ring_time = 2 * (p - 1) * (ALPHA + F(n, p) / B)
    server_time = 2 * (p - 1) * n / B + 2 * ALPHA
    assert price(ring.all_reduce, n, network) == ring_time
    assert price(server.all_reduce, n, network) == server_time
    assert all_reduce_time(n, p, B, ALPHA) == ring_time
    assert all_reduce_time(n, p, B, ALPHA, algorithm="ps") == server_time


@pytest.mark.parametrize("p", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("n", [0, 1, 4, 7, 100, 101])
def test_elsewhere_the_longest_chunk_sets_the_pace(p, n):
    longest = -(-n // p)
    time = 2 * (p - 1) * (ALPHA + longest / B)
    assert price(ring.all_reduce, n, Network(p, B, ALPHA)) == time
    assert price(ring.all_reduce, n, Network(p, B, ALPHA), direction=-1, owner=0) == time


@pytest.mark.parametrize("program", [ring.all_reduce, server.all_reduce])
def test_one_rank_costs_nothing(program):
    assert price(program, 1000, Network(1, B, ALPHA)) == 0
    assert all_reduce_time(1000, 1, 3.0, 1.0) == all_reduce_time(1000, 1, 3.0, 1.0, "ps") == 0


def test_real_valued_bytes():
    assert all_reduce_time(0.5, 2, 1.0, 0.0) == 0.5


@pytest.mark.parametrize(
    ("p", "ring_time", "server_time"),
    [(8, "0.364", "2.9"), (512, "0.420", "212.6"), (2048, "0.436", "851.6")],
)
def test_the_lectures_table(p, ring_time, server_time):
    assert f"{all_reduce_time(2.6e9, p, 12.5e9, 5e-6):.3f}" == ring_time
    assert f"{all_reduce_time(2.6e9, p, 12.5e9, 5e-6, 'ps'):.1f}" == server_time


def of_sizes(*hops_per_rank):
    """A program from lists of (bytes, to, frm): each list is one rank's hops."""

    def message(nbytes):
        return SimpleNamespace(shape=(nbytes,), dtype="bytes")

    @collective("all_reduce", pieces=lambda size: 1)
    def program(rank, size, x):
        for nbytes, to, frm, expected in hops_per_rank[rank]:
            yield Swap(message(nbytes), to, frm, message(expected))

    return program


NOBODY = -1


def test_latency_delays_the_arrival_and_occupies_nothing():
    # Two messages of 6 bytes leave at 0 and at 2; α = 10; the second arrives at 4 + 10.
    program = of_sizes([(6, 1, NOBODY, 0)] * 2, [(0, NOBODY, 0, 6)] * 2)
    assert price(program, 0, Network(2, F(3), F(10))) == 14


def test_a_receivers_link_takes_one_message_at_a_time():
    # Ranks 1 and 2 both send 6 bytes at 0; the second has to wait for rank 0's link until 2.
    program = of_sizes([(0, NOBODY, 1, 6), (0, NOBODY, 2, 6)], *[[(6, 0, NOBODY, 0)]] * 2)
    assert price(program, 0, Network(3, F(3), F(1))) == 5


def test_links_are_full_duplex():
    program = of_sizes([(6, 1, 1, 6)], [(6, 0, 0, 6)])
    assert price(program, 0, Network(2, F(3), F(1))) == 3


def test_who_waits_sends_later():
    # Rank 1 passes on what it received at 2 + 1: it arrives at 3 + 2 + 1.
    program = of_sizes(
        [(6, 1, NOBODY, 0)], [(0, NOBODY, 0, 6), (6, 2, NOBODY, 0)], [(0, NOBODY, 1, 6)]
    )
    assert price(program, 0, Network(3, F(3), F(1))) == 6


@pytest.mark.parametrize(("nbytes", "pieces"), [(0, 3), (2, 5), (7, 3), (9, 3)])
def test_bytes_are_cut_as_numpy_cuts_arrays(nbytes, pieces):
    assert sizes(nbytes, pieces) == [p.size for p in np.array_split(np.empty(nbytes), pieces)]
