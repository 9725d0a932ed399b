"""The ledger: how far is too far, what a comparison says, and what a file keeps."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from zerolit.press.fences import PageError
from zerolit.press.ledger import (
    EXACT,
    MACHINE,
    RELATIVE,
    Drift,
    Entry,
    Ledger,
    compare,
    distance,
    read,
    rounding,
    write_reference,
)
from zerolit.press.page import Page


@pytest.mark.parametrize(
    ("tolerance", "expected", "got", "off"),
    [
        (EXACT, 3, 3, 0),
        (EXACT, 3, 4, math.inf),
        (EXACT, "a", "b", math.inf),
        (RELATIVE, 2.0, 2.0 + 3e-6, 1.5),
        (RELATIVE, -2.0, -2.0 - 1e-6, 0.5),
        (RELATIVE, 0.0, 1e-300, math.inf),  # a bitwise claim has no room
        (RELATIVE, 1.0, "1.0", math.inf),
        ("rel 0.01", 100, 103.0, 3),
        (rounding(10), 1e-7, 1e-8, 1),
        (rounding(10), 1e-7, 1e-5, 2),
        (rounding(10), 1e-7, 0.0, math.inf),
        (rounding(10), 0.0, 0.0, 0),
        (MACHINE, "a", "b", 0),
        (RELATIVE, [1.0, 2.0], [1.0, 2.0 + 4e-6], 2),
        (RELATIVE, [1.0, 2.0], [1.0], math.inf),
        (EXACT, None, None, 0),
    ],
)
def test_how_far(tolerance, expected, got, off):
    assert distance(tolerance, expected, got) == pytest.approx(off, rel=1e-6)


REFERENCE = {
    "a.count": Entry(3, EXACT),
    "a.time": Entry(2.0, "rel 0.1"),
    "a.gone": Entry(1, EXACT),
}


def test_a_comparison_names_what_drifted_appeared_and_vanished():
    ledger = {
        "a.count": Entry(3, EXACT, page="p.md", section="s"),
        "a.time": Entry(2.5, RELATIVE, page="p.md", section="t"),
        "a.new": Entry(7, EXACT, page="q.md"),
    }
    drifted, appeared, vanished = compare(REFERENCE, ledger)
    assert drifted.name == "a.time" and drifted.off == pytest.approx(2.5)  # the reference's 0.1
    assert str(drifted) == ("a.time (p.md#t) drifted: expected 2.0, got 2.5; off by 2.5 tolerances")
    assert str(appeared) == "a.new (q.md#) appeared"
    assert str(vanished) == "a.gone vanished"


def test_what_must_be_equal_says_so():
    assert "it must be equal" in str(Drift("a", "drifted", "p.md", "s", 1, 2))


def test_within_the_tolerance_nothing_is_said():
    ledger = {**REFERENCE, "a.time": Entry(2.19, "rel 0.1")}
    assert compare(REFERENCE, ledger) == []


def test_english_enters_and_chinese_is_compared():
    ledger = Ledger()
    english, chinese = Page("en/p.md"), Page("zh/p.md", "zh")
    english.section = chinese.section = "here"
    ledger.record("a.n", np.float32(0.5), english, unit="s")
    assert ledger["a.n"] == Entry(0.5, RELATIVE, "s", "p.md", "here")
    ledger.record("a.n", 0.5, chinese, unit="s")
    with pytest.raises(PageError, match=r"'a\.n' is 0.25 when run again, for Chinese; it was 0.5"):
        ledger.record("a.n", 0.25, chinese, unit="s")
    with pytest.raises(PageError, match=r"'a\.m' is 1 when run again.* it was 'nothing'"):
        ledger.record("a.m", 1, chinese)
    with pytest.raises(PageError, match=r"en/q.md: 'a\.n' is a result of p.md already"):
        ledger.record("a.n", 0.5, Page("en/q.md"))


def test_a_result_that_only_english_gives():
    ledger = Ledger()
    ledger.record("a.n", 1, Page("en/p.md"))
    with pytest.raises(PageError, match=r"zh/p.md: 'a\.n' is not given when run again"):
        ledger.check_repeated()
    ledger.record("a.n", 1, Page("zh/p.md", "zh"))
    ledger.check_repeated()


@pytest.mark.parametrize("tolerance", ["abs 1", "rel", "rel 0", "rel x", "factor 1", "exact 1"])
def test_a_tolerance_that_is_none(tolerance):
    with pytest.raises(ValueError, match=f"tolerance is '{tolerance}'; it must be 'exact', "):
        Ledger().record("a.n", 1.0, Page("en/p.md"), tolerance)


def test_another_tolerance_or_unit_is_told():
    ledger = {**REFERENCE, "a.time": Entry(2.0, "rel 0.2", "s", "p.md", "t")}
    (restated,) = compare(REFERENCE, ledger)
    assert str(restated) == "a.time (p.md#t) restated: it was 'rel 0.1', it is 'rel 0.2 s'"


def test_outside_a_build_nothing_is_entered():
    ledger = Ledger()
    ledger.record("a.n", 1, Page())
    assert ledger == {}


@pytest.mark.parametrize(
    ("value", "kept", "tolerance"),
    [
        (np.int64(3), 3, EXACT),
        (torch.tensor(0.5), 0.5, RELATIVE),
        (np.array([1.0, 2.0]), [1.0, 2.0], RELATIVE),
        ([1, 2], [1, 2], EXACT),
        ([[1, 0.5], [2]], [[1, 0.5], [2]], RELATIVE),
        (Fraction(2, 3), "2/3", EXACT),
        (math.inf, "inf", EXACT),
        (None, None, EXACT),
    ],
)
def test_values_are_kept_as_json_has_them(value, kept, tolerance):
    ledger = Ledger()
    ledger.record("a.n", value, Page("en/p.md"))
    assert (ledger["a.n"].value, ledger["a.n"].tolerance) == (kept, tolerance)
    assert type(ledger["a.n"].value) is type(kept)


def test_a_reference_comes_back_and_has_a_line_for_each_result(tmp_path):
    path = tmp_path / "ledger.json"
    write_reference(path, {**REFERENCE, "a.list": Entry([1.5, 2.5], RELATIVE, "s", "p.md", "s")})
    back = read(path)
    assert back["a.count"] == REFERENCE["a.count"]
    assert back["a.list"] == Entry([1.5, 2.5], RELATIVE, "s")  # its place is derived anew
    assert sum('"value"' in line for line in path.read_text().splitlines()) == len(back) == 4


def test_a_full_disk_leaves_the_old_reference(tmp_path, monkeypatch):
    path = tmp_path / "ledger.json"
    write_reference(path, REFERENCE)

    def half(self, text):
        self.write_bytes(text[: len(text) // 2].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="No space left"):
        write_reference(path, {})
    assert read(path) == REFERENCE and [p.name for p in tmp_path.iterdir()] == ["ledger.json"]


def test_no_reference_is_an_empty_one(tmp_path):
    assert read(tmp_path / "none.json") == {}


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"results": {"a": 3}}'])
def test_a_file_that_is_no_ledger(tmp_path, text):
    (tmp_path / "l.json").write_text(text)
    with pytest.raises(ValueError, match=r"l\.json is not a ledger"):
        read(tmp_path / "l.json")
