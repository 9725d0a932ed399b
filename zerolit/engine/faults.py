"""Faults on purpose: a ring all-reduce, then one rank does something else than the others."""

import os
import re
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from zerolit.comm import Chunks, Swap, in_phase, ring
from zerolit.zero import Run, Settings, checkpoint, stages

from . import status
from .drive import drive
from .launch import launch, unguarded
from .train import train, train_rank
from .watch import EngineError


def _kill(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _exit() -> None:
    os._exit(3)


def _raise() -> None:
    raise ValueError("the loss is nan")


def _hang() -> None:
    time.sleep(1000)


def _sum(x: Tensor, phase: str = "gradients") -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    drive(in_phase(phase, ring.all_reduce(rank, size, Chunks(x.tensor_split(size)))))


FAULTS: dict[str, Callable[[], None]] = {
    "killed": _kill,
    "exits": _exit,
    "raises": _raise,
    "returns early": lambda: None,
    "hangs": _hang,
    "another shape": lambda: _sum(torch.ones(9)),
    "another dtype": lambda: _sum(torch.ones(6, dtype=torch.float64)),
    "another collective": lambda: _sum(torch.ones(6), "parameters"),
}


def ring_with_a_fault(fault: str, culprit: int) -> list[float]:
    """Two all-reduces, but the culprit does one of `FAULTS` in the place of the second."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # gloo's aborts are noisy
    x = torch.ones(6)
    _sum(x, "loss")
    if dist.get_rank() == culprit:
        FAULTS[fault]()
    else:
        _sum(x)
    return x.tolist()


def what_the_launcher_says(
    fault: str, size: int = 3, culprit: int = 1, timeout: float = 10.0
) -> str:
    """Launch a ring with one of `FAULTS` and return the error's sentence."""
    try:
        launch(ring_with_a_fault, size, fault, culprit, timeout=timeout)
    except EngineError as error:
        return str(error)
    return "nothing went wrong"


# What ranks see, the causes before their consequences; gloo says it at length.
SEEN = {"aborted": r"SIGABRT", "timed out": r"[Tt]imed out", "closed": r"Connection (closed|reset)"}


def what_the_others_see(
    fault: str, size: int = 3, culprit: int = 1, timeout: float = 1.0
) -> str | None:
    """The same where nobody watches: the first of `SEEN` that one of the other ranks sees.

    None: none of them fails.
    """
    lines = unguarded(ring_with_a_fault, size, fault, culprit, timeout=timeout)
    others = "\n".join(line for line in lines if not line.startswith(f"rank {culprit}:"))
    return next((kind for kind, words in SEEN.items() if re.search(words, others)), None)


# While training

_exchanging = status.exchanging  # which a death takes the place of
WHERE = ("forward", "collective", "optimizer", "saving")


def killed_and_restarted(where: str, size: int = 3) -> tuple[str, Run]:
    """Two steps and a checkpoint; two more, in which rank 1 is killed; a restart of these.

    Returns the launcher's sentence, and the run that the restart made of it.
    """
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "checkpoint"
        train(2, size, 2, save=folder)
        try:
            launch(train_and_die, size, where, folder, timeout=10)
            told = "nothing went wrong"
        except EngineError as error:
            told = str(error)
        return told, train(2, size, 4, resume=folder)


def train_and_die(where: str, folder: Path) -> None:
    """Go on to step 4 by ZeRO-2; on rank 1 one of `WHERE` is replaced by its death."""
    if dist.get_rank() == 1:
        room, name, death = {
            "forward": (stages, "forward", _kill),
            "collective": (status, "exchanging", _kill_when_exchanging),
            "optimizer": (stages, "update", _kill),
            "saving": (checkpoint, "write_rank", _kill),
        }[where]
        setattr(room, name, death)
    train_rank(2, Settings(dist.get_world_size(), 4, save=folder, resume=folder))


def _kill_when_exchanging(swap: Swap, to: int, frm: int) -> None:
    _exchanging(swap, to, frm)
    if swap.phase == "gradients":
        _kill()
