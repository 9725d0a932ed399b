"""Drift: what the build says, what the page shows, which site is in place, and the exit code."""

import json

import pytest

from zerolit.cli import main
from zerolit.press.build import build_site, check_site

PAGE = """
# Home {{ #home }}

## Numbers {{ #numbers }}

```python exec="true" id="b"
from zerolit.book import result, rounding
from zerolit.book.table import Column, Table
from zerolit.book.words import Words
result("tiny.count", {count})
result("tiny.time", {time}, unit="s")
result("tiny.gap", {gap}, tolerance=rounding(10))
columns = [Column("step", "d", "step", "步"), Column("values", "s", "values", "内容")]
print(Table("ring-proofs", Words("Hops", "各跳"), columns, [(1, "a"), ({cell}, "b")]))
```

<!-- late: zerolit.book.reproduce.status -->
<!-- late: zerolit.book.reproduce.ran_on -->
<!-- late: zerolit.book.reproduce.results index.md -->
<!-- late: zerolit.book.links.places -->
"""
GOOD = {"count": 3, "time": 0.5, "gap": 1e-7, "cell": 2}


@pytest.fixture
def accepted(tiny, monkeypatch):
    """A site with a reference; the command line runs in its folder."""
    tiny.write(PAGE.format(**GOOD))
    build_site(tiny.root, accept=True)
    monkeypatch.chdir(tiny.root)
    return tiny


def test_what_was_accepted_is_as_the_reference_says(accepted, capsys):
    assert "All 5 results are as the reference says." in accepted.page()
    assert main(["build"]) == 0
    out = capsys.readouterr().out
    assert "5 of 5 results are as the reference says" in out
    assert "All 5 results are as the reference says." in accepted.page()
    assert "全部 5 个结果与参考值一致。" in accepted.page("zh")


def test_the_reference_has_names_values_units_and_tolerances_only(accepted):
    results = json.loads((accepted.root / "docs/ledger.json").read_text())
    assert results == {
        "results": {
            "ring-proofs.step": {"value": [1, 2], "tolerance": "exact", "unit": ""},
            "ring-proofs.values": {"value": ["a", "b"], "tolerance": "exact", "unit": ""},
            "tiny.count": {"value": 3, "tolerance": "exact", "unit": ""},
            "tiny.gap": {"value": 1e-7, "tolerance": "factor 10", "unit": ""},
            "tiny.time": {"value": 0.5, "tolerance": "rel 1e-06", "unit": "s"},
        }
    }
    places = (accepted.root / "docs/anchors.txt").read_text().split()
    # The tables of the results and of the environment are places; those that come and go are not.
    assert {"index.html#home", "index.html#numbers", "index.html#ring-proofs"} <= {*places}
    assert not any("drift" in place or "#places" in place for place in places)


def test_this_builds_ledger_has_places_and_the_environment(accepted):
    built = json.loads((accepted.root / "site/ledger.json").read_text())
    entry = built["results"]["tiny.time"]
    assert (entry["page"], entry["section"], entry["unit"]) == ("index.md", "numbers", "s")
    assert set(built["environment"]) >= {"Python", "numpy", "torch", "processor", "commit"}


DRIFTS = [
    ({"count": 4}, "tiny.count (index.md#numbers) drifted: expected 3, got 4; it must be equal"),
    ({"time": 0.5 + 2e-6}, "tiny.time (index.md#numbers) drifted: expected 0.5, got 0.500002; off"),
    ({"gap": 1e-9}, "tiny.gap (index.md#numbers) drifted: expected 1e-07, got 1e-09; off by 2 tol"),
    ({"cell": 5}, "ring-proofs.step (index.md#numbers) drifted: expected [1, 2], got [1, 5]; it"),
]


@pytest.mark.parametrize(("change", "told"), DRIFTS)
def test_drift_is_told_and_shown_and_exits_with_1(accepted, capsys, change, told):
    accepted.write(PAGE.format(**{**GOOD, **change}))
    assert main(["build"]) == 1
    out = capsys.readouterr().out
    assert told in out and "4 of 5 results are as the reference says" in out
    assert "1 of 5 results are not as the reference says:" in accepted.page()  # swapped in
    assert "drifted</td>" in accepted.page() and "有偏差</td>" in accepted.page("zh")


def test_a_rounding_within_its_factor_is_no_drift(accepted):
    accepted.write(PAGE.format(**{**GOOD, "gap": 9e-7, "time": 0.5 + 4e-7}))
    assert build_site(accepted.root).drift == []


def test_publishing_keeps_the_last_site(accepted, capsys):
    accepted.write(PAGE.format(**{**GOOD, "count": 4}))
    assert main(["build", "--no-swap-on-drift"]) == 1
    assert "All 5 results are as the reference says." in accepted.page()
    assert "The last site was kept" in capsys.readouterr().out
    accepted.write(PAGE.format(**GOOD))
    assert main(["build", "--no-swap-on-drift"]) == 0


def test_publishing_waits_for_new_places_to_be_accepted(accepted):
    accepted.write(PAGE.format(**GOOD) + "\n## More { #more }\n")
    built = build_site(accepted.root, swap_on_drift=False)
    assert built.unpublished == ["index.html#more"] and not built.swapped


def test_what_appears_and_what_vanishes(accepted, capsys):
    text = PAGE.format(**GOOD).replace('"tiny.count"', '"tiny.other"')
    accepted.write(text + "\n## More { #more }\n")
    assert main(["check"]) == 1
    out = capsys.readouterr().out
    assert "tiny.other (index.md#numbers) appeared" in out and "tiny.count vanished" in out
    assert "index.html#more is a new place" in out
    assert main(["build", "--accept"]) == 0
    assert "tiny.count vanished" in capsys.readouterr().out  # for the commit message
    assert main(["build"]) == 0


def test_a_check_leaves_the_site_alone_and_writes_a_report(accepted, capsys):
    accepted.write(PAGE.format(**{**GOOD, "count": 4}))
    before = accepted.page()
    assert main(["check", "--report", "report.md"]) == 1
    assert accepted.page() == before
    report = (accepted.root / "report.md").read_text()
    assert "4 of 5 results are as the reference says." in report
    assert "- tiny.count (index.md#numbers) drifted: expected 3, got 4" in report
    assert "- torch: " in report and "- processor: " in report


def test_a_check_that_finds_nothing(accepted):
    assert check_site(accepted.root).drift == [] and main(["check"]) == 0
