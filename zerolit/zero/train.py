"""Train the tiny GPT on simulated ranks, by any stage, and count what each stores and sends."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn

from zerolit.comm import CommLog, ProtocolError, RankProgram, Swap, simulate, tap
from zerolit.gpt import (
    ALPHABET,
    BASE_CONFIG,
    CharTokenizer,
    Config,
    build_world,
    get_batch,
    loss_sum,
    make_model,
)

from . import checkpoint
from .memory import Memory
from .stages import DIVIDE, STAGES, Batch, Worker
from .unit import FlatUnit


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
    """

    parameters: Tensor
    losses: list[float]
    sent: list[Counter[str]]
    stored: list[Counter[str]]
    released: list[Counter[str]]
    peaks: list[Counter[str]]
    moments: list[list[tuple[str, Counter[str]]]]
    padded: int


def train(
    stage: int,
    size: int = 4,
    steps: int = 15,
    config: Config = BASE_CONFIG,
    batch_size: int = 32,
    accumulate: int = 1,
    clip: float | None = None,
    one_unit: bool = False,
    divide: str = "loss",
    lr: float = 3e-3,
    wd: float = 0.1,
    save: Path | None = None,
    resume: Path | None = None,
    on_step: Callable[[], object] = lambda: None,
) -> Run:
    """Train the tiny GPT (model seed 0, batch generator seed 1) on `size` simulated ranks.

    Args:
        stage: 0 for plain data parallelism, 1, 2 or 3 for ZeRO.
        batch_size: sequences per step on all ranks together.
        accumulate: micro-batches per step, G.
        clip: the largest global norm of the gradient, or None.
        one_unit: flatten the whole model into one vector, instead of one per embedding, block
            and head. The ring then cuts, and so adds up, differently.
        divide: where gradients are divided by the token count: "loss", or "before" or "after" the
            sum over ranks.
        save: the folder for a checkpoint after the last step.
        resume: a checkpoint to go on from; `steps` counts from the run's very beginning. With the
            same number of ranks the run goes on to the bit, in any stage with the same order of
            summation; with another number, to rounding.
        on_step: called after each step, to show progress.

    Raises:
        ValueError: an unknown stage or division, fewer sequences than micro-batches, tied weights,
            or a checkpoint that is damaged, of another model, or of `steps` and more.
    """
    _check(stage, size, batch_size, accumulate, divide, config)
    batches = draw_batches(steps, batch_size, config.context)
    workers = [
        make_worker(stage, rank, size, config, clip, one_unit, divide, lr=lr, wd=wd)
        for rank in range(size)
    ]
    done = _resume(resume, workers, steps) if resume else 0
    losses = []
    with one_thread():
        for x, y in islice(batches, done, None):
            log = CommLog(size)  # only the last step's is told
            parts = share_out(x, y, size, accumulate)
            losses.append(step(STAGES[stage], workers, parts, log))
            on_step()
            stored = [worker.memory.now for worker in workers]
            moments = [worker.memory.moments[:] for worker in workers]
            _release_gradients(workers)
    if save:
        checkpoint.save(save, workers, steps)
    return Run(
        parameters=_collect(workers),
        losses=losses,
        sent=_by_phase(log),
        stored=stored,
        released=[worker.memory.now for worker in workers],
        peaks=[worker.memory.peak for worker in workers],
        moments=moments,
        padded=sum(unit.padded for unit in workers[0].units),
    )


def _check(
    stage: int, size: int, batch_size: int, accumulate: int, divide: str, config: Config
) -> None:
    if stage not in range(len(STAGES)):
        raise ValueError(f"stage is {stage}; it must be 0, 1, 2 or 3")
    if size < 1 or accumulate < 1:
        raise ValueError(f"size is {size}, accumulate {accumulate}; both must be at least 1")
    if batch_size < size * accumulate:
        raise ValueError(
            f"batch_size is {batch_size}; {size} ranks with {accumulate} micro-batches each need "
            f"at least {size * accumulate} sequences"
        )
    if divide not in DIVIDE:
        raise ValueError(f"divide is {divide!r}; it must be one of {', '.join(DIVIDE)}")
    if config.tied:
        raise ValueError("the model ties weights between units; only untied models can be cut")


def _resume(folder: Path, workers: Sequence[Worker], steps: int) -> int:
    saved = checkpoint.load(folder)
    if not saved.step < steps:
        raise ValueError(f"steps is {steps}; {folder} has {saved.step} already, so ask for more")
    checkpoint.restore(saved, workers)
    return saved.step


def draw_batches(steps: int, batch_size: int, context: int) -> Iterator[Batch]:
    """The batches of a run: the world's text, and a generator of seed 1."""
    data = torch.tensor(CharTokenizer(ALPHABET).encode(build_world().train_text()))
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        yield get_batch(data, batch_size, context, generator)


def make_worker(
    stage: int,
    rank: int,
    size: int,
    config: Config,
    clip: float | None = None,
    one_unit: bool = False,
    divide: str = "loss",
    **settings: float,
) -> Worker:
    """A rank with a model of its own: whole parameters, or slices in stage 3."""
    memory = Memory()
    modules = list(make_model(config, seed=0).units)
    units = [
        FlatUnit(f"unit {i}", module, rank, size, memory)
        for i, module in enumerate([nn.Sequential(*modules)] if one_unit else modules)
    ]
    worker = Worker(rank, size, units, memory, loss_sum, clip, divide)
    for unit in units:
        flat = unit.flatten()
        if stage < 3:
            unit.attach(unit.hold("parameters", flat))
        else:
            unit.hold("parameters", flat[unit.mine].clone())
            unit.detach()
        n = unit.padded if stage == 0 else unit.padded // size
        worker.adamw[unit.name] = unit.optimizer(n, **settings)
    return worker


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
) -> float:
    """One training step of all ranks, each with its micro-batches; returns the mean loss."""

    def program(rank: int, size: int, worker: Worker) -> RankProgram:
        return _guarded(rank, stage(worker, batches[rank]))

    for worker in workers:
        worker.memory.moments.clear()
    losses = simulate(program, workers, log)
    return losses[0]


def _guarded(rank: int, program: RankProgram) -> RankProgram:
    """Refuse a yield under a changed grad mode: it would leak to the rank that runs next."""

    def check(_: Swap) -> None:
        if not torch.is_grad_enabled():
            torch.set_grad_enabled(True)
            raise ProtocolError(f"rank {rank} yields with gradients switched off")

    return tap(program, check)


def _release_gradients(workers: Sequence[Worker]) -> None:
    for worker in workers:
        for unit in worker.units:
            unit.release("gradients")


def _by_phase(log: CommLog) -> list[Counter[str]]:
    sent: list[Counter[str]] = [Counter() for _ in range(log.size)]
    for message in log.messages:
        sent[message.source][message.phase] += message.elements
    return sent


def _collect(workers: Sequence[Worker]) -> Tensor:
    """The parameters as one vector, padding left out: from rank 0, or from everybody's slices."""
    whole = []
    for i, unit in enumerate(workers[0].units):
        held = [worker.units[i]["parameters"] for worker in workers]
        flat = held[0] if len(held[0]) == unit.padded else torch.cat(held)
        whole.append(flat[: unit.length])
    return torch.cat(whole)


@contextmanager
def one_thread() -> Iterator[None]:
    """One intra-op thread while it lasts: their number changes the bits of a sum."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
