"""Data parallelism and ZeRO-1, 2, 3 (Rajbhandari et al., arXiv 1910.02054) as rank programs.

Each stage is one training step as one rank sees it, and reads as the difference from the one
before. Ψ is the number of parameters, p of ranks; the comments count what the rank sends.

Gradients are of the loss summed over all tokens of all ranks, divided once by their number, so
that tokens weigh the same whichever rank has them. Where the division stands is a choice, and the
bits depend on it: in the loss, before the sum over ranks, or after it. `divided_loss` and
`reduce_scatter` make it. The sum and the update have a dtype of their own (`Recipe`).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from zerolit.comm import Chunks, RankProgram, in_phase, ring, tree

from .adamw import FlatAdamW
from .memory import Memory
from .recipe import Recipe
from .task import Batch
from .unit import FlatUnit


class Worker:
    """One rank: its units, their optimizers, and what it has to remember between steps.

    Attributes:
        loss_sum: `(output of the last unit, y) -> summed loss`.
        masters: by unit, the parameters in `master_dtype`, where they are kept apart.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        units: Sequence[FlatUnit],
        memory: Memory,
        loss_sum: Callable[[Tensor, Tensor], Tensor],
        recipe: Recipe,
    ):
        self.rank, self.size, self.units, self.memory = rank, size, list(units), memory
        self.loss_sum, self.recipe = loss_sum, recipe
        self.device = units[0].device
        self.adamw: dict[str, FlatAdamW] = {}
        self.masters: dict[str, Tensor] = {}

    def total(self) -> Tensor:
        """A sum to start from `[1]`, on the model's device."""
        return torch.zeros(1, dtype=torch.float64, device=self.device)


# What the stages share


def divided_loss(w: Worker, loss: Tensor, tokens: int) -> Tensor:
    """What the backward pass starts from: the mean loss, unless gradients are divided later."""
    return loss / tokens if w.recipe.divide == "loss" else loss


# --8<-- [start:collectives]
def reduce_scatter(w: Worker, unit: FlatUnit, flat: Tensor, tokens: int) -> RankProgram:
    """Sum a unit's gradient over the ranks; returns this rank's share of it."""
    if w.recipe.divide == "before":
        flat /= tokens
    shares = unit.shares(flat)
    way = w.recipe.direction
    program = ring.reduce_scatter(w.rank, w.size, shares, way, owner=0)
    yield from in_phase("gradients", program)  # (p-1)/p · its length
    if w.recipe.divide == "after":
        shares[w.rank] /= tokens
    return shares[w.rank]


def all_gather(
    w: Worker,
    unit: FlatUnit,
    flat: Tensor,
    phase: str = "parameters",
) -> RankProgram:
    """Fill a unit's vector with the other ranks' shares."""
    shares, way = unit.shares(flat), w.recipe.direction
    program = ring.all_gather(w.rank, w.size, shares, way, owner=0)
    yield from in_phase(phase, program)  # (p-1)/p · its length


# --8<-- [end:collectives]


def update(w: Worker, unit: FlatUnit) -> None:
    """AdamW on all of a unit (stage 0) or on this rank's share of it, in `master_dtype`.

    Where that is not the model's dtype, the parameters are a rounded copy of the masters. What no
    rank's loss has reached stays put.
    """
    adamw = w.adamw[unit.name]
    n = adamw.n
    master = w.masters.get(unit.name, unit.part("parameters", n))
    adamw.step(master, unit.part("gradients", n), unit.unreached(n))
    unit.write("parameters", master)
    unit.reached = [False] * len(unit.params)  # the next step starts anew


def sum_over_ranks(w: Worker, value: Tensor, phase: str) -> RankProgram:
    """All-reduce a short vector in place, by a tree: few steps count here, not few bytes."""
    yield from in_phase(phase, tree.all_reduce(w.rank, w.size, Chunks([value])))


def count_tokens(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """The number of tokens on all ranks, in all micro-batches."""
    count = torch.tensor([sum(y.numel() for _, y in batches)], device=w.device)
    yield from sum_over_ranks(w, count, "tokens")
    return count.item()


# --8<-- [start:passes]
def run_unit(unit: FlatUnit, h: Tensor) -> tuple[Tensor, Tensor]:
    """One unit forward, cut off from those before it: its input and output."""
    h = h.detach().requires_grad_(h.is_floating_point())
    return h, unit.module(h)


def unit_backward(
    unit: FlatUnit,
    h: Tensor,
    output: Tensor,
    from_above: Tensor | None,
    gradient: Tensor,
) -> Tensor | None:
    """One unit backward: add to its `gradient` `[padded]`, return its input's."""
    borrowed = [owner.params[index] for owner, index in unit.borrowed]
    inputs = [*unit.params, *borrowed, *([h] if h.requires_grad else [])]
    if not inputs:
        return None
    found = torch.autograd.grad(output, inputs, from_above, allow_unused=True)
    grads = iter(found)
    for index, view in enumerate(unit.layout.views(gradient)):
        for grad in (unit.take_lent(index), next(grads)):
            if grad is not None:
                view += grad
                unit.reached[index] = True
    for owner, index in unit.borrowed:
        if (grad := next(grads)) is not None:
            owner.lend(index, grad)
    return next(grads, None)


# --8<-- [end:passes]


def forward(w: Worker, x: Tensor, y: Tensor, tokens: int) -> tuple[list, Tensor]:
    """All units forward: what each took and gave, and the rank's part of the mean loss."""
    passes, h = [], x
    for unit in w.units:
        passes.append(run_unit(unit, h))
        h = passes[-1][1]
    loss = w.loss_sum(h, y)
    return [*passes[:-1], (passes[-1][0], divided_loss(w, loss, tokens))], loss.detach() / tokens


def with_owners(unit: FlatUnit) -> list[FlatUnit]:
    """The unit, and before it those that own what it borrows: tied weights need both."""
    owners = {owner.name: owner for owner, _ in unit.borrowed}
    return [*owners.values(), unit]


def whole_gradients(w: Worker, batches: Sequence[Batch], tokens: int) -> Tensor:
    """The gradients of all micro-batches added up in whole vectors; returns this rank's loss."""
    for unit in w.units:
        unit.hold("gradients", unit.zeros(unit.layout.padded))
    total = w.total()
    for x, y in batches:
        passes, loss = forward(w, x, y, tokens)
        from_above = None
        for unit, (h, output) in zip(reversed(w.units), reversed(passes), strict=True):
            from_above = unit_backward(unit, h, output, from_above, unit["gradients"])
        total += loss
    return total


def sum_loss(w: Worker, loss: Tensor) -> RankProgram:
    """The mean loss over all ranks; the ranks also agree on what their losses have reached."""
    flags = [float(reached) for unit in w.units for reached in unit.reached]
    counts = torch.cat([loss, loss.new_tensor(flags)])
    yield from sum_over_ranks(w, counts, "loss")
    total, *found = counts.tolist()
    for unit in w.units:
        unit.reached = [found.pop(0) > 0 for _ in unit.reached]
    return total


# --8<-- [start:clip]
def shard_norms(gradients: Sequence[Tensor]) -> Tensor:
    """The squared norm of a share of each unit's gradient `[units]`."""
    return torch.stack([gradient.square().sum() for gradient in gradients])


def clip_factor(clip: float, squares: Tensor) -> Tensor:
    """What to multiply gradients by, from squared norms `[ranks, units]`."""
    norm = squares.sum().sqrt()
    return torch.clamp(clip / (norm + 1e-6), max=1.0)  # as clip_grad_norm_ does


def clip_shares(w: Worker) -> RankProgram:
    """Clip by the norm of the whole gradient: its shares' norms are gathered."""
    if w.recipe.clip is None:
        return
    parts = [unit.part("gradients", unit.layout.share) for unit in w.units]
    mine = shard_norms(parts)
    squares = mine.new_zeros(w.size, len(mine))
    squares[w.rank] = mine
    program = ring.all_gather(w.rank, w.size, Chunks(squares.unbind(0)), owner=0)
    yield from in_phase("norm", program)
    factor = clip_factor(w.recipe.clip, squares)
    for unit in w.units:
        unit["gradients"].mul_(factor)


def clip_whole(w: Worker) -> None:
    """Clip whole gradients, by the partial sums of all shares, in the same order."""
    if w.recipe.clip is None:
        return
    shares = [unit.shares(unit["gradients"]) for unit in w.units]
    each = [shard_norms([s[rank] for s in shares]) for rank in range(w.size)]
    factor = clip_factor(w.recipe.clip, torch.stack(each))
    for unit in w.units:
        unit["gradients"].mul_(factor)


# --8<-- [end:clip]


# --8<-- [start:stage0]
def stage0(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """Plain data parallelism: everybody stores everything.

    4Ψ stored, 2(p-1)/p·Ψ sent.
    """
    tokens = yield from count_tokens(w, batches)
    loss = whole_gradients(w, batches, tokens)  # Ψ held
    for unit in w.units:  # all-reduce = reduce-scatter, then all-gather
        whole = unit["gradients"]
        yield from reduce_scatter(w, unit, whole, tokens)  # (p-1)/p·Ψ
        yield from all_gather(w, unit, whole, "gradients")  # (p-1)/p·Ψ
    loss = yield from sum_loss(w, loss)
    clip_whole(w)
    for unit in w.units:
        update(w, unit)
    return loss


# --8<-- [end:stage0]


# --8<-- [start:stage1]
def stage1(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """ZeRO-1: the update, and so m and v, only of one's share.

    2Ψ + 2Ψ/p stored, 2(p-1)/p·Ψ sent.
    """
    tokens = yield from count_tokens(w, batches)
    loss = whole_gradients(w, batches, tokens)  # Ψ held
    for unit in w.units:
        whole = unit["gradients"]
        yield from reduce_scatter(w, unit, whole, tokens)  # (p-1)/p·Ψ
    loss = yield from sum_loss(w, loss)
    yield from clip_shares(w)
    for unit in w.units:  # between the two halves of the all-reduce
        update(w, unit)
        yield from all_gather(w, unit, unit["parameters"])  # (p-1)/p·Ψ
    return loss


# --8<-- [end:stage1]


# --8<-- [start:stage2]
def stage2(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """ZeRO-2: a gradient is reduced as soon as it is ready, and a share kept.

    Ψ + 3Ψ/p stored. With k micro-batches (k+1)(p-1)/p·Ψ sent: the sum is
    taken for each of them.
    """
    tokens = yield from count_tokens(w, batches)
    for unit in w.units:
        unit.hold("gradients", unit.zeros(unit.layout.share))
    total = w.total()
    for x, y in batches:
        passes, loss = forward(w, x, y, tokens)
        from_above = None
        for unit in reversed(w.units):
            h, output = passes.pop()
            whole = hold_whole(w, unit)
            from_above = unit_backward(unit, h, output, from_above, whole)
            yield from keep_share(w, unit, whole, tokens)  # (p-1)/p·Ψ
            del whole
        total += loss
    loss = yield from sum_loss(w, total)
    yield from clip_shares(w)
    for unit in w.units:
        update(w, unit)
        yield from all_gather(w, unit, unit["parameters"])  # (p-1)/p·Ψ
    return loss


def hold_whole(w: Worker, unit: FlatUnit) -> Tensor:
    """Room for a unit's whole gradient, until its sum is taken."""
    return w.memory.hold("gradients", "whole", unit.zeros(unit.layout.padded))


def keep_share(
    w: Worker,
    unit: FlatUnit,
    whole: Tensor,
    tokens: int,
) -> RankProgram:
    """Sum a whole gradient over the ranks, keep this rank's share, drop the rest."""
    mine = yield from reduce_scatter(w, unit, whole, tokens)
    unit["gradients"].add_(mine)
    w.memory.release("gradients", "whole")


# --8<-- [end:stage2]


# --8<-- [start:stage3]
def stage3(w: Worker, batches: Sequence[Batch]) -> RankProgram:
    """ZeRO-3: parameters, too, are kept in shares; a unit is gathered to be used.

    4Ψ/p stored, 3(p-1)/p·Ψ sent for each micro-batch: every unit is gathered
    twice, in the forward pass and, to run it again, in the backward pass. A
    module must give the same output both times, so there is no dropout.
    """
    tokens = yield from count_tokens(w, batches)
    for unit in w.units:
        unit.hold("gradients", unit.zeros(unit.layout.share))
    total = w.total()
    for x, y in batches:
        inputs, h = [], x
        for unit in w.units:
            yield from gather(w, unit)  # (p-1)/p·Ψ
            inputs.append(h.detach())
            h = run_unit(unit, h)[1].detach()
            drop(unit)
        from_above = None
        for unit in reversed(w.units):
            yield from gather(w, unit)  # (p-1)/p·Ψ
            h, output = run_unit(unit, inputs.pop())
            if unit is w.units[-1]:
                loss = w.loss_sum(output, y)
                total += loss.detach() / tokens
                output = divided_loss(w, loss, tokens)
            whole = hold_whole(w, unit)
            from_above = unit_backward(unit, h, output, from_above, whole)
            drop(unit)
            yield from keep_share(w, unit, whole, tokens)  # (p-1)/p·Ψ
            del whole
    loss = yield from sum_loss(w, total)
    yield from clip_shares(w)
    for unit in w.units:  # nothing to gather: the next forward pass does it
        update(w, unit)
    return loss


def gather(w: Worker, unit: FlatUnit) -> RankProgram:
    """Put a unit together from all shares and let its module compute with it."""
    for each in with_owners(unit):
        flat = each.hold("gathered", each.empty(each.layout.padded))
        each.shares(flat)[w.rank] = each["parameters"]
        yield from all_gather(w, each, flat)
        each.attach(flat)


def drop(unit: FlatUnit) -> None:
    """Release a gathered unit."""
    for each in with_owners(unit):
        each.detach()
        each.release("gathered")


# --8<-- [end:stage3]

STAGES = (stage0, stage1, stage2, stage3)
