"""What comes of a training run: what each rank knows at its end, put together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zerolit.comm import CommLog

from .layout import Layout
from .stages import Worker


@dataclass(frozen=True)
class Run:
    """What came of a training run.

    Attributes:
        parameters: the final parameters, one vector, in the model's order.
        losses: the mean loss per token of each step.
        sent: elements that each rank sent in the last step, by phase.
        stored: elements that each rank holds after the update, by kind.
        released: the same once the gradients are released.
        peaks: elements at each rank's fullest moment, by kind.
        moments: for each rank (what happened, elements by kind), one after the other, last step.
        padded: elements of all units with their padding; `parameters` has Ψ of them.
        continues: after a resume, "bitwise" if the two runs are one to the bit; "to rounding" if
            the order of sums is another, "with another recipe" if more than that is; "unknown" if
            the checkpoint is PyTorch's own, or the task has no `about`.
    """

    parameters: Tensor
    losses: list[float]
    sent: list[Counter[str]]
    stored: list[Counter[str]]
    released: list[Counter[str]]
    peaks: list[Counter[str]]
    moments: list[list[tuple[str, Counter[str]]]]
    padded: int
    continues: str | None


@dataclass(frozen=True)
class Counts:
    """One rank's step: what it sent by phase, and held before and after its gradients went."""

    sent: Counter[str]
    stored: Counter[str]
    released: Counter[str]
    moments: list[tuple[str, Counter[str]]]


@dataclass(frozen=True)
class Part:
    """What one rank knows at the end: its shares of the units, how these are cut, its last step."""

    shares: list[Tensor]
    layouts: list[Layout]
    peak: Counter[str]
    counts: Counts


def end_step(worker: Worker, log: CommLog) -> Counts:
    """Count what the rank sent and holds, and release its gradients."""
    memory = worker.memory
    stored, moments = memory.now, memory.moments[:]
    for unit in worker.units:
        unit.release("gradients")
    sent: Counter[str] = Counter()
    for message in log.messages:
        if message.source == worker.rank:
            sent[message.phase] += message.elements
    return Counts(sent, stored, memory.now, moments)


def part_of(worker: Worker, counts: Counts) -> Part:
    """A rank's part of a `Run`."""
    shares = [
        unit.part("parameters", unit.layout.share).to("cpu", unit.dtype, copy=True)
        for unit in worker.units
    ]
    return Part(shares, [unit.layout for unit in worker.units], worker.memory.peak, counts)


def put_together(parts: Sequence[Part], losses: list[float], continues: str | None) -> Run:
    """All ranks' parts as one run; the parameters are joined from everybody's shares."""
    layouts = parts[0].layouts
    units = zip(layouts, zip(*(part.shares for part in parts), strict=True), strict=True)
    return Run(
        parameters=torch.cat([layout.join(shares) for layout, shares in units]),
        losses=losses,
        sent=[part.counts.sent for part in parts],
        stored=[part.counts.stored for part in parts],
        released=[part.counts.released for part in parts],
        peaks=[part.peak for part in parts],
        moments=[part.counts.moments for part in parts],
        padded=sum(layout.padded for layout in layouts),
        continues=continues,
    )
