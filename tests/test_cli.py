"""The command line: what it prints, and how it says no."""

import math
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


def test_zero_prints_the_stages(capsys):
    assert main(["zero", "--steps", "1", "--ranks", "2"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "ZeRO-" in line]
    assert [row.replace("│", " ").split()[1:3] for row in rows] == [
        ["0.0", "3"],
        ["0.0", "2.5"],
        ["0.0", "2"],
    ]


def test_zero_with_one_stage_and_padding(capsys):
    assert main(["zero", "--steps", "1", "--ranks", "3", "--stage", "3"]) == 0
    assert "ZeRO-3" in capsys.readouterr().out


def test_data_parallel_prints_some_steps(capsys):
    assert main(["data-parallel", "--steps", "2", "--ranks", "2"]) == 0
    rows = [line.replace("│", " ").split() for line in capsys.readouterr().out.splitlines()]
    steps = [row for row in rows if len(row) == 5 and row[0].isdigit()]
    assert [row[0] for row in steps] == ["0", "1"]
    for loss in steps[0][2:4]:  # nothing is learnt yet: all 44 characters are as likely
        assert float(loss) == pytest.approx(math.log(44), abs=0.1)


@pytest.mark.parametrize("command", ["zero", "data-parallel"])
@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--ranks", "0", "--ranks is 0; it must be at least 1"),
        ("--steps", "0", "--steps is 0; it must be at least 1"),
        ("--ranks", "33", "batch_size is 32; 33 ranks"),
    ],
)
def test_bad_numbers_for_training(command, option, value, told, capsys):
    assert main([command, option, value]) == 2
    assert told in capsys.readouterr().err
