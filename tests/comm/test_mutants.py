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
FOUND = Counter()


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


@pytest.mark.parametrize("name", SOURCES)
def test_every_mutant_is_refused_or_does_the_same(name):
    functions, sizes = SOURCES[name]
    traffic = {size: numbers(functions[-1 if name == "ring" else 0], size)[1] for size in sizes}
    wrong = []
    for source in dict.fromkeys(mutants(*functions)):
        try:
            program = load(source, "all_reduce")
        except Exception:
            FOUND[name, "does not load"] += 1
            continue
        outcome = judged(program, sizes, traffic)
        FOUND[name, outcome] += 1
        if outcome in ("right by proof, wrong by numbers", "refused, right by numbers"):
            wrong.append((outcome, source))
    for (which, outcome), count in sorted(FOUND.items()):
        print(f"{which}: {count} {outcome}")
    assert wrong == []


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


def test_there_are_500_that_load_and_run():
    if len({name for name, _ in FOUND}) < len(SOURCES):
        pytest.skip("counts the mutants of the tests before it")
    ran = sum(n for (_, how), n in FOUND.items() if how not in ("does not load", "does not run"))
    assert ran >= 500
