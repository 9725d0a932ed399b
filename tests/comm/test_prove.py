"""The prover: right programs pass, and every wrong one is caught."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zerolit.comm import (
    Chunks,
    CommError,
    CommLog,
    ProofError,
    ProtocolError,
    Swap,
    collective,
    prove,
    ring,
    server,
    simulate,
)

RING = [ring.reduce_scatter, ring.all_gather, ring.all_reduce]


@pytest.mark.parametrize("program", RING)
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("owner", [0, 1, 2])
@pytest.mark.parametrize("p", range(1, 17))
def test_rings_are_proved_and_reach_the_bound(program, direction, owner, p):
    proof = prove(program, p, direction=direction, owner=owner)
    halves = 2 if program is ring.all_reduce else 1
    assert proof.steps == halves * (p - 1)
    assert proof.sent == (Fraction(halves * (p - 1), p),) * p
    assert proof.bound == Fraction(halves * (p - 1), p) and proof.optimal
    assert (proof.goal, proof.size) == (program.__name__, p)


@pytest.mark.parametrize("program", RING)
def test_a_large_ring_is_proved(program):
    proof = prove(program, 64)
    assert proof.optimal and proof.steps == (126 if program is ring.all_reduce else 63)


@pytest.mark.parametrize("p", range(1, 17))
def test_the_server_is_proved_but_not_optimal(p):
    proof = prove(server.all_reduce, p)
    assert proof.sent == (p - 1, *[1] * (p - 1)) if p > 1 else (0,)
    assert proof.optimal == (p <= 2) and proof.steps == 2 * (p - 1)
    assert proof.bound == Fraction(2 * (p - 1), p)


# One rank's schedule as data: a list of hops that can be mutated.
def schedule(rank, size):
    """The textbook ring, hop by hop: (chunk sent, to, chunk received, from, whether it adds)."""
    hops = []
    for step in range(2 * (size - 1)):
        adds = step < size - 1
        sent = (rank - step) % size if adds else (rank + 1 - (step - size + 1)) % size
        hops.append((sent, (rank + 1) % size, (sent - 1) % size, (rank - 1) % size, adds))
    return hops


def play(schedules):
    @collective("all_reduce", pieces=lambda size: size)
    def program(rank, size, x):
        for sent, to, received, frm, adds in schedules[rank]:
            like = x[received] if received is not None else None
            arrived = yield Swap(x[sent] if sent is not None else None, to, frm, like, sent)
            if received is not None:
                x[received] = x[received] + arrived if adds else arrived

    return program


def without_line(error):
    """A sentence without the line of `play` in which the rank stood."""
    return str(error).split(" (line")[0]


def test_the_schedule_is_the_ring():
    hops = []
    for program in (ring.all_reduce, play([schedule(rank, 5) for rank in range(5)])):
        log = CommLog(5)
        simulate(program, [Chunks(np.array_split(np.ones(5), 5)) for _ in range(5)], log)
        hops.append([(m.step, m.source, m.destination, m.chunk) for m in log.messages])
    assert hops[0] == hops[1]
    assert prove(play([schedule(rank, 5) for rank in range(5)]), 5).optimal


def mutants(hops, at, size):
    """Every way in which hop `at` of one rank can be wrong, each as a whole schedule.

    Left out are only those that change nothing: the same peer, and what a half hop lacks.
    """
    sent, to, received, frm, adds = hops[at]
    changed = {
        "dropped": [],
        "doubled": [hops[at]] * 2,
        "send dropped": [(None, None, received, frm, adds)],
        "receive dropped": [(sent, to, None, None, adds)],
        "add and copy exchanged": [(sent, to, received, frm, not adds)],
    }
    for other in range(size):
        if other != to and sent is not None:
            changed[f"sent to {other}"] = [(sent, other, received, frm, adds)]
        if other != frm and received is not None:
            changed[f"expected from {other}"] = [(sent, to, received, other, adds)]
    for off in (1, -1):
        if sent is not None:
            changed[f"sent chunk off by {off}"] = [((sent + off) % size, to, received, frm, adds)]
        if received is not None:
            moved = (received + off) % size
            changed[f"received chunk off by {off}"] = [(sent, to, moved, frm, adds)]
    return {name: hops[:at] + hop + hops[at + 1 :] for name, hop in changed.items()}


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_every_mutation_of_one_rank_is_caught(size):
    tried, survivors = 0, []
    for rank, at in product(range(size), range(2 * (size - 1))):
        schedules = [schedule(r, size) for r in range(size)]
        for name, mutant in mutants(schedules[rank], at, size).items():
            tried += 1
            try:
                prove(play([*schedules[:rank], mutant, *schedules[rank + 1 :]]), size)
                survivors.append((rank, at, name))
            except CommError:
                pass
    assert survivors == []
    assert tried == size * 2 * (size - 1) * (5 + 2 * (size - 1) + 4)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_hop_doubled_on_both_sides_exceeds_the_bound_or_is_caught(size):
    """Sender and receiver agree to repeat a hop. In the gather the result stays right."""
    for rank, at in product(range(size), range(2 * (size - 1))):
        right = (rank + 1) % size
        schedules = [schedule(r, size) for r in range(size)]
        sent, to, _, _, adds = schedules[rank][at]
        schedules[rank].insert(at, (sent, to, None, None, adds))
        _, _, arriving, source, _ = schedules[right][at]
        schedules[right].insert(at, (None, None, arriving, source, adds))
        if adds:
            with pytest.raises(ProofError, match="is in it twice"):
                prove(play(schedules), size)
        else:
            proof = prove(play(schedules), size)
            more = [Fraction(r == rank, size) for r in range(size)]  # the sender's, no one else's
            assert proof.sent == tuple(proof.bound + extra for extra in more)
            assert not proof.optimal


def outcome(schedules):
    """How the schedules end on numbers: right, wrong, or stuck. Independent of the prover.

    Rank r holds (size+1)^r: a sum tells how often each rank is in it, whatever else it was mixed
    with, and chunk c is scaled by a prime of its own, so that chunks cannot stand for each other.
    """
    size = len(schedules)
    scale = (1009, 1013, 1019, 1021, 1031)[:size]
    arrays = [np.array([s * (size + 1) ** r for s in scale]) for r in range(size)]
    total = sum((size + 1) ** r for r in range(size))
    states = [Chunks(np.array_split(array, size)) for array in arrays]
    try:
        simulate(play(schedules), states)
    except ProtocolError:
        return "stuck"
    return "right" if all((a == [s * total for s in scale]).all() for a in arrays) else "wrong"


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_what_is_proved_is_right_on_numbers(data):
    """Several mutations at once, so that errors may mend each other: none slips through."""
    size = data.draw(st.integers(2, 4))
    schedules = [schedule(rank, size) for rank in range(size)]
    for _ in range(data.draw(st.integers(0, 3))):
        rank = data.draw(st.integers(0, size - 1))
        hops = schedules[rank]
        if hops:
            at = data.draw(st.integers(0, len(hops) - 1))
            every = mutants(hops, at, size)
            schedules[rank] = every[data.draw(st.sampled_from(sorted(every)))]
    ends = outcome(schedules)
    try:
        prove(play(schedules), size)
    except ProofError as error:
        stuck = error.verdict.kind in ("stuck", "misfit", "itself")
        assert ends != "right" and (ends == "stuck" or not stuck)
    else:
        assert ends == "right"


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_hop_left_out_on_both_sides_is_caught(size):
    """Sender and receiver agree to leave a hop out: no one is stuck, but someone lacks a rank."""
    for rank, at in product(range(size), range(2 * (size - 1))):
        right = (rank + 1) % size
        schedules = [schedule(r, size) for r in range(size)]
        sent, to, received, frm, adds = schedules[rank][at]
        schedules[rank][at] = (None, None, received, frm, adds)
        sent, to, received, frm, adds = schedules[right][at]
        schedules[right][at] = (sent, to, None, None, adds)
        assert outcome(schedules) == "wrong"
        with pytest.raises(ProofError):
            prove(play(schedules), size)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_another_chunk_agreed_on_by_both_sides_is_caught(size):
    """The message fits, but it is the wrong one."""
    for rank, at in product(range(size), range(2 * (size - 1))):
        right = (rank + 1) % size
        schedules = [schedule(r, size) for r in range(size)]
        sent, *rest = schedules[rank][at]
        schedules[rank][at] = ((sent + 1) % size, *rest)
        s, to, received, frm, adds = schedules[right][at]
        schedules[right][at] = (s, to, (received + 1) % size, frm, adds)
        assert outcome(schedules) == "wrong"
        with pytest.raises(ProofError):
            prove(play(schedules), size)


def test_a_chunk_that_is_sent_twice_names_the_second_hop():
    schedules = [schedule(rank, 3) for rank in range(3)]
    sent, to, _, _, _ = schedules[1][0]  # rank 1 sends its chunk 1 to rank 2 …
    schedules[1].insert(1, (sent, to, None, None, True))  # … and, in step 2, once more
    schedules[2].insert(1, (None, None, 1, 1, True))
    with pytest.raises(ProofError) as told:
        prove(play(schedules), 3)
    # By then rank 1 has added rank 0's chunk 0, but its chunk 1 is still its own alone.
    assert without_line(told.value) == (
        "first wrong hop: step 2, rank 1 → rank 2, chunk 1; "
        "on rank 2, chunk 1: rank 1 is in it twice"
    )


def test_a_copy_turned_into_a_sum_names_the_hop():
    schedules = [schedule(rank, 3) for rank in range(3)]
    schedules[0][2] = (*schedules[0][2][:4], True)  # in the gather's first step rank 0 adds
    # There rank 2 passes on the chunk it owns, (2 + 1) mod 3, finished: rank 0's own share is
    # in it, and so is what rank 0 held before, which was rank 0's share alone.
    with pytest.raises(ProofError) as told:
        prove(play(schedules), 3)
    assert without_line(told.value) == (
        "first wrong hop: step 3, rank 2 → rank 0, chunk 0; "
        "on rank 0, chunk 0: rank 0 is in it twice"
    )


def test_a_last_hop_that_is_left_out_is_the_one_that_never_came():
    schedules = [schedule(rank, 3) for rank in range(3)]
    schedules[0][3] = (None, None, *schedules[0][3][2:])
    sent, to, _, _, adds = schedules[1][3]
    schedules[1][3] = (sent, to, None, None, adds)
    # Rank 1 should get chunk 0 last, from rank 0; what it has of it are ranks 0 and 1.
    with pytest.raises(ProofError) as told:
        prove(play(schedules), 3)
    assert without_line(told.value) == (
        "rank 1 stops after step 4; chunk 0 of rank 1 still lacks rank 2, which rank 0 holds: "
        "the hop rank 0 → rank 1 never came"
    )


def test_all_gather_and_all_reduce_promise_different_things():
    # A reduce-scatter's own program fulfils neither promise.
    for goal in ("all_reduce", "all_gather"):

        @collective(goal, pieces=lambda size: size)
        def short(rank, size, x, owner=1):
            to, frm = (rank + 1) % size, (rank - 1) % size
            sent = (rank + owner) % size
            x[(sent - 1) % size] = yield Swap(x[sent], to, frm, x[(sent - 1) % size], sent)

        with pytest.raises(ProofError):
            prove(short, 4)


def test_the_first_wrong_hop_is_named():
    schedules = [schedule(rank, 4) for rank in range(4)]
    schedules[2][1] = (*schedules[2][1][:4], False)  # in its second step rank 2 forgets to add
    # Rank 2 then receives, from rank 1, the chunk that rank 0 sent first: chunk 0.
    with pytest.raises(ProofError) as told:
        prove(play(schedules), 4)
    assert without_line(told.value) == (
        "first wrong hop: step 2, rank 1 → rank 2, chunk 0; "
        "on rank 2, chunk 0: rank 2 is no longer in it"
    )


def test_a_ring_that_stops_early_lacks_ranks():
    @collective("all_reduce", pieces=lambda size: size)
    def lazy(rank, size, x):
        yield from ring.reduce_scatter(rank, size, x)

    # Rank 2 owns chunk 0 after two steps; rank 0 still has its own share of it alone.
    with pytest.raises(
        ProofError, match="stops after step 2; chunk 0 of rank 0 still lacks rank 1, 2"
    ):
        prove(lazy, 3)


def test_two_owners_of_one_chunk_are_told():
    @collective("reduce_scatter", pieces=lambda size: size)
    def greedy(rank, size, x):
        yield from ring.reduce_scatter(rank, size, x)
        return 0

    with pytest.raises(ProofError, match="chunk 0 is owned by rank 0, 1, 2 at the end"):
        prove(greedy, 3)


def test_mixed_chunks_are_told():
    schedules = [schedule(rank, 3) for rank in range(3)]
    sent, *rest = schedules[0][0]
    schedules[0][0] = ((sent + 1) % 3, *rest)
    with pytest.raises(ProofError, match="another chunk was put into it"):
        prove(play(schedules), 3)


def test_a_gather_that_copies_nothing_is_told():
    @collective("all_gather", pieces=lambda size: size)
    def silent(rank, size, x, owner=1):
        return
        yield

    with pytest.raises(
        ProofError, match="rank 0 stops before its first step; chunk 1 of rank 0 still lacks rank 1"
    ):
        prove(silent, 3)


def test_a_chunk_that_is_wrong_before_any_message_is_told():
    @collective("all_reduce", pieces=lambda size: size)
    def doubles(rank, size, x):
        x[0] = x[0] + x[0]
        yield from ring.all_reduce(rank, size, x)

    with pytest.raises(ProofError, match=r"before any message; .*: rank 0 is in it twice"):
        prove(doubles, 3)


def test_one_chunk_under_two_names_has_no_two_owners():
    @collective("reduce_scatter", pieces=lambda size: size)
    def greedy(rank, size, x):
        yield from ring.all_reduce(rank, size, x)
        return [2, -1, 0][rank]

    with pytest.raises(ProofError, match="rank 1 returns -1; a reduce-scatter returns the chunk"):
        prove(greedy, 3)


def test_a_reduce_scatter_that_returns_nothing_is_told():
    @collective("reduce_scatter", pieces=lambda size: size)
    def silent(rank, size, x):
        yield from ring.reduce_scatter(rank, size, x)

    with pytest.raises(ProofError, match="rank 0 returns None; a reduce-scatter returns"):
        prove(silent, 2)


def test_a_goal_that_does_not_exist():
    with pytest.raises(ValueError, match="goal is 'allreduce'; it must be one of reduce_scatter"):
        collective("allreduce", pieces=lambda size: size)
