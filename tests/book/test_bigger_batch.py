"""The pictures of 3.3: what they mark, merge and call by name."""

import pytest
import torch

from zerolit.book import bigger_batch as book
from zerolit.book.figure import _lines, canvas
from zerolit.press.page import open_page
from zerolit.zero import TINY_GPT, Apart, Step

KEY, OTHER = "1.attention.qkv.bias.key", "2.down.weight"


@pytest.fixture(params=["en", "zh"])
def language(request):
    open_page("", request.param)
    yield request.param
    open_page("", "en")


def apart(*gaps: float, gradient: float = 1e-3) -> Apart:
    gap = torch.tensor(gaps, dtype=torch.float64)
    return Apart(torch.full_like(gap, gradient), gap / 10, gap)


def test_key_biases_are_those_of_all_layers_and_nothing_else():
    step = {KEY: apart(1, 2), OTHER: apart(3), KEY.replace("1", "2", 1): apart(4)}
    step["1.attention.qkv.bias.query"] = apart(5)
    assert book.key_biases(step).parameter_gap.tolist() == [1, 2, 4]


def test_the_farthest_is_found_by_its_largest_element():
    assert book.farthest({KEY: apart(2, 2, 2), OTHER: apart(0, 3)}) == OTHER


def test_cells_beside_each_other_in_a_row_are_one_rectangle():
    path = book._squares({(0, 0), (1, 0), (3, 0), (0, 1)})
    boxes = [p.get_extents() for p in map(type(path), path.vertices.reshape(-1, 5, 2))]
    tenth = 10 ** (1 / book._CELLS)
    found = {tuple(round(v, 9) for v in (box.x0, box.x1, box.y0, box.y1)) for box in boxes}
    wanted = [(1, tenth**2, 1, tenth), (tenth**3, tenth**4, 1, tenth), (1, tenth, tenth, tenth**2)]
    assert found == {tuple(round(v, 9) for v in box) for box in wanted}


def test_a_cell_is_where_the_element_lies_and_key_biases_have_none():
    step = {KEY: apart(1e-8), OTHER: apart(2e-9, 0.0, 1e-20, gradient=2e-3)}
    ten = book._CELLS  # cells to a decade; 2 is 10^0.301
    assert book._cells(step) == {(-3 * ten + ten * 301 // 1000, -9 * ten + ten * 301 // 1000)}


def test_the_elements_are_told_in_both_languages(language):
    told = book.batch_elements({KEY: apart(3e-8, gradient=7e-12), OTHER: apart(2e-7, 1e-9)}, 4)
    words = ("key 的偏置", "权重的半个 ulp") if language == "zh" else ("key biases", "half an ulp")
    assert all(word in told for word in (*words, "2.down.weight", "3e-08", "2e-07"))
    assert 'class="zl-narrow"' in told


def test_a_curve_keeps_its_name_when_another_one_comes_or_goes():
    calm, wild = ([Step(None, 1.0, 1.0, gap, {KEY: gap})] * 3 for gap in (1e-9, 1e-5))
    for variants in ({"adamw 32": wild}, {"adamw 32": wild, "sgd 32": calm}):
        with canvas(4, 4) as figure:
            book._draw_gaps(figure, variants, (0.1, 0.1, 0.8, 0.8), (0.1, 0.9, 0.1))
        assert _lines(figure)["line-2"] == [1e-5] * 3
    assert _lines(figure)["line-6"] == [1e-9] * 3


def test_larger_weights_are_larger_matrices():
    for ours, theirs in zip(
        book.larger_weights(10).make_units(), TINY_GPT.make_units(), strict=True
    ):
        for grown, plain in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(grown, plain * 10 if plain.dim() == 2 else plain)
