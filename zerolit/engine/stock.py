"""PyTorch's own as the judge of ours: DDP, DDP with ZeroRedundancyOptimizer, FSDP2, HSDP.

Each runs inside a process group and trains a task as `zerolit.zero.train` does: the same batches,
the same loss expression, AdamW without `foreach`. Where the mean is taken is a choice:

- summed: the loss is divided by the tokens of all ranks, gradients are only added up. DDP gets a
  hook that does not divide, FSDP2 is told to divide by 1.
- as shipped: a rank's loss is the mean over its own tokens, and PyTorch averages over ranks: DDP
  multiplies by 1/p before the sum, FSDP2 on gloo divides after it. Ranks with other numbers of
  tokens must be weighted, by p·n_r/n.
"""

import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.distributed.checkpoint import DefaultLoadPlanner
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_api import AllGather, ReduceScatter
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from zerolit.comm import ring
from zerolit.zero import Settings, Task, checkpoint
from zerolit.zero.dcp import is_one
from zerolit.zero.recipe import DEFAULT
from zerolit.zero.task import Batch
from zerolit.zero.train import one_thread, refuse_too_few, share_out

from .count import Call, Calls, at_rest, written
from .drive import all_gather, all_reduce, as_gloo_cuts, ddp_hook, reduce_scatter
from .launch import launch
from .rank import tell

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the module compiles helpers by the deprecated torch.jit
    from torch.distributed.optim import ZeroRedundancyOptimizer

ADAMW: dict[str, Any] = {
    "lr": 3e-3,
    "weight_decay": 0.1,
    "betas": (0.9, 0.95),
    "eps": 1e-8,
    "foreach": False,
}
Made = tuple[nn.Module, Any]  # a model and its optimizer


@dataclass(frozen=True)
class Trained:
    """What came of it on one rank.

    Attributes:
        parameters: the final ones, whole, one vector.
        losses: this rank's part of the mean loss, by step.
        calls: the last step's collectives and sends, one after the other.
        written: bytes that this process wrote to its sockets in the last step, headers included;
            None where the system does not count them.
        stored: elements at rest, before the gradients are released, by kind.
    """

    parameters: Tensor
    losses: list[float]
    calls: list[Call]
    written: int | None
    stored: Counter[str]


# --8<-- [start:ddp]
def ddp(
    task: Task,
    device: str = "cpu",
    shipped: bool = False,
    sharded_optimizer: bool = False,
    reduce: Callable[[Tensor], object] | None = None,
    views: bool = True,
) -> Made:
    """DDP; the optimizer's state whole or, by ZeroRedundancyOptimizer, in shards.

    Args:
        reduce: the all-reduce to use instead of DDP's own, such as `zerolit.engine.all_reduce(…)`.
        views: gradients are views of DDP's buckets; without, which is PyTorch's default, both are
            stored.
    """
    model = DistributedDataParallel(_model(task, device), gradient_as_bucket_view=views)
    if reduce is not None or not shipped:
        factor = 1 / dist.get_world_size() if shipped else 1.0
        hook, buckets = ddp_hook(reduce or dist.all_reduce, factor), dict[int, Tensor]()

        def note(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
            buckets[bucket.index()] = bucket.buffer()
            return hook(state, bucket)

        model.register_comm_hook(None, note)
        model.buckets = buckets  # type: ignore[assignment]
    if not sharded_optimizer:
        return model, torch.optim.AdamW(model.parameters(), **ADAMW)
    adamw = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, **ADAMW)
    return model, adamw


# --8<-- [end:ddp]


# --8<-- [start:fsdp2]
def fsdp2(
    task: Task,
    device: str = "cpu",
    shipped: bool = False,
    mesh: Callable[[str], DeviceMesh] | None = None,
    gather: Any = None,
    scatter: Any = None,
    reshard: bool = True,
) -> Made:
    """FSDP2, a group for each of the model's units.

    Args:
        mesh: makes the ranks' mesh, on a device; None is all ranks in a row.
        gather, scatter: all-gather and reduce-scatter to use instead of FSDP2's own, such as
            `zerolit.engine.all_gather(…)`.
        reshard: release a unit after its forward pass; without, it stays until its backward pass.
    """
    model = _model(task, device)
    ranks = (mesh or _in_a_row)(device)
    for unit in [*model, model]:
        fully_shard(unit, mesh=ranks, reshard_after_forward=reshard)
    for unit in model.modules():
        if isinstance(unit, FSDPModule):
            if not shipped:
                unit.set_force_sum_reduction_for_comms(True)
                unit.set_gradient_divide_factor(1.0)
            if gather is not None:
                unit.set_custom_all_gather(ForFSDP2(gather))
                unit.set_custom_reduce_scatter(ForFSDP2(scatter))
    return model, torch.optim.AdamW(model.parameters(), **ADAMW)


def _in_a_row(device: str) -> DeviceMesh:
    return init_device_mesh(device, (dist.get_world_size(),))


def two_dimensions(device: str) -> DeviceMesh:
    """HSDP's mesh: parameters are cut within a machine, and machines are replicas of each other.

    Where all ranks are on one machine, its two halves stand for two.
    """
    size = dist.get_world_size()
    shard = _ranks_of_a_replica(size)
    shape, names = (size // shard, shard), ("replicate", "shard")
    return init_device_mesh(device, shape, mesh_dim_names=names)


def _ranks_of_a_replica(size: int) -> int:
    """How many ranks share a copy of the model: those of a machine, or half of an only one's."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    replicas = size // here if here < size else 2
    if size % replicas or (here < size and size % here):
        raise ValueError(f"size is {size}; HSDP needs machines, or two halves, of as many ranks")
    return size // replicas


class ForFSDP2(AllGather, ReduceScatter):
    """One of our collectives as FSDP2's `set_custom_all_gather` and `set_custom_reduce_scatter`
    ask for it; it allocates the buffers, too.

    FSDP2 names every argument, and passes `op` to the reduce-scatter alone. It never waits for
    what is returned, so that a call that has ended, whatever `async_op` says, is right.
    """

    def __init__(self, run: Any):
        self.run = run

    def allocate(self, size: Any, *, dtype: torch.dtype, device: torch.device) -> Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(  # type: ignore[override]
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: dist.ProcessGroup,
        async_op: bool = False,
        **op: Any,
    ) -> None:
        self.run(output_tensor, input_tensor, group=group, **op)


# --8<-- [end:fsdp2]

_LEFT = {"direction": -1, "owner": 0}  # gloo's own ring
STOCK: dict[str, Callable[..., Made]] = {
    "ddp": ddp,
    "ddp with ours": partial(
        ddp, reduce=all_reduce(partial(ring.all_reduce, **_LEFT), as_gloo_cuts)
    ),
    "ddp copies": partial(ddp, views=False),
    "zero": partial(ddp, sharded_optimizer=True),
    "fsdp2": fsdp2,
    "fsdp2 kept": partial(fsdp2, reshard=False),
    "fsdp2 with ours": partial(
        fsdp2,
        gather=all_gather(partial(ring.all_gather, **_LEFT)),
        scatter=reduce_scatter(partial(ring.reduce_scatter, **_LEFT)),
    ),
    "hsdp": partial(fsdp2, mesh=two_dimensions),
}


def train(
    which: str,
    *settings: Any,
    shipped: bool = False,
    timeout: float = 60.0,
    on_step: Callable[[], object] = lambda: None,
    **more: Any,
) -> list[Trained]:
    """Train by one of `STOCK` on processes, or on `torchrun`'s ranks; what each has.

    Args:
        which: the name in `STOCK`.
        settings: those of `Settings`, in its order; checkpoints are torch.distributed.checkpoint's.
        shipped: divide as PyTorch does by itself; see above.
        timeout: that of `launch`.
        on_step: called after each step, to show progress.
        more: further ones of `Settings`, by name, but for a recipe: PyTorch's own have theirs.

    Raises:
        ValueError: settings that cannot be, a recipe, HSDP on machines or halves that are not
            alike, nothing to resume there, or a checkpoint of ZeroRedundancyOptimizer, for whose
            state the format has no place.
        EngineError: a rank failed.
    """
    how = Settings(*settings, **more)
    _refuse_what_is_ours(how)
    if which == "zero" and (how.save or how.resume):
        raise ValueError("ZeroRedundancyOptimizer's state has no place in PyTorch's checkpoints")
    if which == "hsdp":
        _ranks_of_a_replica(how.size)
    place: dict[str, Any] = {"timeout": timeout, "device": how.device}
    return launch(_run, how.size, which, how, shipped, **place, on_tell=lambda _: on_step())


def _refuse_what_is_ours(how: Settings) -> None:
    """Raise a ValueError for a recipe, and for a checkpoint in our format."""
    for name, usual in vars(DEFAULT).items():
        if (given := getattr(how, name)) != usual:
            raise ValueError(f"{name} is {given!r}; PyTorch's own is trained with {usual!r} alone")
    if how.resume and not is_one(how.resume):
        raise ValueError(
            f"{how.resume} is no checkpoint in PyTorch's format; checkpoint.export makes one"
        )


def _run(which: str, how: Settings, shipped: bool) -> Trained:
    """As one of the ranks that there are."""
    model, adamw = STOCK[which](how.task, how.device, shipped)
    done, losses = 0, []
    if how.resume:
        done = _load(how.resume, model, adamw)
        checkpoint.refuse_over(how.resume, done, how.steps)
    with one_thread():
        for x, y in islice(how.task.draw_batches(how.steps, how.batch_size), done, how.steps):
            batch = x.to(how.device), y.to(how.device)
            loss, counted = _count_step(model, adamw, how.task, batch, shipped)
            losses.append(loss)
            tell("step")
    refuse_too_few(done + len(losses), how.steps)
    if how.save:
        _save(how.save, model, adamw)
    return Trained(_whole(model), losses, *counted)


def _count_step(
    model: nn.Module, adamw: Any, task: Task, batch: Batch, shipped: bool
) -> tuple[float, tuple[list[Call], int | None, Counter[str]]]:
    """`take_step`'s loss, and what `Trained` tells of the last one."""
    adamw.zero_grad()
    before = written()
    with Calls() as calls:
        loss = take_step(model, adamw, task, batch, shipped)
    after, stored = written(), at_rest(model, adamw)
    sent = after - before if before is not None and after is not None else None
    return loss, (calls.made, sent, stored)


def take_step(model: nn.Module, adamw: Any, task: Task, batch: Batch, shipped: bool) -> float:
    """One training step; returns this rank's part of the mean loss."""
    rank, size = dist.get_rank(), dist.get_world_size()
    (x, y), tokens = share_out(*batch, size, 1)[rank][0], batch[1].numel()
    loss = task.loss_sum(model(x), y)
    if shipped:  # the mean over this rank's tokens, weighted
        (loss / y.numel() * (size * y.numel() / tokens)).backward()
    else:
        (loss / tokens).backward()
    adamw.step()
    return loss.item() / tokens


def _save(folder: Path, model: nn.Module, adamw: Any) -> None:
    parameters, state = get_state_dict(model, adamw)
    dcp.save({"model": parameters, "optim": state}, checkpoint_id=folder)


def _load(folder: Path, model: nn.Module, adamw: Any) -> int:
    """Restore, whatever number of ranks saved it, or `zerolit.zero.checkpoint.export` wrote it.

    What is trained must be there; frozen parameters and buffers stay as the task made them.
    """
    there = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    for name, parameter in model.named_parameters():
        key = f"model.{name.removeprefix('module.')}"
        if parameter.requires_grad and key not in there:
            raise ValueError(f"{folder} lacks {key}, which is trained here")
    parameters, state = get_state_dict(model, adamw)
    whole: dict[str, Any] = {"model": parameters, "optim": state}
    partial_load = DefaultLoadPlanner(allow_partial_load=True)  # ours has what is trained only
    dcp.load(whole, checkpoint_id=folder, planner=partial_load)
    set_state_dict(model, adamw, model_state_dict=whole["model"], optim_state_dict=whole["optim"])
    return max(int(each["step"]) for each in adamw.state.values())


def _model(task: Task, device: str) -> nn.Sequential:
    return nn.Sequential(*task.make_units()).to(device)


def _whole(model: nn.Module) -> Tensor:
    """All parameters in one vector `[Ψ]`."""
    with torch.no_grad():
        whole = [p.full_tensor() if isinstance(p, DTensor) else p for p in model.parameters()]
        return torch.cat([p.detach().reshape(-1) for p in whole]).cpu()


# The sum alone


def beside_gloo(n: int, direction: int) -> tuple[Tensor, Tensor]:
    """Our ring and gloo's all-reduce of the same random numbers `[n]`; both sums."""
    ours = torch.randn(n, generator=torch.Generator().manual_seed(dist.get_rank()))
    theirs = ours.clone()
    all_reduce(partial(ring.all_reduce, direction=direction, owner=0), as_gloo_cuts)(ours)
    dist.all_reduce(theirs)
    return ours, theirs
