"""The command line: what it prints, and how it says no."""

import subprocess
import sys

import pytest

from zerolit.cli import main


def test_ring_prints_every_hop(capsys):
    assert main(["ring", "--ranks", "3", "--length", "3"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert len(lines) == 12
    assert lines[3].replace("│", " ").split() == [
        "2",
        "reduce-scatter",
        "0",
        "1",
        "2",
        "8",
    ]  # 2·(1+3)


def test_ring_in_chinese(capsys):
    assert main(["ring", "--lang", "zh"]) == 0
    assert "发送卡" in capsys.readouterr().out


def test_scaling_prints_both_tables(capsys):
    assert main(["scaling"]) == 0
    out = capsys.readouterr().out
    assert "36,000" in out and "851.6" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ring", "--ranks", "0"], "zerolit ring: --ranks is 0; it must be at least 1\n"),
        (["ring", "--length", "-1"], "zerolit ring: --length is -1; it must be 0 or more\n"),
    ],
)
def test_bad_numbers(arguments, told, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err == told


def test_an_unknown_command():
    run = subprocess.run([sys.executable, "-m", "zerolit", "fly"], capture_output=True, text=True)
    assert run.returncode == 2 and "invalid choice: 'fly'" in run.stderr


def test_a_build_that_fails_says_where_and_exits_1(tiny_broken):
    command = [sys.executable, "-m", "zerolit", "build"]
    run = subprocess.run(command, cwd=tiny_broken, capture_output=True, text=True)
    assert run.returncode == 1
    assert "zerolit build: failed, the last site is untouched" in run.stderr
    assert "en/index.md, block 'b': ZeroDivisionError" in run.stderr
    assert not (tiny_broken / "site").exists()


@pytest.fixture
def tiny_broken(tmp_path):
    from tests.site.conftest import TinySite

    site = TinySite(tmp_path)
    site.add('```python exec="true" id="b"\n1 / 0\n```')
    return site.root
