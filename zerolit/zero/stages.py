"""Data parallelism and ZeRO-1, 2, 3 (Rajbhandari et al., arXiv 1910.02054) as rank programs.

Each stage is one training step as one rank sees it, and reads as the difference from the one
before. Ψ is the number of parameters, p of ranks; the comments count what the rank sends.

Gradients are of the loss summed over all tokens of all ranks, divided once by their number, so
that tokens weigh the same whichever rank has them. Where the division stands is a choice, and the
bits depend on it: in the loss, before the sum over ranks (as DDP does), or after it (as FSDP2 does
on gloo). `divided_loss` and `reduce_scatter` make it.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from zerolit.comm import Chunks, RankProgram, in_phase, ring

from .adamw import FlatAdamW
from .memory import Memory
from .unit import FlatUnit

Batch = tuple[Tensor, Tensor]
DIVIDE = ("loss", "before", "after")  # in the loss; before, or after, the sum over ranks


class Worker:
    """One rank: its units, their optimizers, and what it has to remember between steps.

    Attributes:
        loss_sum: `(output of the last unit, y) -> summed loss`.
        clip: the largest global norm of the gradient, or None.
        divide: where gradients are divided by the token count: one of `DIVIDE`.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        units: Sequence[FlatUnit],
        memory: Memory,
        loss_sum: Callable[[Tensor, Tensor], Tensor],
        clip: float | None = None,
        divide: str = "loss",
    ):
        self.divide = divide
        self.rank, self.size, self.units, self.memory = rank, size, list(units), memory
        self.loss_sum, self.clip = loss_sum, clip
        self.adamw: dict[str, FlatAdamW] = {}


# What the stages share


def divided_loss(w: Worker, loss: Tensor, tokens: int) -> Tensor:
    """What the backward pass starts from: the mean loss, unless gradients are divided later."""
    return loss / tokens if w.divide == "loss" else loss


def reduce_scatter(w: Worker, unit: FlatUnit, flat: Tensor, tokens: int) -> RankProgram:
    """Sum a unit's gradient over the ranks; this rank's slice of it is then finished."""
    if w.divide == "before":
        flat /= tokens
    program = ring.reduce_scatter(w.rank, w.size, unit.chunks(flat), owner=0)
    yield from in_phase("gradients", program)  # (p-1)/p · its length
    if w.divide == "after":
        flat[unit.mine] /= tokens


def all_gather(w: Worker, unit: FlatUnit, flat: Tensor, phase: str = "parameters") -> RankProgram:
    """Fill a unit's vector with the other ranks' slices."""
    program = ring.all_gather(w.rank, w.size, unit.chunks(flat), owner=0)
    yield from in_phase(phase, program)  # (p-1)/p · its length


def sum_over_ranks(w: Worker, value: Tensor, phase: str) -> RankProgram:
    """All-reduce a small vector in place."""
    chunks = Chunks(value.tensor_split(w.size))
    yield from in_phase(phase, ring.all_reduce(w.rank, w.size, chunks, owner=0))


def count_tokens(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """The number of tokens on all ranks, in all micro-batches."""
    count = torch.tensor([sum(y.numel() for _, y in batches)])
    yield from sum_over_ranks(w, count, "tokens")
    return count.item()


def run_unit(unit: FlatUnit, h: Tensor) -> tuple[Tensor, Tensor]:
    """One unit forward, cut off from the units before it: its input, and its output."""
    h = h.detach().requires_grad_(h.is_floating_point())
    return h, unit.module(h)


def unit_backward(
    unit: FlatUnit, h: Tensor, output: Tensor, from_above: Tensor | None, gradient: Tensor
) -> Tensor | None:
    """One unit backward: add to its `gradient` `[padded]`, return the gradient of its input."""
    inputs = [*unit.params, h] if h.requires_grad else unit.params
    grads = torch.autograd.grad(output, inputs, from_above)
    for view, grad in zip(unit.views(gradient), grads, strict=False):
        view += grad
    return grads[-1] if h.requires_grad else None


def forward(w: Worker, x: Tensor, y: Tensor, tokens: int) -> tuple[list, Tensor]:
    """All units forward: what each took and gave, and the rank's part of the mean loss."""
    passes, h = [], x
    for unit in w.units:
        passes.append(run_unit(unit, h))
        h = passes[-1][1]
    loss = w.loss_sum(h, y)
    return [*passes[:-1], (passes[-1][0], divided_loss(w, loss, tokens))], loss.detach() / tokens


def whole_gradients(w: Worker, batches: Sequence[Batch], tokens: int) -> Tensor:
    """The gradients of all micro-batches added up in whole vectors; returns this rank's loss."""
    for unit in w.units:
        unit.hold("gradients", torch.zeros_like(unit["parameters"]))
    total = torch.zeros(1, dtype=torch.float64)
    for x, y in batches:
        passes, loss = forward(w, x, y, tokens)
        from_above = None
        for unit, (h, output) in zip(reversed(w.units), reversed(passes), strict=True):
            from_above = unit_backward(unit, h, output, from_above, unit["gradients"])
        total += loss
    return total


def shard_norms(gradients: Sequence[Tensor]) -> Tensor:
    """The squared norm of a slice of each unit's gradient `[units]`."""
    return torch.stack([gradient.square().sum() for gradient in gradients])


def clip_factor(clip: float, squares: Tensor) -> Tensor:
    """What to multiply gradients by, from the squared norms of all slices `[ranks, units]`."""
    norm = squares.sum().sqrt()
    return torch.clamp(clip / (norm + 1e-6), max=1.0)  # as torch.nn.utils.clip_grad_norm_ does


def clip_slices(w: Worker) -> RankProgram:
    """Clip this rank's slices by the norm of the whole gradient: p·units numbers are gathered."""
    if w.clip is None:
        return
    slices = [my_gradient(w, unit) for unit in w.units]
    squares = torch.zeros(w.size, len(slices), dtype=slices[0].dtype)
    squares[w.rank] = shard_norms(slices)
    rows = Chunks(squares.unbind(0))
    yield from in_phase("norm", ring.all_gather(w.rank, w.size, rows, owner=0))
    factor = clip_factor(w.clip, squares)
    for gradient in slices:
        gradient.mul_(factor)


def my_gradient(w: Worker, unit: FlatUnit) -> Tensor:
    """This rank's slice of a unit's gradient, where the rank holds more than that as well."""
    gradient = unit["gradients"]
    return gradient if len(gradient) < unit.padded or w.size == 1 else gradient[unit.mine]


# --8<-- [start:stage0]
def stage0(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """Plain data parallelism: everybody stores everything. 4Ψ stored, 2(p-1)/p·Ψ sent."""
    tokens = yield from count_tokens(w, batches)
    loss = whole_gradients(w, batches, tokens)  # Ψ held
    for unit in w.units:  # all-reduce = reduce-scatter, then all-gather
        yield from reduce_scatter(w, unit, unit["gradients"], tokens)  # (p-1)/p·Ψ
        yield from all_gather(w, unit, unit["gradients"], "gradients")  # (p-1)/p·Ψ
    clip_whole(w)
    for unit in w.units:
        w.adamw[unit.name].step(unit["parameters"], unit["gradients"])
    yield from sum_over_ranks(w, loss, "loss")
    return loss.item()


# --8<-- [end:stage0]


def clip_whole(w: Worker) -> None:
    """Clip whole gradients, from the partial sums of every rank's slice, in the same order."""
    if w.clip is None:
        return
    slices = [[*unit.chunks(unit["gradients"])] for unit in w.units]
    rows = [shard_norms([unit[rank] for unit in slices]) for rank in range(w.size)]
    factor = clip_factor(w.clip, torch.stack(rows))
    for unit in w.units:
        unit["gradients"].mul_(factor)


# --8<-- [start:stage1]
def stage1(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """ZeRO-1: the update, and so m and v, only of one's slice. 2Ψ + 2Ψ/p stored."""
    tokens = yield from count_tokens(w, batches)
    loss = whole_gradients(w, batches, tokens)  # Ψ held
    for unit in w.units:
        yield from reduce_scatter(w, unit, unit["gradients"], tokens)  # (p-1)/p·Ψ
    yield from clip_slices(w)
    for unit in w.units:  # the update stands between the two halves of the all-reduce
        w.adamw[unit.name].step(unit["parameters"][unit.mine], my_gradient(w, unit))
        yield from all_gather(w, unit, unit["parameters"])  # (p-1)/p·Ψ
    yield from sum_over_ranks(w, loss, "loss")
    return loss.item()


# --8<-- [end:stage1]


# --8<-- [start:stage2]
def stage2(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """ZeRO-2: a gradient is reduced as soon as it is ready, and only one's slice of it is kept.

    Ψ + 3Ψ/p stored. With G micro-batches (G+1)(p-1)/p·Ψ sent: the sum is taken for each of them.
    """
    tokens = yield from count_tokens(w, batches)
    for unit in w.units:
        share = torch.zeros(unit.padded // w.size, dtype=unit["parameters"].dtype)
        unit.hold("gradients", share)
    total = torch.zeros(1, dtype=torch.float64)
    for x, y in batches:
        passes, loss = forward(w, x, y, tokens)
        from_above = None
        for unit, (h, output) in zip(reversed(w.units), reversed(passes), strict=True):
            whole = w.memory.hold("gradients", "whole", torch.zeros_like(unit["parameters"]))
            from_above = unit_backward(unit, h, output, from_above, whole)
            yield from reduce_scatter(w, unit, whole, tokens)  # (p-1)/p·Ψ for each micro-batch
            unit["gradients"].add_(whole[unit.mine])
            w.memory.release("gradients", "whole")
            del whole
        total += loss
    yield from clip_slices(w)
    for unit in w.units:
        w.adamw[unit.name].step(unit["parameters"][unit.mine], unit["gradients"])
        yield from all_gather(w, unit, unit["parameters"])  # (p-1)/p·Ψ
    yield from sum_over_ranks(w, total, "loss")
    return total.item()


# --8<-- [end:stage2]


# --8<-- [start:stage3]
def stage3(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """ZeRO-3: parameters, too, are kept in slices; a unit is gathered, used and released.

    4Ψ/p stored, 3(p-1)/p·Ψ sent for each micro-batch: every unit is gathered twice, in the
    forward pass and, to run it again, in the backward pass.
    """
    tokens = yield from count_tokens(w, batches)
    for unit in w.units:
        unit.hold("gradients", torch.zeros_like(unit["parameters"]))
    total = torch.zeros(1, dtype=torch.float64)
    for x, y in batches:
        inputs, h = [], x
        for unit in w.units:
            yield from gather(w, unit)  # (p-1)/p·Ψ
            inputs.append(h.detach())
            h = run_unit(unit, h)[1].detach()
            drop(unit)
        from_above = None
        for unit, h in zip(reversed(w.units), reversed(inputs), strict=True):
            yield from gather(w, unit)  # (p-1)/p·Ψ
            h, output = run_unit(unit, h)
            if unit is w.units[-1]:
                loss = w.loss_sum(output, y)
                total += loss.detach() / tokens
                output = divided_loss(w, loss, tokens)
            whole = w.memory.hold("gradients", "whole", torch.zeros_like(unit["gathered"]))
            from_above = unit_backward(unit, h, output, from_above, whole)
            drop(unit)
            yield from reduce_scatter(w, unit, whole, tokens)  # (p-1)/p·Ψ
            unit["gradients"].add_(whole[unit.mine])
            w.memory.release("gradients", "whole")
            del whole
    yield from clip_slices(w)
    for unit in w.units:  # nothing to gather: the next forward pass does it
        w.adamw[unit.name].step(unit["parameters"], unit["gradients"])
    yield from sum_over_ranks(w, total, "loss")
    return total.item()


def gather(w: Worker, unit: FlatUnit) -> RankProgram:
    """Put a unit together from all ranks' slices and let its module compute with it."""
    flat = unit.hold("gathered", torch.empty(unit.padded, dtype=unit["parameters"].dtype))
    flat[unit.mine] = unit["parameters"]
    yield from all_gather(w, unit, flat)
    unit.attach(flat)


def drop(unit: FlatUnit) -> None:
    """Release a gathered unit."""
    unit.detach()
    unit.release("gathered")


# --8<-- [end:stage3]

STAGES = (stage0, stage1, stage2, stage3)
