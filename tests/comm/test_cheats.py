"""Only messages move shares: whatever else is tried is refused by name."""

import copy
import gc
import pickle
import sys

import pytest

from zerolit.comm import Swap, collective, examine, order_of_sum, ring
from zerolit.comm.shares import Share

BOX: dict = {}


def cheat(kind, pieces=lambda size: size):
    """A ring, before which each rank does something that it should not."""

    def mark(trick):
        @collective("all_reduce", pieces=pieces)
        def program(rank, size, x):
            BOX.setdefault(rank, None)
            trick(rank, size, x)
            yield from ring.all_reduce(rank, size, x)

        program.kind, program.trick = kind, trick.__name__
        return program

    return mark


@cheat("forged")
def by_the_class_of_a_chunk(rank, size, x):
    x[0] = type(x[0])(0, range(size))


@cheat("forged")
def by_the_judges_own_class(rank, size, x):
    x[0] = Share(0, 7, 0, ())


@cheat("forged")
def by_an_empty_one(rank, size, x):
    x[0] = object.__new__(type(x[0]))


@cheat("changed")
def by_writing_into_it(rank, size, x):
    x[0]._value = (0, 2**size - 1, 0, ())


@cheat("changed")
def by_deleting_from_it(rank, size, x):
    del x[0]._value


@cheat("changed")
def by_pickling(rank, size, x):
    pickle.dumps(x[0])


@cheat("foreign")
def through_a_global(rank, size, x):
    BOX[rank] = x[rank]
    if rank:
        x[0] = x[0] + BOX[rank - 1]


@cheat("foreign")
def stored_from_a_global(rank, size, x):
    BOX[rank] = x[rank]
    if rank:
        x[rank - 1] = BOX[rank - 1]


@cheat("foreign")
def copied_through_a_global(rank, size, x):
    BOX[rank] = copy.deepcopy(x[rank])
    if rank:
        x[0] += copy.copy(BOX[rank - 1])


@cheat("foreign")
def written_into_anothers_chunk(rank, size, x):
    BOX[rank] = x[rank]
    if rank:
        BOX[rank - 1] += x[rank - 1]


@cheat("list")
def reading_anothers_list(rank, size, x):
    BOX[rank] = x
    if rank:
        x[0] = BOX[rank - 1][0]


@cheat("list")
def writing_into_anothers_list(rank, size, x):
    BOX[rank] = x
    if rank:
        BOX[rank - 1][0] = x[0]


@cheat("list")
def walking_through_anothers_list(rank, size, x):
    BOX[rank] = x
    if rank:
        list(BOX[rank - 1])


TRICKS = [value for value in list(globals().values()) if hasattr(value, "trick")]


@pytest.mark.parametrize("program", TRICKS, ids=lambda program: program.trick)
def test_it_is_refused_by_name(program):
    BOX.clear()
    verdict = examine(program, 3)
    assert verdict.kind == program.kind
    assert verdict.line is not None  # of the trick, in this file


def test_a_closure_over_all_states_is_refused():
    states = {}

    @collective("all_reduce", pieces=lambda size: 1)
    def together(rank, size, x):
        states[rank] = x[0]
        yield Swap(x[0], (rank + 1) % size, (rank - 1) % size, x[0])
        for r in range(size):
            if r != rank:
                x[0] = x[0] + states[r]

    verdict = examine(together, 3)
    assert (verdict.kind, verdict.rank, verdict.step, verdict.what) == (
        "foreign",
        0,
        1,
        {"other": 1},
    )


def test_sending_what_is_another_ranks_is_refused():
    @collective("all_reduce", pieces=lambda size: 1)
    def lent(rank, size, x):
        BOX[rank] = x[0]
        yield Swap(BOX.get(rank - 1, x[0]), (rank + 1) % size, (rank - 1) % size, x[0])

    BOX.clear()
    verdict = examine(lent, 3)
    assert (verdict.kind, verdict.rank, verdict.step) == ("foreign", 1, 1)


@collective("all_reduce", pieces=lambda size: size)
def round_python(rank, size, x):
    """Goes round the judge's guards; nothing can stop that within one process."""
    slot = vars(type(x[0]))["_value"]
    for c in range(size):
        slot.__set__(x[c], (c, 2**size - 1, 0, ()))
    if rank == 0:
        yield Swap(x[0], to=1)
    elif rank == 1:
        x[0] = yield Swap(frm=0, like=x[0])


@collective("all_reduce", pieces=lambda size: size)
def by_the_garbage_collector(rank, size, x):
    for other in gc.get_objects():
        if type(other) is type(x[0]) and other._place.rank == rank and other._value[0] >= 0:
            object.__setattr__(other, "_value", (other._value[0], 2**size - 1, 0, ()))
    return
    yield


@pytest.mark.parametrize("program", [round_python, by_the_garbage_collector])
def test_what_goes_round_python_meets_the_bound(program):
    """4 ranks must send 2·3 arrays in all."""
    verdict = examine(program, 4)
    assert verdict.kind == "below" and verdict.what["least"] == "6"


def test_a_global_that_only_decides_is_no_cheat():
    BOX.clear()

    @collective("all_reduce", pieces=lambda size: size)
    def informed(rank, size, x):
        BOX.setdefault("direction", 1)
        yield from ring.all_reduce(rank, size, x, direction=BOX["direction"])

    assert examine(informed, 4).right


def test_a_share_tells_what_it_is_and_no_more():
    seen = []

    @collective("all_reduce", pieces=lambda size: size)
    def curious(rank, size, x):
        seen.append(repr(x[1]))
        yield from ring.all_reduce(rank, size, x)
        seen.append(repr(x[1]))
        seen.append(repr(x[1] + x[1]))

    assert examine(curious, 2).right
    assert seen[0] == "<chunk 1 of 0>"
    assert {"<chunk 1 of 0+1>", "<chunk 1 of 0*+1*>"} <= set(seen)


def test_nothing_of_a_run_is_left_in_the_way():
    """A frame cannot be used to reach the judge's own list of what was broken."""

    @collective("all_reduce", pieces=lambda size: size)
    def nosy(rank, size, x):
        assert sys._getframe(0).f_locals["rank"] == rank
        yield from ring.all_reduce(rank, size, x)

    assert examine(nosy, 3).right
    assert order_of_sum(ring.all_reduce, 3) == order_of_sum(ring.all_reduce, 3)
