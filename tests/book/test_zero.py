"""3.4's pictures: what a watched step tells, against what the stages promise."""

import re

import pytest

from zerolit.book.one_step import one_step
from zerolit.book.zero import _phases, cards_figure, cut_figure, moments_figure, recipes_table
from zerolit.press.page import open_page

P = 4
PSI = 111_872  # of the tiny GPT; every unit is divided by 4 without padding
BLOCK = 49_984  # 12·64² weights, 13·64 biases and gains of a block of width 64


@pytest.fixture(scope="module")
def steps():
    return [one_step(stage, P) for stage in range(4)]


def story(one, rank=0):
    """A card's moments in short: what it does to which unit."""
    short = {"reduce-scatter": "scatter", "all-gather": "gather"}
    return [f"{short.get(m.what, m.what)} {m.unit}" for m in one.moments[rank]]


UP, DOWN = range(4), (3, 2, 1, 0)
FORWARD, BACKWARD = [f"forward {u}" for u in UP], [f"backward {u}" for u in DOWN]


def test_what_each_stage_does_in_which_order(steps):
    update = [f"update {u}" for u in UP]
    update_and_gather = [f"{what} {u}" for u in UP for what in ("update", "gather")]
    backward_and_scatter = [f"{what} {u}" for u in DOWN for what in ("backward", "scatter")]
    both = [f"{what} {u}" for u in UP for what in ("scatter", "gather")]
    assert story(steps[0]) == FORWARD + BACKWARD + both + update
    scatter = [f"scatter {u}" for u in UP]
    assert story(steps[1]) == FORWARD + BACKWARD + scatter + update_and_gather
    assert story(steps[2]) == FORWARD + backward_and_scatter + update_and_gather
    gathered = [f"{what} {u}" for u in UP for what in ("gather", "forward")]
    again = [f"{what} {u}" for u in DOWN for what in ("gather", "backward", "scatter")]
    assert story(steps[3]) == gathered + again + update


def test_every_card_does_the_same_and_sends_to_its_right(steps):
    for one in steps:
        assert all(story(one, rank) == story(one) for rank in range(P))
        for rank, moments in enumerate(one.moments):
            assert {m.to for m in moments} == {None, (rank + 1) % P}


def test_two_collectives_a_unit_and_three_in_zero_3(steps):
    for one, times in zip(steps, (2, 2, 2, 3), strict=True):
        for moments in one.moments:
            assert sum(m.elements for m in moments) == times * (P - 1) * PSI // P
    moved = [(m.what, m.moved) for m in steps[3].moments[0] if m.to is not None]
    assert moved.count(("all-gather", "parameters")) == 8
    assert moved.count(("reduce-scatter", "gradients")) == 4


def test_what_is_held_between_uses_and_at_the_peak(steps):
    slice_ = PSI // P
    kept = [(PSI, PSI, PSI), (PSI, PSI, slice_), (PSI, slice_, slice_), (slice_,) * 3]
    for one, (parameters, gradients, m) in zip(steps, kept, strict=True):
        expected = {"parameters": parameters, "gradients": gradients, "m": m, "v": m}
        assert [dict(states) for states in one.states] == [expected] * P
    peaks = [max(m.held.total() for m in one.moments[0]) for one in steps]
    assert peaks == [4 * PSI, 5 * PSI // 2, 7 * PSI // 4 + BLOCK, PSI + 2 * BLOCK]


def test_the_parts_of_a_step(steps):
    found = [_phases(one.moments[0]) for one in steps]
    assert found[0] == [("forward", 0, 4), ("backward", 4, 8), ("sum", 8, 16), ("update", 16, 20)]
    assert found[1] == [("forward", 0, 4), ("backward", 4, 8), ("sum", 8, 12), ("update", 12, 20)]
    assert found[2] == [("forward", 0, 4), ("backward", 4, 12), ("update", 12, 20)]
    assert found[3] == [("forward", 0, 8), ("backward", 8, 20), ("update", 20, 24)]


def test_a_watched_step_is_a_step():
    from zerolit.zero import train

    for stage in (0, 3):
        assert train(stage, P, 1).moments == one_step(stage, P).notes


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_pictures_say_what_was_counted(steps, language):
    open_page("", language)
    pictures = [cards_figure(steps), moments_figure(steps), cut_figure()]
    open_page("", "en")
    told = [re.search(r'role="img" aria-label="([^"]+)"', picture)[1] for picture in pictures]
    assert all(picture.count('role="img"') == 2 for picture in pictures)  # wide, and for phones
    comma = "、" if language == "zh" else ", "
    counted = (["4", "2.5", "1.75", "1"], ["8", "8", "8", "12"], ["1.5", "1.5", "1.5", "2.25"])
    assert all(comma.join(numbers) in told[0] for numbers in counted)
    assert comma.join(["4.00", "2.50", "2.20", "1.89"]) in told[1]
    assert re.findall(r"\d+", told[2]) == ["16", "1", "24", "9"]


def test_bytes_by_recipe():
    # 7e9 parameters on 8 cards: 16, 4 + 12/8, 2 + 14/8 and 16/8 bytes each, and so on
    rows = {str(row[0]): (row[1], *row[2:]) for row in recipes_table(8).rows}
    assert rows["mixed"] == ("2 + 2 + 12", 112, 38.5, 26.25, 14)
    assert rows["float32"] == ("4 + 4 + 8", 112, 63, 38.5, 14)
    assert rows["float32 gradients"] == ("2 + 4 + 12", 126, 52.5, 28, 15.75)
    assert rows["no master"] == ("2 + 2 + 8", 84, 35, 22.75, 10.5)
