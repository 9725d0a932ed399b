"""The prover: right programs pass, and every wrong one is caught."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from zerolit.comm import (
    Chunks,
    CommError,
    CommLog,
    ProofError,
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
@pytest.mark.parametrize("p", [*range(1, 10), 16])
def test_rings_are_proved_and_reach_the_bound(program, direction, owner, p):
    proof = prove(program, p, direction=direction, owner=owner)
    halves = 2 if program is ring.all_reduce else 1
    assert proof.steps == halves * (p - 1)
    assert proof.sent == (Fraction(halves * (p - 1), p),) * p
    assert proof.bound == Fraction(halves * (p - 1), p) and proof.optimal


def test_a_large_ring_is_proved():
    assert prove(ring.all_reduce, 64).optimal


@pytest.mark.parametrize("p", [1, 2, 3, 4, 16])
def test_the_server_is_proved_but_not_optimal(p):
    proof = prove(server.all_reduce, p)
    assert proof.sent == (p - 1, *[1] * (p - 1)) if p > 1 else (0,)
    assert proof.optimal == (p <= 2)


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


def test_the_schedule_is_the_ring():
    hops = []
    for program in (ring.all_reduce, play([schedule(rank, 5) for rank in range(5)])):
        log = CommLog(5)
        simulate(program, [Chunks(np.array_split(np.ones(5), 5)) for _ in range(5)], log)
        hops.append([(m.step, m.source, m.destination, m.chunk) for m in log.messages])
    assert hops[0] == hops[1]
    assert prove(play([schedule(rank, 5) for rank in range(5)]), 5).optimal


def mutants(hops, at, size):
    """Every way in which hop `at` of one rank can be wrong, each as a whole schedule."""
    sent, to, received, frm, adds = hops[at]
    changed = {
        "dropped": [],
        "doubled": [hops[at]] * 2,
        "send dropped": [(None, -1, received, frm, adds)],
        "receive dropped": [(sent, to, None, -1, adds)],
        "add and copy exchanged": [(sent, to, received, frm, not adds)],
    }
    for other in range(size):
        if other != to:
            changed[f"sent to {other}"] = [(sent, other, received, frm, adds)]
        if other != frm:
            changed[f"expected from {other}"] = [(sent, to, received, other, adds)]
    for off in (1, -1):
        changed[f"sent chunk off by {off}"] = [((sent + off) % size, to, received, frm, adds)]
        changed[f"received chunk off by {off}"] = [(sent, to, (received + off) % size, frm, adds)]
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
        schedules[rank].insert(at, (sent, to, None, -1, adds))
        _, _, arriving, source, _ = schedules[right][at]
        schedules[right].insert(at, (None, -1, arriving, source, adds))
        if adds:
            with pytest.raises(ProofError, match="is in it twice"):
                prove(play(schedules), size)
        else:
            proof = prove(play(schedules), size)
            assert max(proof.sent) == proof.bound + Fraction(1, size) and not proof.optimal


def test_the_first_wrong_hop_is_named():
    schedules = [schedule(rank, 4) for rank in range(4)]
    schedules[2][1] = (*schedules[2][1][:4], False)  # in its second step rank 2 forgets to add
    # Rank 2 then receives, from rank 1, the chunk that rank 0 sent first: chunk 0.
    with pytest.raises(ProofError) as told:
        prove(play(schedules), 4)
    assert str(told.value) == (
        "first wrong hop: step 2, rank 1 → rank 2, chunk 0; "
        "on rank 2, chunk 0: rank 2 is no longer in it"
    )


def test_a_ring_that_stops_early_lacks_ranks():
    @collective("all_reduce", pieces=lambda size: size)
    def lazy(rank, size, x):
        yield from ring.reduce_scatter(rank, size, x)

    # Chunk 0 starts on rank 0; after step 1 rank 1 holds it for ranks 0 and 1 only.
    with pytest.raises(ProofError, match="rank 0 ends with chunk 0 lacking rank 1, 2"):
        prove(lazy, 3)


def test_two_owners_of_one_chunk_are_told():
    @collective("reduce_scatter", pieces=lambda size: size)
    def greedy(rank, size, x):
        yield from ring.reduce_scatter(rank, size, x)
        return 0

    with pytest.raises(ProofError, match=r"owning chunks \[0, 0, 0\]; each must own another one"):
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

    with pytest.raises(ProofError, match="none came at all"):
        prove(silent, 3)
