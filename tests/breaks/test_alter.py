"""One passage is exchanged, everywhere the function is called, and put back."""

import numpy as np
import pytest

from zerolit.breaks import BUGS, broken, diff, find
from zerolit.breaks.alter import altered
from zerolit.comm import ring, ring_all_reduce
from zerolit.zero.train import share_out


def sums() -> list[list[int]]:
    """Every rank's array after an all-reduce of 1, 10 and 100."""
    arrays = [np.full(3, 10**rank) for rank in range(3)]
    return [array.tolist() for array in ring_all_reduce(arrays)]


def test_all_who_call_the_function_call_the_altered_one_and_it_is_put_back():
    before = sums()
    assert before == 3 * [3 * [111]]
    with altered(ring.reduce_scatter, "+= yield swap", "= yield swap"):
        assert sums() != before
    assert sums() == before


def test_it_is_put_back_after_an_error():
    before = sums()
    with pytest.raises(KeyError), altered(ring.reduce_scatter, "+= yield swap", "= yield swap"):
        raise KeyError
    assert sums() == before


def test_an_error_in_altered_code_names_its_line():
    line = share_out.__code__.co_firstlineno
    with (
        altered(share_out, "parts = zip(", "parts = 1 // 0, zip("),
        pytest.raises(ZeroDivisionError) as error,
    ):
        share_out(None, None, 1, 1)
    assert error.traceback[-1].frame.code.raw.co_firstlineno == line


@pytest.mark.parametrize(("old", "times"), [("nowhere", 0), ("size", 3)])
def test_a_passage_that_is_not_there_once(old, times):
    told = rf"'{old}' is {times} times in share_out; it must be once"
    with pytest.raises(ValueError, match=told), altered(share_out, old, ""):
        pass


@pytest.mark.parametrize("name", BUGS)
def test_every_bug_alters_one_place_and_says_which(name):
    where, *lines = diff(find(name)).splitlines()
    assert where == f"{find(name).function.__module__}.{find(name).function.__qualname__}"
    assert {line[0] for line in lines} <= {"+", "-"} and len(lines) <= 4
    with broken(name):
        pass


def test_there_are_sixteen_with_threads_of_their_own():
    assert len(BUGS) == 16 == len({bug.thread for bug in BUGS.values()})


def test_an_unknown_bug():
    with pytest.raises(ValueError, match=r"bug is 'rust'; it must be one of mean-of-means, "):
        find("rust")
