"""Part R: trees of sums, a step's messages, parts of the traffic, whom a misfit is blamed on."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from zerolit.book import order_of_the_sum, real_processes, when_a_rank_dies, your_own
from zerolit.comm import CommLog, Swap
from zerolit.engine.count import Call
from zerolit.engine.stock import Trained
from zerolit.press.page import open_page

LEDGER = Path(__file__).parents[2] / "docs/ledger.json"


@pytest.fixture(params=["en", "zh"])
def page(request):
    yield open_page("", request.param)
    open_page("", "en")


# R.3


def test_a_sum_is_read_as_the_tree_that_it_is():
    assert order_of_the_sum.read_sum("0+(3+(2+1))") == (0, (3, (2, 1)))
    assert order_of_the_sum.read_sum("((0+1)+(2+3))+4") == (((0, 1), (2, 3)), 4)


@pytest.mark.parametrize(("tree", "path"), [(7, 0), ((0, (3, (2, 1))), 3), (((0, 1), (2, 3)), 2)])
def test_the_longest_path_counts_additions(tree, path):
    assert order_of_the_sum.longest_path(tree) == path


def test_a_ring_is_as_deep_as_it_is_long_and_pairs_as_their_logarithm(page):
    order_of_the_sum.trees_figure(8)
    shown = {name.removeprefix("sum-trees."): value for name, value, *_ in page.records}
    assert shown == {"p": 8, "ring": 7, "tree": 3, "halving": 3}


def test_float32_keeps_what_bf16_loses():
    bf16 = order_of_the_sum.sum_error("ring right", 16)
    assert order_of_the_sum.sum_error("ring right", 16, torch.float32) < 1e-6 < bf16 < 2**-4


def test_another_border_is_another_order(page):
    table = order_of_the_sum.borders_table(10, 4, element=3)
    assert [row[1:] for row in table.rows] == [
        ("3 + 3 + 2 + 2", 1, "1+(2+(3+0))"),  # to the left: chunk c begins at rank c - 1
        ("4 + 4 + 2 + 0", 0, "0+(1+(2+3))"),
    ]


# R.1


def step_of_two_units(size: int) -> CommLog:
    """The messages of a ZeRO-3 step with two units, as far as a picture needs them."""
    log, once = CommLog(size), size - 1
    phases = ["tokens"] + ["parameters"] * 3 * once
    phases += ["gradients"] * once + ["parameters"] * once + ["gradients"] * once + ["loss"]
    for number, phase in enumerate(phases, start=1):
        for rank in range(size):
            to = (rank + 1) % size
            log.add(number, rank, Swap(np.zeros(3), to=to, phase=phase))
    return log


def test_the_backward_pass_begins_with_gathering_the_last_unit_again():
    spans = real_processes.parts_of_step(step_of_two_units(4))
    assert spans == {"tokens": (1, 2), "forward": (2, 8), "backward": (8, 20), "loss": (20, 21)}
    units = real_processes.units_of_step(spans, 4)
    assert units == [(0, 2, 5), (1, 5, 8), (1, 8, 14), (0, 14, 20)]


def test_the_simulated_step_is_told_apart():
    log = real_processes.simulated_step(3, 2)
    spans = real_processes.parts_of_step(log)
    found = {
        part: {m.phase for m in log.messages if first <= m.step < last}
        for part, (first, last) in spans.items()
    }
    assert found == {
        "tokens": {"tokens"},
        "forward": {"parameters"},
        "backward": {"parameters", "gradients"},
        "loss": {"loss"},
    }
    assert list(map(len, real_processes.by_rank(log))) == [14, 14]  # 3 for each of 4 units, 2 sums


def test_gloos_reduce_scatter_is_half_in_vain():
    psi = torch.zeros(8)
    calls = [Call("_allgather_base_", psi.nbytes, 4), Call("_reduce_scatter_base_", psi.nbytes, 4)]
    rank = Trained(psi, [], calls, None, Counter())
    assert real_processes.parts_of([rank] * 4) == {
        "all-gather": 0.75,
        "reduce-scatter": 0.75,
        "surcharge": 0.75,
    }


# R.2


def test_the_rank_with_another_shape_is_in_most_misfits():
    messages = when_a_rank_dies.first_messages((6, 9, 6))
    assert messages == [(0, 1, 2, 3), (1, 2, 3, 2), (2, 0, 2, 2)]
    assert [when_a_rank_dies.misfits(messages, rank) for rank in range(3)] == [1, 2, 1]


def test_every_sentence_of_the_launcher_is_told_in_chinese():
    results = json.loads(LEDGER.read_text())["results"]
    sentences = results["faults.told"]["value"] + results["restarts.told"]["value"]
    sentences.append(
        "rank 1 expects (2,) torch.float32 in phase 'loss' from rank 0, which sends (3,) "
        "torch.float32 in phase 'loss' (exchanging, phase 'loss')"
    )
    for sentence in sentences:
        word = when_a_rank_dies.told(sentence)
        assert word == sentence and word.words.fill("en") == sentence
        english = re.findall(r"[A-Za-z]+", word.words.fill("zh").split("ValueError")[0])
        names = {"rank", "SIGKILL", "torch", "float", "loss", "gradients", "parameters", "tokens"}
        assert set(english) <= names, word.words.zh


# R.4


def test_adamw_does_not_feel_a_constant_factor_and_sgd_does():
    adamw, larger = (your_own.losses("adamw", factor, 5) for factor in (1, 4))
    assert adamw[-1] < adamw[0] / 2
    assert max(abs(a - b) for a, b in zip(adamw, larger, strict=True)) < 1e-4
    assert your_own.losses("sgd", 1, 5)[-1] < 1 < 1000 < your_own.losses("sgd", 4, 5)[-1]
