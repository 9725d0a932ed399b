"""Train on real processes: each runs its own rank's program, the one that the simulator runs."""

import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import torch.distributed as dist

from zerolit.comm import CommLog
from zerolit.gpt import BASE_CONFIG, Config
from zerolit.zero import Recipe, Run, Worker, checkpoint
from zerolit.zero.run import Part, end_step, part_of, put_together
from zerolit.zero.stages import STAGES
from zerolit.zero.train import (
    check,
    draw_batches,
    go_on,
    gpt_worker,
    one_thread,
    rank_step,
    share_out,
)

from . import status
from .drive import drive
from .launch import EngineError, launch, tell


def train(
    stage: int,
    size: int = 4,
    steps: int = 15,
    config: Config = BASE_CONFIG,
    batch_size: int = 32,
    save: Path | None = None,
    resume: Path | None = None,
    timeout: float = 60.0,
    on_step: Callable[[], object] = lambda: None,
    **recipe: Any,
) -> Run:
    """`zerolit.zero.train` on `size` processes of this machine, or on `torchrun`'s ranks.

    Arguments and result are the same; `timeout` is that of `launch`. Checkpoints are, too: what
    one wrote the other reads. Under `torchrun` their folder must be one that all ranks see.

    Raises:
        ValueError: as `zerolit.zero.train`.
        EngineError: a rank failed; a checkpoint that was there before is whole.
    """
    how = Recipe(**recipe)
    check(stage, size, steps, batch_size, how)
    job = (stage, steps, config, batch_size, how, save, resume)
    try:
        told = launch(_train_rank, size, *job, timeout=timeout, on_tell=lambda _: on_step())
    except EngineError:
        if save:
            checkpoint.sweep(save)
        raise
    (losses, continues, _), parts = told[0], [part for *_, part in told]
    return put_together(parts, losses, continues)


def _train_rank(
    stage: int,
    steps: int,
    config: Config,
    batch_size: int,
    how: Recipe,
    save: Path | None,
    resume: Path | None,
) -> tuple[list[float], str | None, Part]:
    """One rank's run, as the simulator's is, but that others' ranks are elsewhere."""
    rank, size = dist.get_rank(), dist.get_world_size()
    worker = gpt_worker(stage, rank, size, config, how)
    about = checkpoint.describe(stage, size, how, config, batch_size)
    done, continues = go_on(resume, [worker], steps, about)
    losses = []
    with one_thread():
        for x, y in islice(draw_batches(steps, batch_size, config.context), done, None):
            log = CommLog(size)
            batches = share_out(x, y, size, how.accumulate)[rank]
            losses.append(drive(rank_step(STAGES[stage], worker, batches), log=log))
            tell("step")
            counts = end_step(worker, log)
    if save:
        save_together(save, worker, steps, about)
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
