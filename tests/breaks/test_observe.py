"""What each bug does to the loss, and what tells it, follows from what the bug is."""

import math

import pytest

from zerolit.breaks import BUGS, observe, off_at_first, seen_at, told_by
from zerolit.breaks.observe import BATCH, SIZE, _observe
from zerolit.gpt import Config

TOLD = {  # reasoned out, not copied: what sums wrongly, what parts ranks, what keeps or sends more
    "mean-of-means": ["first step"],
    "divided-twice": ["first step"],
    "never-averaged": ["first step"],
    "same-data": ["first step"],
    "own-start": ["first step", "ranks"],
    "never-reduced": ["first step", "ranks", "sent"],
    "overwritten": ["proof", "first step"],
    "other-chunk": ["first step"],
    "gathered-too-early": ["ranks"],
    "last-micro-batch": ["first step"],
    "local-clip": ["first step"],
    "tied-once": ["first step", "stored"],
    "bf16-sum": ["first step"],
    "whole-optimizer": ["stored"],
    "never-released": ["stored"],
    "all-reduced-first": ["sent"],
}


@pytest.mark.parametrize("name", BUGS)
def test_what_tells_a_bug(name):
    assert told_by(name) == TOLD[name]


@pytest.mark.parametrize("name", BUGS)
def test_the_right_code_is_told_by_nothing(name):
    right = observe(name, "adamw", False)
    assert off_at_first(name, wrong=False) < 1e-5 and right.apart == 0


@pytest.mark.parametrize(
    ("name", "off"), [("divided-twice", 1 - 1 / SIZE), ("never-averaged", SIZE - 1)]
)
def test_a_wrong_factor_is_off_by_that_factor(name, off):
    """After one SGD step from the same start, which is linear in the gradient."""
    assert off_at_first(name) == pytest.approx(off, rel=1e-4)


@pytest.mark.parametrize("name", ["divided-twice", "never-averaged", "bf16-sum"])
def test_adamw_hides_what_is_a_factor_or_small(name):
    assert seen_at(name, "adamw") is None


@pytest.mark.parametrize("name", ["whole-optimizer", "never-released", "all-reduced-first"])
def test_waste_leaves_the_bits_as_they_are(name):
    right, wrong = (observe(name, "adamw", bug) for bug in (False, True))
    assert wrong.losses == right.losses and wrong.apart == 0


def test_waste_is_counted_in_parameters():
    """m and v whole, not a quarter: 2(1 − 1/p)Ψ more; the gradients sent all round: 1½ times."""
    size, n = SIZE, _elements()
    right, wrong = (observe("whole-optimizer", "adamw", bug).stored for bug in (False, True))
    assert wrong - right == 2 * (n - n // size)
    right, wrong = (observe("all-reduced-first", "adamw", bug).sent for bug in (False, True))
    assert wrong - right == (size - 1) * n // size


def _elements() -> int:
    """Of the model's units, each padded to a multiple of the ranks."""
    c = Config(layers=1, width=32, heads=2, context=32)
    w = c.width
    embedding, head = (c.vocab + c.context) * w, 2 * w + c.vocab * w
    block = 2 * 2 * w + (3 * w + w) * (w + 1) + 4 * w * (w + 1) + w * (4 * w + 1)
    return sum(math.ceil(unit / SIZE) * SIZE for unit in (embedding, block, head))


def test_the_ranks_have_unequal_shares():
    assert BATCH % SIZE


def test_bugs_that_need_the_same_share_the_right_run():
    _observe.cache_clear()
    for name in ("divided-twice", "never-averaged"):
        observe(name, "sgd", False)
    assert _observe.cache_info().misses == 1


def test_the_bug_that_draws_is_the_same_each_time():
    first = observe("own-start", "adamw").losses
    _observe.cache_clear()
    assert observe("own-start", "adamw").losses == first
