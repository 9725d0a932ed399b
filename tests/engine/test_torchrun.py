"""Under torchrun: two agents on this host, each with two ranks, as two machines would be."""

import os
import random
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from zerolit import zero
from zerolit.cli import main

EXAMPLE = Path(__file__).parents[2] / "docs/examples/own_model.py"
PATIENCE = 600  # s
ZERO = ["-m", "zerolit", "zero", "--steps", "2"]


def torchrun(flags, program, **environment):
    """One agent that runs a program on its ranks."""
    command = [sys.executable, "-m", "torch.distributed.run", *flags, *program]
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120", **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=quiet, **pipes)


def free_port():
    """Not one of those that the system gives to whoever asks for any, before it is used."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


def two_machines(program):
    """What both agents print, each with two ranks."""
    flags = ["--nnodes=2", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    flags.append(f"--master-port={free_port()}")
    agents = [torchrun([*flags, f"--node-rank={node}"], program) for node in range(2)]
    told = [agent.communicate(timeout=PATIENCE) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], told
    assert told[1][0] == ""  # rank 0 alone speaks
    return told[0][0]


def test_two_machines_with_two_ranks_each():
    first = two_machines([*ZERO, "--stage", "3"])
    row = next(line for line in first.splitlines() if line.startswith("│ ZeRO-3"))
    assert row.replace("│", " ").split()[:4] == ["ZeRO-3", "0.0", "1", "4/p"]
    assert "2 steps on 4 cards" in first


def test_hsdp_cuts_within_a_machine():
    """Of p = 4 two on each: half of parameters, gradients, m and v, so 2Ψ."""
    first = two_machines([*ZERO, "--stock", "hsdp"])
    (row,) = (line.replace("│", " ").split() for line in first.splitlines() if "HSDP" in line)
    assert row[-3:] == ["2.500", "2.52", "2.000"]


def test_a_checkpoint_of_two_machines_goes_on_on_the_simulator(tmp_path):
    two_machines([*ZERO, "--stage", "1", "--save", str(tmp_path / "c")])
    rest = zero.train(3, 4, 3, resume=tmp_path / "c")
    assert rest.continues == "bitwise"
    assert torch.equal(rest.parameters, zero.train(3, 4, 3).parameters)


def numbers(told):
    return [float(word) for word in told.split()]


def test_the_example_of_a_model_of_ones_own():
    """By processes of its own, and by torchrun's two: it learns, and Ψ or 2Ψ are stored."""
    alone = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    agent = torchrun(["--nproc-per-node=2", f"--master-port={free_port()}"], [str(EXAMPLE)])
    two, _ = agent.communicate(timeout=PATIENCE)
    for told, stored in ((alone.stdout, 1), (two, 2)):
        first, last, psi = numbers(told)
        assert last < first / 10 and psi == pytest.approx(stored, rel=1e-3)
    assert len(EXAMPLE.read_text().splitlines()) <= 32


def test_a_port_in_use_is_named_at_once():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        flags = ["--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={port}"]
        agent = torchrun(flags, [*ZERO, "--stage", "3"])
        _, told = agent.communicate(timeout=PATIENCE)
    assert agent.returncode == 1 and f"port: {port}" in told and "EADDRINUSE" in told


def test_an_interface_that_does_not_exist_is_named():
    flags = ["--nproc-per-node=2", f"--master-port={free_port()}"]
    agent = torchrun(flags, [*ZERO, "--stage", "3"], GLOO_SOCKET_IFNAME="nosuch0")
    _, told = agent.communicate(timeout=PATIENCE)
    assert agent.returncode == 1 and "exitcode  : 2" in told
    assert "zerolit zero: GLOO_SOCKET_IFNAME is 'nosuch0'; this machine has " in told


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
