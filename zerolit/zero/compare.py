"""Data parallelism beside one big batch: the same gradients, and how far the runs part."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from .settings import Settings
from .stages import Worker, stage0
from .task import TINY_GPT, Batch, Task
from .train import one_thread, share_out, step, task_worker


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
    gradients: bool = True,
    threads: int = 1,
    on_step: Callable[[], object] = lambda: None,
) -> list[Step]:
    """Train on `size` ranks with a share of each batch, and on one with all of it.

    What is not told here is as in `Settings` and `train`.

    Args:
        sgd: the learning rate of plain SGD; None is AdamW as in `train`.
        gradients: whether to compare them, too: half as much again to compute.
        threads: how many of the runs compute at once; the bits do not depend on it.

    Raises:
        ValueError: settings that cannot be.
    """
    how = Settings(size, steps, task, batch_size, master_dtype=master_dtype)
    many, one = (_workers(how, n, sgd) for n in (size, 1))
    mirror = _workers(how, size, sgd=0.0) if gradients else []  # stays at the one's parameters
    told = []
    with one_thread(), ThreadPoolExecutor(threads) as pool:
        for batch in task.draw_batches(steps, batch_size):
            _copy_parameters(one[0], mirror)
            told.append(_step_all(pool, mirror, many, one, batch))
            on_step()
    return told


def _step_all(
    pool: ThreadPoolExecutor,
    mirror: list[Worker],
    many: list[Worker],
    one: list[Worker],
    batch: Batch,
) -> Step:
    """A step of each; the mirror's gradients, and the parameters of the many, beside the one's."""
    parts, whole = share_out(*batch, len(many), 1), share_out(*batch, 1, 1)
    runs = [(many, parts), (one, whole)] + [(mirror, parts)] * bool(mirror)
    mean, single, *_ = pool.map(lambda run: step(stage0, *run), runs)
    gradients = _differences(one[0], mirror[0], "gradients") if mirror else []
    gradient_gap = max((part.max().item() for part in gradients), default=None)
    names = [name for unit in one[0].units for name in unit.names]
    gaps = _by_name(names, _differences(one[0], many[0], "parameters"))
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
            _use_sgd(worker, sgd)
    return workers


def _use_sgd(worker: Worker, lr: float) -> None:
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
    return [
        (a - b).abs()
        for ours, theirs in zip(one.units, other.units, strict=True)
        for a, b in zip(
            ours.layout.views(ours[kind]), theirs.layout.views(theirs[kind]), strict=True
        )
    ]


def _by_name(names: Sequence[str], differences: Sequence[Tensor]) -> dict[str, float]:
    """The largest difference of each parameter; the bias of q, k and v as the three that it is."""
    gaps = {}
    for name, difference in zip(names, differences, strict=True):
        parts = difference.chunk(3) if name.endswith("qkv.bias") else [difference]
        for part, ending in zip(parts, (".query", ".key", ".value"), strict=False):
            gaps[name + ending if len(parts) == 3 else name] = part.max().item()
    return gaps


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
            _use_sgd(worker, 0.0)  # from here on the parameters stay
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
