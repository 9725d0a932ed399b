"""One training step on real processes, message by message, with the time that each took."""

import time
from dataclasses import dataclass

import torch.distributed as dist

from zerolit.comm import CommLog, Swap, tap
from zerolit.zero import STAGES, TINY_GPT, Settings
from zerolit.zero.settings import refuse_stage
from zerolit.zero.train import one_thread, rank_step, share_out, task_worker

from .drive import drive
from .launch import launch


@dataclass(frozen=True)
class Exchange:
    """What a rank sent and, if it was both at once, received.

    Attributes:
        to: the rank that it sent to.
        elements: what it sent.
        began, ended: seconds since the ranks started the step together.
    """

    phase: str
    to: int
    elements: int
    began: float
    ended: float


def trace(stage: int, size: int, timeout: float = 60.0) -> list[list[Exchange]]:
    """The second step of the tiny GPT, on `size` processes: what each rank sent, in its order.

    Raises:
        ValueError, EngineError: as `launch`.
    """
    refuse_stage(stage)
    Settings(size)  # refuses what cannot be
    return launch(_trace_rank, size, stage, timeout=timeout)


class _Clock(CommLog):
    """Notes when each exchange began, by `tap`, and when it ended, which is when it is logged."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.start, self.began, self.ended = time.perf_counter(), list[float](), list[float]()

    def begin(self, swap: Swap) -> None:
        if swap.to is not None:  # else it only receives, and nothing is logged
            self.began.append(time.perf_counter() - self.start)

    def add(self, step: int, source: int, swap: Swap) -> None:
        super().add(step, source, swap)
        self.ended.append(time.perf_counter() - self.start)


def _trace_rank(stage: int) -> list[Exchange]:
    rank, size = dist.get_rank(), dist.get_world_size()
    worker = task_worker(TINY_GPT, stage, rank, size)
    with one_thread():
        for x, y in TINY_GPT.draw_batches(2, 32):
            dist.barrier()
            clock = _Clock(size)
            program = rank_step(STAGES[stage], worker, share_out(x, y, size, 1)[rank])
            drive(tap(program, clock.begin), log=clock)
    times = zip(clock.messages, clock.began, clock.ended, strict=True)
    return [Exchange(m.phase, m.destination, m.elements, *seconds) for m, *seconds in times]
