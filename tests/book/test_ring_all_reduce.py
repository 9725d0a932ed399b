"""3.1's tables and figures say what the ring did."""

import numpy as np
import pytest

from zerolit.book.circle import draw_cells
from zerolit.book.figure import SERIES, canvas
from zerolit.book.ring_all_reduce import gradients_table, ring_bound, ring_round
from zerolit.comm import CommLog, parameter_server_all_reduce, ring_all_reduce
from zerolit.press.page import current, open_page


@pytest.fixture(params=["en", "zh"])
def language(request):
    open_page("", request.param)
    yield request.param
    open_page("", "en")


def logged(program, size):
    log = CommLog(size)
    program([np.ones(2 * size)] * size, log)
    return log


def recorded():
    return {name: value for name, value, *_ in current().records}


def test_each_step_shows_the_chunks_that_the_formula_says(language):
    html = ring_round(logged(ring_all_reduce, 4))
    found = recorded()
    for step in range(1, 7):
        expected = [(rank - step + 1) % 4 for rank in range(4)]
        assert found[f"ring-round.step-{step}"] == expected
    assert html.count("reduce-scatter") == html.count("all-gather") == 6  # wide, and for phones
    words = "第 3 块" if language == "zh" else "chunk 3"
    assert html.count(f">{words}<") == 12  # once in each of 6 panels, in both layouts


def test_a_ring_of_another_size_has_another_way():
    open_page("", "en")
    with pytest.raises(ValueError):  # six steps have six panels; a ring of 3 has four
        ring_round(logged(ring_all_reduce, 3))


def test_before_and_after_a_first_card_has_the_sum(language):
    """p - 1 sends and p - 1 more, whatever the method."""
    logs = {
        "ring": logged(ring_all_reduce, 4),
        "server": logged(parameter_server_all_reduce, 4),
    }
    html = ring_bound(logs)
    found = recorded()
    assert found["ring-bound.before"] == found["ring-bound.after"] == "3, 3"
    assert found["ring-bound.ring-from"] == [0, 1, 2, 3, 0, 1]  # chunk 0 goes round
    assert found["ring-bound.server-from"] == [1, 2, 3, 0, 0, 0]  # in, then out
    assert ("参数服务器" if language == "zh" else "parameter server") in html


def test_the_four_gradients_are_printed_with_their_sum(language):
    table = gradients_table([(rank + 1) * np.arange(8) for rank in range(4)])
    rows = table.text(language)
    assert rows[0][1:] == ["0 1", "2 3", "4 5", "6 7"]
    assert rows[3][1:] == ["0 4", "8 12", "16 20", "24 28"]
    assert rows[4] == ["和" if language == "zh" else "sum", "0 10", "20 30", "40 50", "60 70"]


def test_a_cell_has_a_stripe_for_each_share_in_it():
    with canvas(2, 2) as figure:
        ax = figure.subplots()
        cells = [((0, 0), frozenset({0, 2})), ((1, 0), frozenset({2}))]
        draw_cells(ax, cells, 4, 0.8, 1)
        colours = [patch.get_facecolor() for patch in ax.patches if patch.get_fill()]
        paths = [patch.get_path() for patch in ax.patches if patch.get_fill()]
    assert len(colours) == 2  # of rank 0 and of rank 2
    extents = [path.get_extents() for path in paths]
    assert (extents[0].x0, extents[0].x1) == pytest.approx((0, 0.2))  # the first quarter
    assert (extents[1].x0, extents[1].x1) == pytest.approx((0.4, 1.6))  # the third, in both cells
    assert SERIES[0] != SERIES[2]
