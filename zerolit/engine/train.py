"""Train on real processes: each runs its own rank's program, the one that the simulator runs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist

from zerolit.comm import CommLog
from zerolit.zero import Run, Settings, Worker, checkpoint
from zerolit.zero.run import Part, part_of, put_together
from zerolit.zero.settings import refuse_stage
from zerolit.zero.stages import STAGES, Batch
from zerolit.zero.train import rank_step, run_steps, task_worker

from . import status
from .drive import drive
from .launch import launch
from .rank import tell
from .watch import EngineError


def train(
    stage: int,
    *settings: Any,
    timeout: float = 60.0,
    on_step: Callable[[], object] = lambda: None,
    **more: Any,
) -> Run:
    """`zerolit.zero.train` on processes of this machine, or on `torchrun`'s ranks.

    Arguments and result are the same; `timeout` is that of `launch`, and every rank has a device of
    its own. So are checkpoints: what one wrote the other reads; under `torchrun`, in a folder that
    all ranks see.

    Raises:
        ValueError: as `zerolit.zero.train`, or `launch`.
        EngineError: a rank failed, or could not read the checkpoint to resume; one that was to be
            written anew is still whole.
    """
    refuse_stage(stage)
    how = Settings(*settings, **more)
    if how.resume:
        checkpoint.find(how.resume, how.steps)
    place: dict[str, Any] = {"timeout": timeout, "device": how.device}
    try:
        told = launch(train_rank, how.size, stage, how, **place, on_tell=lambda _: on_step())
    except EngineError:
        if how.save:
            checkpoint.sweep(how.save)
        raise
    (losses, continues, _), parts = told[0], [part for *_, part in told]
    return put_together(parts, losses, continues)


def train_rank(stage: int, how: Settings) -> tuple[list[float], str | None, Part]:
    """One rank's run, as the simulator's is, but that the other ranks are elsewhere."""
    rank, about = dist.get_rank(), how.about(stage)
    worker = task_worker(how.task, stage, rank, how.size, how.recipe, how.device)

    def take_step(batches: list[list[Batch]], log: CommLog) -> float:
        loss = drive(rank_step(STAGES[stage], worker, batches[rank]), log=log)
        tell("step")
        return loss

    losses, continues, (counts,) = run_steps(how, about, [worker], take_step)
    if how.save:
        save_together(how.save, worker, how.steps, about)
    return losses, continues, part_of(worker, counts)


def save_together(folder: Path, worker: Worker, step: int, about: dict[str, Any]) -> None:
    """Every rank writes its shares aside; the first one renames them into place."""
    status.doing("saving")
    asides: list[Any] = [checkpoint.make_aside(folder) if worker.rank == 0 else None]
    dist.broadcast_object_list(asides, src=0)
    digests: list[Any] = [None] * worker.size
    try:
        dist.all_gather_object(digests, checkpoint.write_rank(asides[0], worker))
        if worker.rank == 0:
            checkpoint.commit(asides[0], folder, worker, step, about, digests)
        dist.barrier()
    finally:
        if worker.rank == 0:
            shutil.rmtree(asides[0], ignore_errors=True)
