"""One thing wrong at one place: the verdict names that place, whatever goes wrong after it.

Located means: the step is the first in which the film (who sends which chunk to whom, with whose
shares, and what every rank then holds) is not the right program's, and the faulty rank is at an
end of the hop that is named. Where another order does no harm, the first step that does; where a
rank stands still, the step of its first swap that is wrong; for what is sent too early, the step
in which it leaves.
"""

from collections import Counter

import pytest

from zerolit.comm import prove

from .faults import PROGRAMS, faults, film, first_difference, first_harm, moves, offered, play

CASES = [
    ("ring", 3), ("ring", 4), ("ring", 5), ("halving", 4), ("halving", 8),
    ("tree", 3), ("tree", 4), ("tree", 5), ("server", 3), ("server", 4), ("server", 5),
]  # fmt: skip
STOPS = ("itself", "no_rank")  # these end the run in the middle of a step


@pytest.mark.parametrize(("name", "size"), CASES)
def test_moves_are_the_programs(name, size):
    program = PROGRAMS[name]
    schedules = [moves(program, rank, size) for rank in range(size)]
    played, program_s = film(play(schedules, program.pieces(size)), size), film(program, size)
    assert played[1] == program_s[1] and played[0].proof == program_s[0].proof == prove(
        program, size
    )


def places(name, size):
    """Every (kind, rank, move) with all programs that have this one fault."""
    pieces = PROGRAMS[name].pieces(size)
    schedules = [moves(PROGRAMS[name], rank, size) for rank in range(size)]
    for rank, hops in enumerate(schedules):
        for at in range(len(hops)):
            for kind, variants in faults(hops, at, size, pieces).items():
                yield kind, rank, hops[:at], hops[at], schedules, variants


def expected_steps(name, kind, verdict, right, wrong, rank, before, program, size):
    """The steps that the verdict may name."""
    if kind == "sent before adding":  # the hops alone: what is held is late by one step
        return {first_difference([hops for hops, _ in right], [hops for hops, _ in wrong])}
    steps = {first_difference(right, wrong[:-1] if verdict.kind in STOPS else wrong)}
    if "neighbour" in kind or "receiver" in kind or "sender" in kind or "a step" in kind:
        steps.add(offered(program, size, rank, before))
        if name in ("tree", "server"):
            steps.add(first_harm(right, wrong, rank))
    return steps


@pytest.mark.parametrize(("name", "size"), CASES)
def test_every_single_fault_is_located(name, size):
    pieces = PROGRAMS[name].pieces(size)
    proof, right = film(PROGRAMS[name], size)
    count, lost = Counter(), []
    for kind, rank, before, move, schedules, variants in places(name, size):
        if variants is None:
            count[kind, "cannot be"] += 1
            continue
        for variant in variants:
            program = play([*schedules[:rank], variant, *schedules[rank + 1 :]], pieces)
            verdict, wrong = film(program, size)
            if verdict.right:
                same = wrong == right and verdict.proof == proof.proof
                more = sum(verdict.proof.sent) > sum(proof.proof.sent)
                count[kind, "changes nothing" if same else "right, sends more"] += 1
                assert same or more, (kind, rank, move)
                continue
            made = [*before, move] if kind == "a step too many" else before
            steps = expected_steps(name, kind, verdict, right, wrong, rank, made, program, size)
            ends = {verdict.rank, *(verdict.hop or ())}
            found = rank in ends and verdict.step in steps
            count[kind, "located" if found else "lost"] += 1
            if not found:
                lost.append((kind, rank, len(before), steps, str(verdict)))
    for (kind, outcome), number in sorted(count.items()):
        print(f"{name} {size}: {kind}: {number} {outcome}")
    assert lost == []
    assert sum(n for (_, outcome), n in count.items() if outcome == "located") > 20


@pytest.mark.parametrize(
    "kind", ["add or overwrite", "wrong slot", "wrong chunk", "arrival ignored"]
)
def test_the_ring_of_four_has_24_places_of_each_kind(kind):
    """2·(4-1) steps on each of 4 ranks."""
    found = [1 for k, *_, variants in places("ring", 4) if k == kind for _ in variants]
    assert len(found) == 24


def test_an_arrival_that_is_ignored_in_step_1_is_named_though_it_is_missed_in_step_4():
    schedules = [moves(PROGRAMS["ring"], rank, 4) for rank in range(4)]
    (variant,) = faults(schedules[0], 0, 4, 4)["arrival ignored"]
    verdict, _ = film(play([variant, *schedules[1:]], 4), 4)
    # Rank 0 hears from rank 3, in step 1, of chunk 3.
    assert (verdict.kind, verdict.rank, verdict.step, verdict.hop, verdict.chunk) == (
        "dropped", 0, 1, (3, 0), 3,
    )  # fmt: skip
    assert verdict.what["ranks"] == [3]
