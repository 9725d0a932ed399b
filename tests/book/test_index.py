"""Home: its bar, its rings, and the map of the course."""

import numpy as np
import pytest

from zerolit.book.index import chapters, home_discs, memory_bar
from zerolit.comm import CommLog, ring_all_reduce
from zerolit.plan.memory import model_states
from zerolit.press.page import current, open_page
from zerolit.press.source import Source


@pytest.fixture(params=["en", "zh"])
def language(request):
    open_page("", request.param)
    yield request.param
    open_page("", "en")


def recorded():
    return {name: value for name, value, *_ in current().records}


def test_a_model_beside_a_card(language):
    html = memory_bar(model_states(7e9, stage=0, ranks=1), 80e9)
    found = recorded()
    assert found["home-memory.sizes"] == [14, 14, 28, 28, 28]  # 2 + 2 + 4 + 4 + 4 bytes
    assert found["home-memory.total"] == 112
    assert html.count(">112 GB<") == 2  # wide, and for phones
    assert ("主权重" if language == "zh" else "master weights") in html


def test_three_moments_of_a_ring(language):
    log = CommLog(4)
    ring_all_reduce([np.ones(4)] * 4, log)
    html = home_discs(log)
    found = recorded()
    assert found["home-discs.average"] == "1, 2.5, 4"  # 1; (1 + 2 + 3 + 4) / 4; 4
    assert found["home-discs.finished"] == "0, 1, 4"  # chunks on each card that have all shares
    assert sorted(found["home-discs.shares-1"]) == [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4
    assert ("3 步后" if language == "zh" else "after 3 steps") in html


def test_the_map_lists_pages_with_a_question(language):
    asked = Source(language, "a.md", ids=["a", "b"], title="3.1 A", meta={"question": "Why?"})
    silent = Source(language, "b.md", title="B")
    lab = Source(language, "c.md", title="Lab", meta={"question": "Can you?", "minutes": 100})
    table = chapters([asked, silent, lab])
    in_all = "| | 合计 | 2 小时 |" if language == "zh" else "| | in all | 2 hours |"
    assert table.splitlines()[2:] == [
        "| [3.1 A](a.md) | Why? | 10 |",  # two sections, to five minutes
        "| [Lab](c.md) | Can you? | 100 |",
        in_all,
    ]
    assert table.startswith("| 节 |" if language == "zh" else "| chapter |")
