"""Guesses hear what differs."""

import pytest

from zerolit.breaks import BUGS, guess, hidden


def test_numbers_hide_every_bug_once():
    assert {hidden(number) for number in range(1, 17)} == set(BUGS)
    assert [hidden(number) for number in range(1, 17)] != list(BUGS)


@pytest.mark.parametrize("number", [0, 17])
def test_no_such_number(number):
    with pytest.raises(ValueError, match=rf"number is {number}; it must be 1 to 16"):
        hidden(number)


@pytest.fixture(scope="module")
def twice() -> int:
    return next(number for number in range(1, 17) if hidden(number) == "divided-twice")


def test_the_right_name(twice):
    assert guess(twice, "divided-twice") == (
        f"right: number {twice} is divided-twice: the gradient is divided by p once more. "
        "It is told by one SGD step beside one card"
    )
    assert guess(twice, "divided-twice", "zh") == (
        f"正确：第 {twice} 号是 divided-twice：梯度又除了一次 p。能发现它的是：与单卡对照一步 SGD"
    )


def test_a_name_that_other_checks_tell(twice):
    assert guess(twice, "never-released") == (
        "no: never-released is told by the count of what is stored, "
        f"number {twice} by one SGD step beside one card"
    )
    assert guess(twice, "never-released", "zh").startswith("不对：能发现 never-released 的是：存储")


def test_a_name_that_the_same_checks_tell(twice):
    told = guess(twice, "never-averaged")
    assert told.startswith("no: the same checks tell never-averaged, but after 18 steps its loss")
    assert guess(twice, "never-averaged", "zh").startswith("不对：能发现 never-averaged 的检查相同")


def test_no_such_name(twice):
    assert guess(twice, "rust").startswith("there is no bug 'rust'; the names are mean-of-means, ")
    assert guess(twice, "rust", "zh").startswith("没有名为 'rust' 的 bug；名字有 mean-of-means, ")
