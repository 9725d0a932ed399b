"""Faults on purpose: a ring all-reduce, then one rank does something else than the others."""

import os
import signal

import torch
import torch.distributed as dist

from zerolit.comm import Chunks, in_phase, ring

from .drive import drive
from .launch import EngineError, launch

FAULTS = ("killed", "exits", "raises", "returns early")


def ring_with_a_fault(fault: str, culprit: int) -> list[float]:
    """Two all-reduces, but the culprit takes part in the first only."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.ones(2 * size)
    for phase in ("first", "second"):
        if phase == "second" and rank == culprit:
            _commit(fault)
            break
        drive(in_phase(phase, ring.all_reduce(rank, size, Chunks(x.tensor_split(size)))))
    return x.tolist()


def _commit(fault: str) -> None:
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "exits":
        os._exit(3)
    if fault == "raises":
        raise ValueError("the loss is nan")


def what_the_launcher_says(fault: str, size: int = 3, culprit: int = 1) -> str:
    """Launch a ring with one of `FAULTS` and return the error's sentence."""
    try:
        launch(ring_with_a_fault, size, fault, culprit, timeout=10)
    except EngineError as error:
        return str(error)
    return "nothing went wrong"
