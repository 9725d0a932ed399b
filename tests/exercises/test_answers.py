"""The grader is graded: wrong solutions hear what is wrong first, right ones pass."""

from collections import Counter

import pytest

from zerolit.exercises import NAMES, find

from .graded import judged, skeleton, solution
from .right import RIGHT
from .wrong import WRONG

ON_PROCESSES = [name for name in NAMES if find(name).engine]


@pytest.mark.parametrize("answer", WRONG, ids=str)
def test_a_wrong_solution_hears_what_is_wrong_first(answer):
    verdict = judged(answer.exercise, answer.source)
    assert verdict.sentence("en") == answer.en
    assert verdict.sentence("zh") == answer.zh


@pytest.mark.parametrize("exercise", NAMES)
def test_without_the_change_it_is_right(exercise):
    """The control beside the wrong ones."""
    assert judged(exercise, solution(exercise)).right


@pytest.mark.parametrize(("exercise", "title"), RIGHT)
def test_a_right_solution_in_another_style(exercise, title):
    verdict = judged(exercise, RIGHT[exercise, title])
    assert verdict.right, verdict


@pytest.mark.parametrize("exercise", NAMES)
def test_the_skeleton_runs_and_is_wrong(exercise):
    assert judged(exercise, skeleton(exercise)).kind not in ("right", "exception", "timeout")


def test_there_are_five_wrong_and_three_right_of_each():
    wrong, right = Counter(a.exercise for a in WRONG), Counter(name for name, _ in RIGHT)
    assert {name for name in NAMES if wrong[name] < 5} == set()
    assert {name for name in NAMES if right[name] < 3} == set()


@pytest.mark.parametrize("exercise", ON_PROCESSES)
def test_the_solution_holds_on_real_processes(exercise):
    verdict = judged(exercise, solution(exercise), "torch")
    assert verdict.right, verdict


def test_a_program_that_is_proved_and_adds_nothing_on_processes():
    first = "    p = len(ranks)\n"
    forgets = "    adds = adds and not hasattr(x[0], 'numel')\n"  # of tensors only
    text = solution("two-level").replace(first, first + forgets)
    assert judged("two-level", text).right
    verdict = judged("two-level", text, "torch")
    assert verdict.sentence("en") == (
        "on 4 processes, rank 0 does not end with the sum of all vectors"
    )
    assert verdict.sentence("zh") == "4 个进程上，rank 0 最后得到的不是所有向量之和"
