"""Train with a bug and without it, and look at what gives it away."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from zerolit.comm import CommError, CommLog, prove, ring
from zerolit.gpt import Config
from zerolit.zero import STAGES, Settings, Worker, tiny_gpt
from zerolit.zero.compare import use_sgd
from zerolit.zero.run import Counts, end_step
from zerolit.zero.train import one_thread, share_out, step, task_worker

from .catalogue import broken, find

SIZE, BATCH, STEPS = 3, 10, 18  # 10 sequences: 4, 3 and 3, so that ranks differ in tokens
LEARNING_RATES = {"adamw": 3e-3, "sgd": 0.1}
SEEN = 0.02  # of the loss: two curves are told apart by eye
ROUNDING = 1e-4  # of the first update: other orders of float32 sums are far below, bugs above
_Needs = tuple[int, tuple[tuple[str, Any], ...], bool]  # stage, settings, tied
CHECKS = {
    "proof": ("the proof of the ring", "环的证明"),
    "first step": ("one SGD step beside one card", "与单卡对照一步 SGD"),
    "ranks": ("the ranks' parameters beside each other", "各 rank 参数互相对照"),
    "stored": ("the count of what is stored", "存储量计数"),
    "sent": ("the count of what is sent", "发送量计数"),
}


@dataclass(frozen=True)
class Observed:
    """What a training shows.

    Attributes:
        losses: of each step.
        first: the parameters before the first step, and after it.
        apart: how far the parameters of two ranks are apart at the end; 0 means: the same bits.
        stored: elements that rank 0 holds after an update.
        peak: at its fullest moment in a step.
        sent: elements that the busiest rank sends in a step.
    """

    losses: list[float]
    first: tuple[Tensor, Tensor]
    apart: float
    stored: int
    peak: int
    sent: int


def observe(name: str, optimizer: str, wrong: bool = True, size: int = SIZE) -> Observed:
    """Train as the bug of this name needs, with it or, if not `wrong`, without.

    Args:
        optimizer: "adamw" or "sgd".
        size: how many ranks; 1 is the one big batch.

    Raises:
        ValueError: there is no such bug.
    """
    bug = find(name)
    needs = (bug.stage, tuple(bug.how.items()), bug.tied)
    return _observe(name if wrong else None, needs, optimizer, size)


@cache  # what needs the same has one right run
def _observe(wrong: str | None, needs: _Needs, optimizer: str, size: int) -> Observed:
    with torch.random.fork_rng(devices=[]), broken(wrong) if wrong else nullcontext():
        torch.manual_seed(0)  # for the bug that draws
        return _trained(needs, optimizer, size)


def _settings(needs: _Needs, size: int) -> Settings:
    _, how, tied = needs
    task = tiny_gpt(Config(layers=1, width=32, heads=2, context=32, tied=tied))
    return Settings(size, STEPS, task, BATCH, lr=LEARNING_RATES["adamw"], **dict(how))


def _trained(needs: _Needs, optimizer: str, size: int) -> Observed:
    stage, how = needs[0], _settings(needs, size)
    workers = [task_worker(how.task, stage, rank, size, how.recipe) for rank in range(size)]
    for worker in workers if optimizer == "sgd" else ():
        use_sgd(worker, LEARNING_RATES["sgd"])
    start = _parameters(workers)
    with one_thread():
        steps = list(_steps(stage, workers, how))
    counts = steps[-1][2]
    return Observed(
        [loss for loss, _, _ in steps],
        (start, steps[0][1]),
        _apart(workers, stage),
        counts[0].stored.total(),
        max(held.total() for _, held in counts[0].moments),
        max(one.sent.total() for one in counts),
    )


def _steps(
    stage: int, workers: Sequence[Worker], how: Settings
) -> Iterator[tuple[float, Tensor, list[Counts]]]:
    """Of each step its loss, the parameters after it, and what every rank counted."""
    for batch in how.task.draw_batches(how.steps, how.batch_size):
        log = CommLog(how.size)
        batches = share_out(*batch, how.size, how.accumulate)
        loss = step(STAGES[stage], workers, batches, log)
        yield loss, _parameters(workers), [end_step(worker, log) for worker in workers]


def _parameters(workers: Sequence[Worker]) -> Tensor:
    """A copy of all parameters, each from the rank whose share it is."""
    units = zip(*(worker.units for worker in workers), strict=True)
    return torch.cat(
        [
            one[0].layout.join([unit.part("parameters", unit.layout.share) for unit in one])
            for one in units
        ]
    )


def _apart(workers: Sequence[Worker], stage: int) -> float:
    """The largest difference from rank 0's parameters; ranks of ZeRO-3 have none in common."""
    if stage == 3:
        return 0.0
    wholes = [torch.cat([unit["parameters"] for unit in worker.units]) for worker in workers]
    return max((whole - wholes[0]).abs().max().item() for whole in wholes)


def seen_at(name: str, optimizer: str) -> int | None:
    """The first step, from 1, whose loss is off by `SEEN` or is none; None where none is."""
    right, wrong = (observe(name, optimizer, bug).losses for bug in (False, True))
    pairs = enumerate(zip(right, wrong, strict=True), 1)
    return next((n for n, (a, b) in pairs if not abs(a - b) <= SEEN * a), None)


def off_at_first(name: str, wrong: bool = True) -> float:
    """How far the first SGD step is from that of one rank with the whole batch, in its lengths."""
    start, one = observe(name, "sgd", False, 1).first
    _, many = observe(name, "sgd", wrong).first
    return ((many - one).norm() / (one - start).norm()).item()


def told_by(name: str) -> list[str]:
    """Which of `CHECKS` tell at once that something is wrong."""
    right, wrong = (observe(name, "adamw", bug) for bug in (False, True))
    found = {
        "proof": not proved(name),
        "first step": off_at_first(name) > ROUNDING,
        "ranks": wrong.apart > 0,
        "stored": (wrong.stored, wrong.peak) != (right.stored, right.peak),
        "sent": wrong.sent != right.sent,
    }
    return [check for check in CHECKS if found[check]]


def proved(name: str) -> bool:
    """Whether the ring that trains is still an all-reduce."""
    with broken(name):
        try:
            prove(ring.all_reduce, SIZE)
        except CommError:
            return False
    return True


def checks_in_words(name: str, language: str) -> str:
    """Which checks tell a bug."""
    comma = {"en": ", ", "zh": "、"}[language]
    index = ("en", "zh").index(language)
    return comma.join(CHECKS[check][index] for check in told_by(name))
