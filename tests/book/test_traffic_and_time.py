"""The tables and figures of 3.2: their numbers by hand, in both languages and both layouts."""

import re

import pytest

from zerolit.book.traffic_and_time import (
    efficiency_curve,
    overlap_timeline,
    segments_timeline,
    time_curve,
    two_levels_picture,
    wall_table,
)
from zerolit.comm.two_level import Levels, timeline
from zerolit.plan import Training
from zerolit.press.page import open_page

CASE = Training()
RANKS = [2**k for k in range(1, 13)]
S, LEVELS = 8_589_934_592, Levels(nodes=2, cards=8, inside=450e9, between=25e9)


@pytest.fixture(params=["en", "zh"])
def language(request):
    open_page("", request.param)
    yield request.param
    open_page("", "en")


def layouts(html):
    """The words of a figure, once for each layout."""
    wide, narrow = html.split('<div class="zl-narrow">')
    return [re.findall(r"<text [^>]*>(.*?)</text>", part) for part in (wide, narrow)]


def numbers(words):
    return re.findall(r"\d+\.\d+", " ".join(words))


def test_the_wall_of_other_models(language):
    table = wall_table(CASE, (1e8, 7e9))
    # 0.1B on 128 cards: 2 · 127 · (5e-6 + 0.2e9 / (128 · 12.5e9)) = 0.0330 s.
    assert table.text(language) == [
        ["0.1B", "0.2", "0.033", "80", "117"],
        ["7B", "14.0", "2.224", "82", "122"],
    ]
    assert "81.1" in str(table) and "121.2" in str(table)  # 1 + 1.5 · f · 1e6 · 12.5e9 / 156e12


def test_both_crossings_are_marked(language):
    for words in layouts(time_curve(CASE, RANKS)):
        told = " ".join(words)
        assert re.search(r"\b12 (cards|张卡)", told) and re.search(r"\b121 (cards|张卡)", told)
        bound = "communication-" if language == "en" else "受通信限制"
        assert bound in told


def test_the_walls_and_zero3_are_on_the_efficiency(language):
    for words in layouts(efficiency_curve(CASE, RANKS)):
        told = " ".join(words)
        assert "81 " in told and "121 " in told and "ZeRO-3" in told


def test_the_timeline_by_hand(language):
    # 0.390625 s of compute and 0.41402 of ring: one after the other 0.80; perfect 0.41. In 8
    # buckets: forward 0.1302, an eighth of the backward pass 0.0326, 8 rings of 254 · (5e-6 +
    # 325e6 / (128 · 12.5e9)) = 0.0529: 0.59.
    for words in layouts(overlap_timeline(CASE, 128, 8)):
        assert [n for n in numbers(words) if len(n) == 4] == ["0.80", "0.59", "0.41"]


def test_what_each_level_carries(language):
    # 2 · 7/8 of 8.59 GB inside, an eighth between.
    for words in layouts(two_levels_picture(LEVELS, timeline(S, LEVELS))):
        assert sorted(numbers(words)) == ["1.07", "15.03", "33.4", "42.9"]
        assert [w for w in words if w.isdigit()] == [str(rank) for rank in range(16)]


def test_segments_stand_beside_the_measurement(language):
    runs = {n: timeline(S, LEVELS, n) for n in (1, 2)}
    html = segments_timeline(runs, flat=0.0805, measured=0.047535)
    # With two: 42.9 on the network, half of 16.7 before it and half after.
    for words in layouts(html):
        assert sorted(numbers(words)) == ["47.5", "59.7", "76.4", "80.5"]
