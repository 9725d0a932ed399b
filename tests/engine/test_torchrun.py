"""Under torchrun: two agents on this host, each with two ranks, as two machines would be."""

import os
import socket
import subprocess
import sys

import pytest

from zerolit.cli import main


def torchrun(*flags):
    """One agent that runs `zerolit zero --stage 3` on its ranks."""
    command = [sys.executable, "-m", "torch.distributed.run", *flags]
    command += ["-m", "zerolit", "zero", "--stage", "3", "--steps", "2"]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=quiet, **pipes)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_two_machines_with_two_ranks_each():
    flags = ["--nnodes=2", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    flags.append(f"--master-port={free_port()}")
    agents = [torchrun(*flags, f"--node-rank={node}") for node in range(2)]
    told = [agent.communicate(timeout=120) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], told
    (first, _), (second, _) = told
    assert second == ""  # rank 0 alone speaks
    row = next(line for line in first.splitlines() if line.startswith("│ ZeRO-3"))
    assert row.replace("│", " ").split()[:4] == ["ZeRO-3", "0.0", "1", "4/p"]
    assert "2 steps on 4 cards" in first


def test_processes_of_this_machine(capsys):
    assert main(["zero", "--engine", "torch", "--ranks", "2", "--stage", "1", "--steps", "1"]) == 0
    assert "1 steps on 2 cards" in capsys.readouterr().out


def test_a_rank_that_fails_is_told_and_exits_with_1(capsys, monkeypatch):
    from zerolit import engine

    def fail(*_, **__):
        raise engine.EngineError(1, engine.status.Doing("computing", "loss"), "was killed")

    monkeypatch.setattr(engine, "train", fail)
    assert main(["zero", "--engine", "torch", "--stage", "1"]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "zerolit zero: rank 1 was killed (computing, phase 'loss')"


def test_another_number_of_ranks_than_torchruns(monkeypatch):
    from zerolit import engine

    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(ValueError, match="size is 3, but torchrun started 4 ranks; they must"):
        engine.launch(free_port, 3)
