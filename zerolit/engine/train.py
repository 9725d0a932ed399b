"""Train on real processes: each runs its own rank's program, the one that the simulator runs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist

from zerolit.comm import CommLog
from zerolit.zero import TINY_GPT, Recipe, Run, Task, Worker, checkpoint
from zerolit.zero.run import Part, part_of, put_together
from zerolit.zero.stages import STAGES, Batch
from zerolit.zero.train import Job, rank_step, run_steps, task_worker

from . import status
from .drive import drive
from .launch import launch
from .rank import tell
from .watch import EngineError


def train(
    stage: int,
    size: int = 4,
    steps: int = 15,
    task: Task = TINY_GPT,
    batch_size: int = 32,
    save: Path | None = None,
    resume: Path | None = None,
    timeout: float = 60.0,
    device: str = "cpu",
    on_step: Callable[[], object] = lambda: None,
    **recipe: Any,
) -> Run:
    """`zerolit.zero.train` on `size` processes of this machine, or on `torchrun`'s ranks.

    Arguments and result are the same; `timeout` and `device` are those of `launch`. So are
    checkpoints: what one wrote the other reads; under `torchrun`, in a folder that all ranks see.

    Raises:
        ValueError: as `zerolit.zero.train`.
        EngineError: a rank failed, or could not read the checkpoint to resume; one that was to be
            written anew is still whole.
    """
    if resume:
        checkpoint.find(resume, steps)
    if save:
        checkpoint.refuse_place(save)
    job = Job(stage, size, steps, task, batch_size, Recipe(**recipe), device)
    try:
        told = launch(
            train_rank,
            size,
            job,
            save,
            resume,
            timeout=timeout,
            device=device,
            on_tell=lambda _: on_step(),
        )
    except EngineError:
        if save:
            checkpoint.sweep(save)
        raise
    (losses, continues, _), parts = told[0], [part for *_, part in told]
    return put_together(parts, losses, continues)


def train_rank(
    job: Job, save: Path | None, resume: Path | None
) -> tuple[list[float], str | None, Part]:
    """One rank's run, as the simulator's is, but that the other ranks are elsewhere."""
    rank = dist.get_rank()
    worker = task_worker(job.task, job.stage, rank, job.size, job.recipe, job.device)

    def take_step(batches: list[list[Batch]], log: CommLog) -> float:
        loss = drive(rank_step(STAGES[job.stage], worker, batches[rank]), log=log)
        tell("step")
        return loss

    losses, continues, (counts,) = run_steps(job, [worker], resume, take_step)
    if save:
        save_together(save, worker, job.steps, job.about)
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
