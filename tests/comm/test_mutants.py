"""Every mutant of the four programs is refused, or shown to do the same."""

from collections import Counter

import numpy as np
import pytest

from zerolit.comm import Chunks, CommLog, examine, halving, ring, server, simulate, tree

from .mutants import Slow, at_most, load, mutants

SOURCES = {
    "ring": ((ring.reduce_scatter, ring.all_gather, ring.all_reduce), (3, 4)),
    "halving": ((halving.all_reduce, halving._around), (4, 8)),
    "tree": ((tree.all_reduce,), (3, 4, 5)),
    "server": ((server.all_reduce,), (3, 4)),
}
PRIMES = [1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091, 1093]


def numbers(program, size):
    """Whether every rank ends with the sums, and what each has sent; by numbers alone.

    Of one length that the ranks divide, and of all up to the next one. Rank r holds (size + 1)^r,
    times a prime for each place, so that no other sum is the same.
    """
    primes = np.array(PRIMES[: 2 * size - 1])
    for length in range(2 * size - 1, size - 1, -1):
        arrays = [primes[:length] * (size + 1) ** rank for rank in range(size)]
        total = sum(arrays)
        log = CommLog(size)
        states = [Chunks(np.array_split(array, program.pieces(size))) for array in arrays]
        simulate(program, states, log)
        if not all((array == total).all() for array in arrays):
            return False, None
    return True, log.sent


@pytest.fixture(scope="module")
def outcomes():
    """What came of each mutant, by program: [(outcome, source)]."""
    return {name: list(tried(*SOURCES[name])) for name in SOURCES}


def tried(functions, sizes):
    right = next(program for program in functions if program.__name__ == "all_reduce")
    traffic = {size: numbers(right, size)[1] for size in sizes}
    for source in dict.fromkeys(mutants(*functions)):
        try:
            program = load(source, "all_reduce")
        except Exception:
            yield "does not load", source
            continue
        yield judged(program, sizes, traffic), source


@pytest.mark.parametrize("name", SOURCES)
def test_every_mutant_is_refused_or_does_the_same(name, outcomes):
    for outcome, count in sorted(Counter(how for how, _ in outcomes[name]).items()):
        print(f"{name}: {count} {outcome}")
    disagree = ("right by proof, wrong by numbers", "refused, right by numbers")
    assert [found for found in outcomes[name] if found[0] in disagree] == []


def test_there_are_500_that_load_and_run(outcomes):
    ran = [how for found in outcomes.values() for how, _ in found]
    assert sum(how not in ("does not load", "does not run") for how in ran) >= 500


def judged(program, sizes, traffic):
    try:
        with at_most(0.3):
            verdicts = (examine(program, size) for size in sizes)
            wrong = next((verdict for verdict in verdicts if not verdict.right), None)
    except Slow:
        return "computes for ever"
    if wrong is not None:
        if wrong.what.get("error", "").startswith(("NameError", "UnboundLocalError")):
            return "does not run"
        return "refused" if not right_by_numbers(program, sizes) else "refused, right by numbers"
    results = [numbers(program, size) for size in sizes]
    if not all(right for right, _ in results):
        return "right by proof, wrong by numbers"
    sent = [sent for _, sent in results]
    return "the same" if sent == list(traffic.values()) else "right, other traffic"


def right_by_numbers(program, sizes):
    try:
        with at_most(0.3):
            return all(numbers(program, size)[0] for size in sizes)
    except (Exception, Slow):
        return False
