"""Train on simulated ranks, by any stage, and count what each stores and sends."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from zerolit.comm import CommLog, ProtocolError, RankProgram, Swap, simulate, tap

from . import checkpoint
from .memory import Memory
from .recipe import DEFAULT, Recipe
from .run import Counts, Run, end_step, part_of, put_together
from .settings import Settings, refuse_stage
from .stages import STAGES, Worker
from .task import Batch, Task
from .unit import FlatUnit


def train(
    stage: int,
    *settings: Any,
    threads: int = 1,
    on_step: Callable[[], object] = lambda: None,
    **more: Any,
) -> Run:
    """Train on simulated ranks.

    Args:
        stage: 0 for plain data parallelism, 1, 2 or 3 for ZeRO.
        settings: those of `Settings`, in its order.
        threads: how many ranks compute at once; the bits do not depend on it.
        on_step: called after each step, to show progress.
        more: further ones of `Settings`, by name, such as `accumulate=4` or `clip=1.0`.

    Raises:
        ValueError: an unknown stage, settings that cannot be, or a checkpoint to resume that is
            damaged, of another model, or of `steps` and more.
    """
    refuse_stage(stage)
    how = Settings(*settings, **more)
    about, place = how.about(stage), (how.size, how.recipe, how.device)
    workers = [task_worker(how.task, stage, rank, *place) for rank in range(how.size)]

    def take_step(batches: list[list[Batch]], log: CommLog) -> float:
        loss = step(STAGES[stage], workers, batches, log, threads)
        on_step()
        return loss

    losses, continues, counts = run_steps(how, about, workers, take_step)
    if how.save:
        checkpoint.save(how.save, workers, how.steps, about)
    return put_together(list(map(part_of, workers, counts)), losses, continues)


def run_steps(
    how: Settings,
    about: dict[str, Any],
    workers: Sequence[Worker],
    take_step: Callable[[list[list[Batch]], CommLog], float],
) -> tuple[list[float], str | None, list[Counts]]:
    """All steps of the workers that are here: simulated ranks, or a process's own one.

    Args:
        about: what the run's bits depend on.
        take_step: takes one, given every rank's micro-batches and a log; returns the mean loss.

    Returns:
        the losses, how the run continues a checkpoint, and what each worker counted in the last.
    """
    done, continues = go_on(how.resume, workers, how.steps, about)
    losses = []
    with one_thread():
        for x, y in islice(how.task.draw_batches(how.steps, how.batch_size), done, how.steps):
            log = CommLog(how.size)  # only the last step's is told
            batches = share_out(x.to(how.device), y.to(how.device), how.size, how.accumulate)
            losses.append(take_step(batches, log))
            counts = [end_step(worker, log) for worker in workers]
    refuse_too_few(done + len(losses), how.steps)
    return losses, continues, counts


def refuse_too_few(batches: int, steps: int) -> None:
    """Raise a ValueError if a task's batches ended before the run."""
    if batches < steps:
        raise ValueError(
            f"draw_batches gave {batches} batches; it must give as many as steps, {steps}"
        )


def go_on(
    folder: Path | None, workers: Sequence[Worker], steps: int, about: dict[str, Any]
) -> tuple[int, str | None]:
    """Restore a checkpoint, if there is one; how many steps it had, and how the run continues.

    Raises:
        ValueError: a checkpoint that is damaged, of another model, or of `steps` and more.
    """
    if folder is None:
        return 0, None
    saved = checkpoint.load(folder)
    checkpoint.refuse_over(folder, saved.step, steps)
    continues = checkpoint.how_it_continues(saved.about, about)
    checkpoint.restore(saved, workers)
    return saved.step, continues


def task_worker(
    task: Task,
    stage: int,
    rank: int,
    size: int,
    recipe: Recipe = DEFAULT,
    device: str | torch.device = "cpu",
) -> Worker:
    """A rank with a model of its own, on `device`."""
    modules = [module.to(device) for module in task.make_units()]
    return make_worker(stage, rank, size, modules, task.loss_sum, recipe)


def make_worker(
    stage: int,
    rank: int,
    size: int,
    modules: Sequence[nn.Module],
    loss: Callable[[Tensor, Tensor], Tensor],
    recipe: Recipe = DEFAULT,
) -> Worker:
    """A rank with a model of its own: whole parameters, or shares in stage 3.

    Args:
        modules: the model's units, each fed with what the one before gave.
        loss: `(output of the last unit, y) -> summed loss`.

    Raises:
        ValueError: no modules, or some with dropout or batch norm.
    """
    refuse_what_varies(modules)
    memory, units = Memory(), list[FlatUnit]()
    model = nn.Sequential(*modules)
    for module in modules if recipe.units == "block" else [model]:
        name, cut, master = f"unit {len(units)}", recipe.cut, recipe.master_dtype
        units.append(FlatUnit(name, module, model, rank, size, memory, cut, master, units))
    worker = Worker(rank, size, units, memory, loss, recipe)
    for unit in units:
        n = unit.layout.padded if stage == 0 else unit.layout.share
        _hold_parameters(worker, unit, n, sliced=stage == 3)
        worker.adamw[unit.name] = unit.optimizer(n, recipe.lr, recipe.wd)
    return worker


def refuse_what_varies(modules: Sequence[nn.Module]) -> None:
    """Raise a ValueError for modules whose output varies from run to run, or with the share.

    ZeRO-3 runs a module twice and takes both outputs for the same; ranks must agree on a batch.
    """
    if not modules:
        raise ValueError("make_units gave no modules; a model has at least one")
    for module in nn.Sequential(*modules).modules():
        drops = isinstance(module, _DropoutNd) and module.p > 0
        if module.training and (drops or isinstance(module, _BatchNorm)):
            raise ValueError(f"the model contains {module}, whose output is not the same each time")


def _hold_parameters(worker: Worker, unit: FlatUnit, n: int, sliced: bool) -> None:
    """Put a unit's parameters into a vector or a share of one; and the `n` masters, if apart."""
    flat = unit.flatten()
    for i, frozen in enumerate(unit.frozen):
        worker.memory.hold("parameters", f"{unit.name} frozen {i}", frozen.data)
    if sliced:
        unit.hold("parameters", unit.cut(flat, n).to(unit.master_dtype, copy=True))
        unit.detach()
        return
    unit.attach(unit.hold("parameters", flat))
    if unit.master_dtype != unit.dtype:
        masters = unit.part("parameters", n).to(unit.master_dtype)
        worker.masters[unit.name] = worker.memory.hold("optimizer", f"{unit.name} masters", masters)


def share_out(x: Tensor, y: Tensor, size: int, accumulate: int) -> list[list[Batch]]:
    """For each rank its micro-batches; where the ranks do not divide the batch, some get more."""
    parts = zip(x.tensor_split(size), y.tensor_split(size), strict=True)
    return [
        list(zip(xs.tensor_split(accumulate), ys.tensor_split(accumulate), strict=True))
        for xs, ys in parts
    ]


def step(
    stage: Callable[[Worker, Sequence[Batch]], RankProgram],
    workers: Sequence[Worker],
    batches: Sequence[list[Batch]],
    log: CommLog | None = None,
    threads: int = 1,
) -> float:
    """One training step of all ranks, each with its micro-batches; returns the mean loss."""

    def program(rank: int, size: int, worker: Worker) -> RankProgram:
        return rank_step(stage, worker, batches[rank])

    losses = simulate(program, workers, log, threads=threads)
    return losses[0]


def rank_step(
    stage: Callable[[Worker, Sequence[Batch]], RankProgram],
    worker: Worker,
    batches: Sequence[Batch],
) -> RankProgram:
    """One rank's step, which refuses a yield under a changed grad mode.

    On the simulator the mode would leak to the rank that runs next.
    """

    def look(_: Swap) -> None:
        if not torch.is_grad_enabled():
            torch.set_grad_enabled(True)
            raise ProtocolError(f"rank {worker.rank} yields with gradients switched off")

    worker.memory.moments.clear()
    return tap(stage(worker, batches), look)


@contextmanager
def one_thread() -> Iterator[None]:
    """One intra-op thread while it lasts: their number changes the bits of a sum."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
