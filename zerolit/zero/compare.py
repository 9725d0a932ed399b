"""Data parallelism beside one big batch: the same gradients, and how far the runs part."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from zerolit.comm import RankProgram

from .settings import Settings
from .stages import (
    Worker,
    all_gather,
    count_tokens,
    reduce_scatter,
    stage0,
    sum_loss,
    update,
    whole_gradients,
)
from .task import TINY_GPT, Batch, Task
from .train import one_thread, share_out, step, task_worker
from .unit import FlatUnit

Stage = Callable[[Worker, Sequence[Batch]], RankProgram]


@dataclass(frozen=True)
class Step:
    """Four ranks and one, at one step.

    Attributes:
        gradient_gap: the largest difference of their gradients at the same parameters; None if
            they were not compared.
        single_loss, mean_loss: of the one rank, and of the four ranks together.
        parameter_gap: the largest difference of the two runs' parameters after the update.
        gaps: the same for each parameter, by name.
    """

    gradient_gap: float | None
    single_loss: float
    mean_loss: float
    parameter_gap: float
    gaps: dict[str, float]

    @property
    def leader(self) -> str:
        """The parameter that is farthest off."""
        return max(self.gaps, key=self.gaps.__getitem__)


def bigger_batch(
    size: int = 4,
    steps: int = 40,
    task: Task = TINY_GPT,
    sgd: float | None = None,
    batch_size: int = 32,
    master_dtype: torch.dtype | None = None,
    sum_dtype: torch.dtype | None = None,
    gradients: Collection[int] | None = None,
    threads: int = 1,
    on_step: Callable[[], object] = lambda: None,
) -> list[Step]:
    """Train on `size` ranks with a share of each batch, and on one with all of it.

    What is not told here is as in `Settings` and `train`.

    Args:
        sgd: the learning rate of plain SGD; None is AdamW as in `train`.
        sum_dtype: of the sum over the ranks alone, which is rounded back for the update; None is
            `master_dtype`, in which both are done.
        gradients: the steps at which to compare them, too, which costs half as much again; None
            is all of them.
        threads: how many of the runs compute at once; the bits do not depend on it.

    Raises:
        ValueError: settings that cannot be.
    """
    how = Settings(size, steps, task, batch_size, master_dtype=master_dtype)
    many, one = (_workers(how, n, sgd) for n in (size, 1))
    compared = range(steps) if gradients is None else gradients
    mirror = _workers(how, size, sgd=0.0) if compared else []  # stays at the one's parameters
    stage = _sum_in(sum_dtype) if sum_dtype else stage0
    told = []
    with one_thread(), ThreadPoolExecutor(threads) as pool:
        for i, batch in enumerate(task.draw_batches(steps, batch_size)):
            beside = mirror if i in compared else []
            _copy_parameters(one[0], beside)
            told.append(_step_all(pool, stage, beside, many, one, batch))
            on_step()
    return told


def _sum_in(dtype: torch.dtype) -> Stage:
    """Data parallelism that adds up over the ranks in `dtype`, and nothing else."""

    def stage(w: Worker, batches: Sequence[Batch]) -> RankProgram:
        tokens = yield from count_tokens(w, batches)
        loss = whole_gradients(w, batches, tokens)
        for unit in w.units:
            summed = unit["gradients"].to(dtype)
            yield from reduce_scatter(w, unit, summed, tokens)
            yield from all_gather(w, unit, summed, "gradients")
            unit["gradients"].copy_(summed)  # rounded back
        loss = yield from sum_loss(w, loss)
        for unit in w.units:
            update(w, unit)
        return loss

    return stage


def _step_all(
    pool: ThreadPoolExecutor,
    stage: Stage,
    mirror: list[Worker],
    many: list[Worker],
    one: list[Worker],
    batch: Batch,
) -> Step:
    """A step of each; the mirror's gradients, and the parameters of the many, beside the one's."""
    parts, whole = share_out(*batch, len(many), 1), share_out(*batch, 1, 1)
    runs = [(many, parts), (one, whole)] + [(mirror, parts)] * bool(mirror)
    mean, single, *_ = pool.map(lambda run: step(stage, *run), runs)
    gradients = _differences(one[0], mirror[0], "gradients") if mirror else []
    gradient_gap = max((part.max().item() for part in gradients), default=None)
    gaps = {
        name: part.max().item()
        for name, part in _by_name(one[0], _differences(one[0], many[0], "parameters")).items()
    }
    return Step(gradient_gap, single, mean, max(gaps.values()), gaps)


class _SGD:
    """p ← p − lr·g, in the place of an AdamW; with lr = 0 a step only computes gradients."""

    def __init__(self, n: int, lr: float):
        self.n, self.lr = n, lr

    def step(self, params: Tensor, grads: Tensor, keep: Tensor | None = None) -> None:
        params.sub_(self.lr * grads)


def _workers(how: Settings, size: int, sgd: float | None) -> list[Worker]:
    workers = [task_worker(how.task, 0, rank, size, how.recipe) for rank in range(size)]
    if sgd is not None:
        for worker in workers:
            use_sgd(worker, sgd)
    return workers


def use_sgd(worker: Worker, lr: float) -> None:
    """Let a worker update by plain SGD from now on; it has then no optimizer state."""
    worker.adamw = {name: _SGD(a.n, lr) for name, a in worker.adamw.items()}  # type: ignore


def _copy_parameters(source: Worker, targets: Sequence[Worker]) -> None:
    for target in targets:
        for theirs, ours in zip(source.units, target.units, strict=True):
            n = ours.layout.length
            ours["parameters"][:n] = theirs["parameters"][:n]
            if ours.name in target.masters:
                target.masters[ours.name][:n] = source.masters[ours.name][:n]


def _differences(one: Worker, other: Worker, kind: str) -> list[Tensor]:
    """How far each parameter, or its gradient, is off, element by element."""
    pairs = zip(_views(one, kind), _views(other, kind), strict=True)
    return [(ours - theirs).abs() for ours, theirs in pairs]


def _views(worker: Worker, kind: str) -> list[Tensor]:
    """The worker's parameters, gradients or masters, one tensor for each parameter."""

    def vector(unit: FlatUnit) -> Tensor:
        if kind == "masters":  # without masters it is the parameters that are updated
            return worker.masters.get(unit.name, unit["parameters"])
        return unit[kind]

    return [view for unit in worker.units for view in unit.layout.views(vector(unit))]


def _by_name(worker: Worker, tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    """One tensor for each parameter, by name; the bias of q, k and v as the three that it is."""
    names = [name for unit in worker.units for name in unit.names]
    found = {}
    for name, tensor in zip(names, tensors, strict=True):
        parts = tensor.chunk(3) if name.endswith("qkv.bias") else [tensor]
        for part, ending in zip(parts, (".query", ".key", ".value"), strict=False):
            found[name + ending if len(parts) == 3 else name] = part
    return found


@dataclass(frozen=True)
class Apart:
    """One parameter of the ranks and of the one, element by element, at one step.

    Attributes:
        gradient: |g| of the one `[n]`.
        gradient_gap: how far the ranks' gradient, of their own parameters, is off `[n]`.
        parameter_gap: how far their parameters are off after the update `[n]`.
    """

    gradient: Tensor
    gradient_gap: Tensor
    parameter_gap: Tensor


def elements(
    steps: int = 1,
    size: int = 4,
    task: Task = TINY_GPT,
    batch_size: int = 32,
    master_dtype: torch.dtype | None = None,
) -> list[dict[str, Apart]]:
    """Train as `bigger_batch` does, by AdamW, and look at every element of every parameter.

    Returns:
        for each step, by the parameter's name, how far it is off. With a `master_dtype` that is
        not the model's, the parameters are those that are updated, not their rounded copies.
    """
    how = Settings(size, steps, task, batch_size, master_dtype=master_dtype)
    many, one = (_workers(how, n, None) for n in (size, 1))
    told = []
    with one_thread():
        for batch in task.draw_batches(steps, batch_size):
            for workers in (many, one):
                step(stage0, workers, share_out(*batch, len(workers), 1))
            told.append(_look(one[0], many[0]))
    return told


def _look(one: Worker, other: Worker) -> dict[str, Apart]:
    gradients = [view.abs() for view in _views(one, "gradients")]
    gaps = (_differences(one, other, kind) for kind in ("gradients", "masters"))
    named = [_by_name(one, tensors) for tensors in (gradients, *gaps)]
    return {name: Apart(*(part[name].flatten() for part in named)) for name in named[0]}


@dataclass(frozen=True)
class NoiseScale:
    """The gradient's noise, by the two-batch estimator (McCandlish et al., arXiv 1812.06162).

    Attributes:
        signal: |G|², the squared norm of the true gradient.
        noise: tr Σ, the summed variance of one sequence's gradient.
    """

    signal: float
    noise: float

    @property
    def batch(self) -> float:
        """Bnoise = tr Σ / |G|², in sequences: the batch from which a larger one helps less."""
        return self.noise / self.signal


def noise_scale(small: int = 8, large: int = 32, draws: int = 40, trained: int = 40) -> NoiseScale:
    """Measure the noise of the tiny model's gradient after `trained` steps.

    The gradients are of mean losses over `small` and `large` sequences; their squared norms are
    means over `draws` batches.
    """
    worker = task_worker(TINY_GPT, 0, 0, 1)
    squares = {small: 0.0, large: 0.0}
    with one_thread():
        for i, (x, y) in enumerate(TINY_GPT.draw_batches(trained + draws, large)):
            if i < trained:
                step(stage0, [worker], [[(x, y)]])
                continue
            use_sgd(worker, 0.0)  # from here on the parameters stay
            for batch in squares:
                step(stage0, [worker], [[(x[:batch], y[:batch])]])
                squares[batch] += _square(worker) / draws
    return estimate_noise(small, squares[small], large, squares[large])


def estimate_noise(small: int, square1: float, large: int, square2: float) -> NoiseScale:
    """The two-batch estimator: |G₁|² at batch B₁ = `small` and |G₂|² at B₂ = `large`.

    |G|² = (B₂|G₂|² − B₁|G₁|²)/(B₂ − B₁) and tr Σ = (|G₁|² − |G₂|²)/(1/B₁ − 1/B₂).

    Raises:
        ValueError: batches that are not `small` < `large`.
    """
    if not 0 < small < large:
        raise ValueError(f"batches are {small} and {large}; they must be above 0 and grow")
    signal = (large * square2 - small * square1) / (large - small)
    noise = (square1 - square2) / (1 / small - 1 / large)
    return NoiseScale(signal, noise)


def _square(worker: Worker) -> float:
    return sum(unit["gradients"].double().square().sum().item() for unit in worker.units)
