"""Exercise 11: what people write instead of ZeRO-1, and what they hear."""

import pytest

from zerolit.exercises import find, programs

from .graded import Answer, judged

WRONG = [
    Answer(
        "zero1",
        "an optimizer that shards nothing",
        "the parameters are right, but rank 0 of 2 holds 18 numbers after the step; 12 are enough: "
        "6 parameters, and m and v for its own 3 only",
        "参数正确，但 2 个 rank 时 rank 0 在一步之后存 18 个数；12 个就够："
        "6 个参数，加上自己那 3 个参数的 m 和 v",
        text=programs.source(find("zero1"), "skeletons"),
    ),
]


@pytest.mark.parametrize("answer", WRONG, ids=str)
def test_a_wrong_solution_hears_what_is_wrong_first(answer):
    verdict = judged(answer.exercise, answer.source)
    assert verdict.sentence("en") == answer.en
    assert verdict.sentence("zh") == answer.zh


def test_the_solution_is_right():
    assert judged("zero1", programs.source(find("zero1"), "solutions")).right


def test_it_holds_on_real_processes():
    assert judged("zero1", programs.source(find("zero1"), "solutions"), "torch").right
