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
    assert "发送方" in capsys.readouterr().out


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
    assert "en/index.md:12, block 'b': ZeroDivisionError" in run.stderr
    assert not (tiny_broken / "site").exists()


@pytest.fixture
def tiny_broken(tmp_path):
    from tests.press.conftest import TinySite

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


SMALL = ["--steps", "1", "--layers", "1", "--width", "32", "--heads", "2", "--context", "32"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("abcdefgh" * 50)
    return str(path)


def test_a_model_and_a_text_of_ones_own(text, capsys):
    """8 tokens and 32 positions of width 32; a block of 12w² + 13w; a norm; a head of 8 x 32."""
    assert main(["zero", "--stage", "1", "--text", text, "--batch", "4", *SMALL]) == 0
    parameters = (8 + 32) * 32 + 12 * 32**2 + 13 * 32 + 2 * 32 + 8 * 32
    assert f"Ψ = {parameters:,}" in capsys.readouterr().out


def test_a_checkpoint_of_the_command_line(text, tmp_path, capsys):
    """Saved by real processes, gone on from by the simulator at another stage."""
    run, folder = ["zero", "--text", text, *SMALL], str(tmp_path / "run")
    assert main([*run, "--engine", "torch", "--ranks", "2", "--stage", "3", "--save", folder]) == 0
    again = [*run, "--ranks", "2", "--stage", "2", "--steps", "3", "--resume", folder]
    assert main(again) == 0
    told = capsys.readouterr()
    assert f"goes on from {folder}: bitwise" in told.out.replace("\n", "") + told.err


@pytest.mark.parametrize("which", ["ddp", "ddp+zero", "fsdp2", "hsdp"])
def test_pytorchs_own(which, capsys):
    own = ["zero", "--engine", "torch", "--ranks", "2", "--stock", which]
    assert main([*own, *SMALL]) == 0
    told = capsys.readouterr().out
    assert "PyTorch's own on 2 processes, 1 steps, Ψ = 16,608" in " ".join(told.split())


def test_one_steps_messages(capsys):
    assert main(["trace", "--stage", "0", "--ranks", "2"]) == 0
    rows = [line.replace("│", " ").split() for line in capsys.readouterr().out.splitlines()]
    gradients = [row for row in rows if row[:1] == ["gradients"]]
    # Two rounds of two ranks' halves for each unit: 2 blocks, embedding and head.
    assert [int(row[1]) for row in gradients] == [4, 8, 4]
    for *_, began, first, last in gradients:
        assert float(began) <= float(first) <= float(last)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--stock", "ddp"], "--stock ddp runs on processes, so it needs --engine torch"),
        (
            ["--engine", "torch", "--stock", "ddp", "--stage", "1"],
            "--stage 1 is of our programs; --stock ddp not",
        ),
        (["--save", "x"], "--save and --resume are for one run, so they need --stage or --stock"),
        (["--text", "/nosuch"], "--text is /nosuch, which cannot be read: [Errno 2]"),
        (["--width", "63"], "width is 63; it must be a multiple of heads, 4"),
        (["--layers", "0"], "--layers is 0; it must be at least 1"),
        (
            ["--engine", "torch", "--stage", "1", "--resume", "/nosuch"],
            "index.json is missing; /nos",
        ),
        (
            ["--engine", "torch", "--stock", "hsdp", "--ranks", "3"],
            "size is 3; HSDP needs machines, or two halves, of as many ranks",
        ),
        (
            ["--engine", "torch", "--stock", "ddp+zero", "--save", "x"],
            "ZeroRedundancyOptimizer's state has no place in PyTorch's checkpoints",
        ),
    ],
)
def test_flags_that_do_not_fit(arguments, told, capsys):
    assert main(["zero", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_an_interruption_is_one_line(monkeypatch, capsys):
    from zerolit import engine

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "train", stop)
    assert main(["zero", "--engine", "torch", "--stage", "1"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "zerolit zero: stopped"


def test_a_rank_without_sequences_measures_nothing(capsys):
    assert main(["trace", "--ranks", "40"]) == 2
    assert "batch_size is 32; 40 ranks" in capsys.readouterr().err


def test_a_text_that_is_too_short_or_is_none(tmp_path, capsys):
    (tmp_path / "short").write_text("abc")
    assert main(["zero", "--text", str(tmp_path / "short")]) == 2
    assert "the text has 3 characters; context 96 needs 97 or more" in capsys.readouterr().err
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert main(["zero", "--text", str(tmp_path / "bytes")]) == 2
    assert "which cannot be read: 'utf-8' codec" in capsys.readouterr().err


def test_labs_are_listed(capsys):
    assert main(["lab", "--lang", "zh"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "1  lab-ring        实验一　亲手写环" and len(others) == 5


def test_a_lab_is_copied_once_and_opened(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("zerolit.labs.copy.find_spec", lambda name: name)
    monkeypatch.setattr("subprocess.run", lambda command, check: opened.append(command))
    assert main(["lab", "2"]) == 0
    assert opened == [[sys.executable, "-m", "jupyterlab", str(tmp_path / "lab-wall.ipynb")]]
    assert capsys.readouterr().out == f"The lab is in {tmp_path / 'lab-wall.ipynb'}\n"
    assert main(["lab", "2"]) == 2
    assert "lab-wall.ipynb is there already, with your work" in capsys.readouterr().err
    assert len(opened) == 1


def test_without_jupyter_it_says_how_to_get_it(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zerolit.labs.copy.find_spec", lambda name: None)
    assert main(["lab", "1"]) == 0
    told = "To open it: pip install jupyterlab && jupyter lab lab-ring.ipynb\n"
    assert capsys.readouterr().out.endswith(told)


@pytest.mark.parametrize("number", ["0", "7"])
def test_no_such_lab(number, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["lab", number]) == 2
    assert capsys.readouterr().err == f"zerolit lab: N is {number}; it must be 1 to 6\n"
    assert not list(tmp_path.iterdir())


def test_bugs_are_listed(capsys):
    assert main(["break"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 16
    assert lines[1] == "divided-twice       the gradient is divided by p once more"


def test_a_bug_is_shown(capsys):
    assert main(["break", "divided-twice", "--lang", "zh"]) == 0
    told = capsys.readouterr().out
    assert (
        "-    return loss / tokens if" in told and "+    return loss / tokens / w.size if" in told
    )
    assert "立刻能发现它的检查：与单卡对照一步 SGD" in told


def test_no_such_bug(capsys):
    assert main(["break", "rust"]) == 2
    assert capsys.readouterr().err.startswith("zerolit break: bug is 'rust'; it must be one of ")
