"""Tables and figures: what they show, in both languages, and what they refuse."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import zerolit.book
from zerolit.book.figure import INK, SERIES, canvas, render
from zerolit.book.holding import holdings
from zerolit.book.ring_all_reduce import ring_steps
from zerolit.book.table import Column, Table
from zerolit.book.words import Word, Words, choose
from zerolit.comm import CommLog, ring_all_reduce
from zerolit.press.page import open_page

BOOK = Path(zerolit.book.__file__).parent
STEP, PHASE = Column("step", ",d", "step", "步"), Column("phase", "s", "phase", "阶段")
CAPTION = Words("{n} numbers", "{n} 个数")


@pytest.fixture(params=["en", "zh"])
def language(request):
    open_page("", request.param)
    yield request.param
    open_page("", "en")


@pytest.fixture
def log():
    log = CommLog(4)
    ring_all_reduce([np.ones(8)] * 4, log)
    return log


def pairs(tree: ast.AST):
    """Every English text beside its Chinese one: in Words, Word, Column, and tuples of two."""
    skip = {"Words": 0, "Word": 1, "Column": 2}
    for node in ast.walk(tree):
        parts = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in skip:
            parts = node.args[skip[node.func.id] :]
        elif isinstance(node, ast.Dict):
            yield from (v.elts for v in node.values if isinstance(v, ast.Tuple))
        if len(parts) >= 2:
            yield parts[:2]


def test_words_have_both_languages_with_the_same_blanks():
    found = 0
    for path in BOOK.glob("*.py"):
        for pair in pairs(ast.parse(path.read_text())):
            if not all(isinstance(part, ast.Constant) for part in pair):
                continue
            english, chinese = (part.value for part in pair)
            found += 1
            assert english and chinese, path
            blanks = [set(re.findall(r"\{(\w+)[:}]", words)) for words in (english, chinese)]
            assert blanks[0] == blanks[1], english
    assert found > 100


def test_a_word_that_is_unknown():
    with pytest.raises(ValueError, match="there are no words for 'nonsense'; there are for yes"):
        choose("nonsense", {"yes": ("yes", "是")})


def test_a_table_as_html(language):
    row = (1200, Word("yes", "yes", "是"))
    html = str(Table("traffic-counted", CAPTION, [STEP, PHASE], [row], {"n": 7}))
    assert 'id="traffic-counted"' in html and '<th scope="col"' in html
    assert '<td class="zl-number">1,200</td>' in html
    assert f"<td>{'是' if language == 'zh' else 'yes'}</td>" in html
    assert ("7 个数" if language == "zh" else "7 numbers") in html


def test_a_cell_is_escaped_and_none_is_a_dash():
    html = str(Table("ring-proofs", CAPTION, [STEP, PHASE], [(None, "<b>")], {"n": 1}))
    assert "<td>&lt;b&gt;</td>" in html and '<td class="zl-number">–</td>' in html


def test_a_row_of_another_length():
    with pytest.raises(ValueError, match="table ring-proofs: a row has 1 cells; it must have 2"):
        Table("ring-proofs", CAPTION, [STEP, PHASE], [(1,)])


def test_holdings_follow_the_ring(log):
    moments = holdings(log)
    assert len(moments) == 7
    counts = [sorted(len(c) for row in moment for c in row) for moment in moments]
    assert counts[0] == [1] * 16
    assert counts[3] == [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4  # a staircase on every rank
    assert counts[6] == [4] * 16
    assert moments[3][0][1] == {0, 1, 2, 3}  # rank 0 owns chunk 1


def test_a_figure_is_the_same_twice_and_keeps_to_its_own_ids(language, log):
    one, two = ring_steps(log), ring_steps(log)
    assert one == two
    ids = re.findall(r'\bid="([^"]+)"', one)
    assert all(i == "ring-steps" or i.startswith("ring-steps-") for i in ids)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'(?:href="|url\()#([^")]+)', one):
        assert target in ids


def test_a_figure_has_the_pages_colours_font_and_a_text_alternative(language, log):
    svg = ring_steps(log)
    assert INK not in svg and not any(colour in svg for colour in SERIES)
    assert "var(--zl-1)" in svg and "var(--zl-font)" in svg and "DejaVu" not in svg
    alt = re.search(r'<svg role="img" aria-label="([^"]+)"', svg)[1]
    assert alt.startswith("7 ") and "4" in alt
    assert ("第 1 步" if language == "zh" else "step 1") in svg  # text stays text


def test_chinese_beside_a_formula_is_refused():
    with canvas(2, 1) as figure:
        figure.text(0.5, 0.5, "步数 $p$")
        with pytest.raises(ValueError, match=r"figure ring-steps: '步数 \$p\$' mixes Chinese"):
            render("ring-steps", figure, CAPTION, CAPTION, {})


def test_a_figure_for_phones_has_words_and_ids_of_its_own(language):
    with canvas(8, 2) as figure, canvas(4, 3) as narrow:
        for drawn in (figure, narrow):
            drawn.text(0.1, 0.5, "four cards")
            drawn.subplots().plot([1, 2])  # ticks and clips are referred to by their ids
        html = render("four", figure, CAPTION, CAPTION, {"n": 4}, {"n": 4}, narrow=narrow)
    wide, phone = html.split('<div class="zl-narrow">')
    assert all("four cards" in part and 'role="img"' in part for part in (wide, phone))
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert html.count("<figcaption>") == html.count("<figure ") == 1
