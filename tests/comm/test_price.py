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


NOBODY = None


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


def test_one_outgoing_link_takes_one_message_at_a_time():
    # Rank 0 sends 6 bytes to rank 1 until 2, then 6 to rank 2 until 4, there at 5.
    program = of_sizes(
        [(6, 1, NOBODY, 0), (6, 2, NOBODY, 0)], [(0, NOBODY, 0, 6)], [(0, NOBODY, 0, 6)]
    )
    assert price(program, 0, Network(3, F(3), F(1))) == 5


def test_a_sender_is_done_when_its_message_has_left():
    # Rank 0's 6 bytes leave until 2, the next 6 until 4, there at 5. Were rank 0 to wait for the
    # latency before it goes on, they would leave at 3 and be there at 6.
    program = of_sizes([(6, 1, NOBODY, 0), (6, 1, NOBODY, 0)], [(0, NOBODY, 0, 6)] * 2)
    assert price(program, 0, Network(2, F(3), F(1))) == 5


def test_a_message_waits_for_the_receivers_link_not_for_the_receiver():
    # Rank 1's 15 bytes keep rank 0's link until 5 and rank 0 itself until 6. Rank 2's 3 bytes go
    # through from 5 to 6 and are there at 7.
    program = of_sizes(
        [(0, NOBODY, 1, 15), (0, NOBODY, 2, 3)], [(15, 0, NOBODY, 0)], [(3, 0, NOBODY, 0)]
    )
    assert price(program, 0, Network(3, F(3), F(1))) == 7


def test_the_slower_half_of_a_swap_ends_it():
    # Ranks 0 and 1 swap 3 bytes for 9: rank 0 has all at 3 + 1, rank 1 has sent at 3.
    swap = of_sizes([(3, 1, 1, 9)], [(9, 0, 0, 3)])
    assert price(swap, 0, Network(2, F(3), F(1))) == 4
    # Rank 0 then sends 3 more, from 4 to 5, there at 6.
    more = of_sizes([(3, 1, 1, 9), (3, 1, NOBODY, 0)], [(9, 0, 0, 3), (0, NOBODY, 0, 3)])
    assert price(more, 0, Network(2, F(3), F(1))) == 6


def test_a_long_send_outlasts_a_short_receive():
    # Rank 0 has received at 1 + 1 but sent only at 3: its 3 bytes for rank 2 leave from 3 to 4.
    program = of_sizes([(9, 1, 1, 3), (3, 2, NOBODY, 0)], [(3, 0, 0, 9)], [(0, NOBODY, 0, 3)])
    assert price(program, 0, Network(3, F(3), F(1))) == 5


@pytest.mark.parametrize("late", [0, 1, 2])
def test_the_last_rank_to_finish_sets_the_price_whichever_it_is(late):
    # Two ranks have nothing to do; rank `late` gets 12 bytes from a fourth.
    hops = [[], [], [], [(12, late, NOBODY, 0)]]
    hops[late] = [(0, NOBODY, 3, 12)]
    assert price(of_sizes(*hops), 0, Network(4, F(3), F(1))) == 5


def test_an_empty_message_costs_its_latency():
    assert price(of_sizes([(0, 1, NOBODY, 0)], [(0, NOBODY, 0, 0)]), 0, Network(2, F(3), F(1))) == 1


@pytest.mark.parametrize("p", [1, 2, 5, 16])
@pytest.mark.parametrize("half", [ring.reduce_scatter, ring.all_gather])
def test_each_half_of_the_ring_costs_half(p, half):
    assert price(half, 4 * p, Network(p, B, ALPHA)) == (p - 1) * (ALPHA + 4 / B)


@pytest.mark.parametrize(("p", "n"), [(2, 0), (3, 7), (5, 1)])
def test_the_servers_price_needs_no_divisor(p, n):
    assert price(server.all_reduce, n, Network(p, B, ALPHA)) == 2 * (p - 1) * n / B + 2 * ALPHA


@pytest.mark.parametrize(("nbytes", "pieces"), [(0, 3), (2, 5), (7, 3), (9, 3)])
def test_bytes_are_cut_as_numpy_cuts_arrays(nbytes, pieces):
    assert sizes(nbytes, pieces) == [p.size for p in np.array_split(np.empty(nbytes), pieces)]
