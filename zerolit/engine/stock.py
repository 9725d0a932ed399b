"""PyTorch's own data parallelism, to judge ours: DDP, DDP with ZeroRedundancyOptimizer, FSDP2.

Each runs inside a process group and trains the tiny GPT as `zerolit.zero.train` does: the same
batches, the same loss expression (summed, divided by the global token count), AdamW without
`foreach`. Gradients are summed and not divided again: DDP, which multiplies by 1/p before the sum,
gets a hook that does not; FSDP2, which on gloo divides after it, is told to divide by 1.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_api import AllGather, ReduceScatter
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

from zerolit.comm import Chunks, ring
from zerolit.gpt import BASE_CONFIG, Config, loss_sum, make_model
from zerolit.zero.train import draw_batches, one_thread, share_out

from .drive import all_gather, drive, reduce_scatter

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


@dataclass(frozen=True)
class Trained:
    """What came of it on one rank.

    Attributes:
        parameters: the final ones, whole, one vector.
        losses: this rank's part of the mean loss, by step.
        sent: bytes of the last step by collective: calls are caught, and what a rank sends for
            one follows from gloo's algorithm; see `_SHARE`.
        stored: elements at rest, before the gradients are released, by kind.
    """

    parameters: Tensor
    losses: list[float]
    sent: Counter[str]
    stored: Counter[str]


def ddp(steps: int, config: Config = BASE_CONFIG, sharded_optimizer: bool = False) -> Trained:
    """Train with DDP; the optimizer's state whole or, by ZeroRedundancyOptimizer, in shards."""
    model = DistributedDataParallel(make_model(config), gradient_as_bucket_view=True)
    model.register_comm_hook(None, _sum_only)
    if sharded_optimizer:
        adamw: Any = ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=torch.optim.AdamW, **ADAMW
        )
    else:
        adamw = torch.optim.AdamW(model.parameters(), **ADAMW)
    return _train(model, adamw, steps, config)


def _sum_only(_: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def fsdp2(
    steps: int,
    config: Config = BASE_CONFIG,
    gather: Any = None,
    scatter: Any = None,
    reshard: bool = True,
) -> Trained:
    """Train with FSDP2, a group for each of the model's units.

    Args:
        gather, scatter: all-gather and reduce-scatter to use instead of FSDP2's own, such as
            `zerolit.engine.all_gather(…)`.
        reshard: release a unit after its forward pass; without, it stays until its backward pass.
    """
    model = make_model(config)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for unit in [*model.units, model]:
        fully_shard(unit, mesh=mesh, reshard_after_forward=reshard)
    for unit in model.modules():
        if isinstance(unit, FSDPModule):
            unit.set_force_sum_reduction_for_comms(True)
            unit.set_gradient_divide_factor(1.0)
            if gather is not None:
                unit.set_custom_all_gather(_Plugged(gather))
                unit.set_custom_reduce_scatter(_Plugged(scatter))
    return _train(model, torch.optim.AdamW(model.parameters(), **ADAMW), steps, config)


class _Plugged(AllGather, ReduceScatter):
    """One of our collectives in the form that FSDP2 asks for; it allocates the buffers, too."""

    def __init__(self, run: Any):
        self.run = run

    def allocate(self, size: Any, *, dtype: torch.dtype, device: torch.device) -> Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(  # type: ignore[override]
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: dist.ProcessGroup,
        op: Any = dist.ReduceOp.SUM,
        async_op: bool = False,
    ) -> None:
        self.run(output_tensor, input_tensor, group=group)


def run(which: str, steps: int, config: Config = BASE_CONFIG) -> Trained:
    """One of `STOCK` by its name: processes need a function that can be imported."""
    return STOCK[which](steps, config)


_LEFT = {"direction": -1, "owner": 0}  # gloo's own ring
STOCK: dict[str, Callable[[int, Config], Trained]] = {
    "ddp": ddp,
    "zero": partial(ddp, sharded_optimizer=True),
    "fsdp2": fsdp2,
    "fsdp2 kept": partial(fsdp2, reshard=False),
    "fsdp2 with ours": partial(
        fsdp2,
        gather=all_gather(partial(ring.all_gather, **_LEFT)),
        scatter=reduce_scatter(partial(ring.reduce_scatter, **_LEFT)),
    ),
}


def _train(model: nn.Module, adamw: Any, steps: int, config: Config) -> Trained:
    rank, size = dist.get_rank(), dist.get_world_size()
    losses, wire, stored = [], Wire(), Counter[str]()
    with one_thread():
        for step, (x, y) in enumerate(draw_batches(steps, 32, config.context)):
            adamw.zero_grad()
            ((xs, ys),) = share_out(x, y, size, 1)[rank]
            with wire if step == steps - 1 else nullcontext():
                loss = loss_sum(model(xs), ys) / y.numel()
                loss.backward()
                adamw.step()
            losses.append(loss.item())
            stored = at_rest(model, adamw)
    with torch.no_grad():
        whole = torch.cat([_whole(p).reshape(-1) for p in model.parameters()])
    return Trained(whole, losses, wire.sent, stored)


def _whole(parameter: Tensor) -> Tensor:
    return parameter.full_tensor() if isinstance(parameter, DTensor) else parameter.detach()


def beside_gloo(n: int, direction: int) -> tuple[Tensor, Tensor]:
    """Our ring and gloo's all-reduce of the same random numbers `[n]`; both sums.

    gloo cuts n elements for p ranks into chunks of 2·⌈n/2p⌉, the last ones shorter.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    ours = torch.randn(n, generator=torch.Generator().manual_seed(rank))
    theirs, length = ours.clone(), 2 * -(-n // (2 * size))
    chunks = Chunks([ours[c * length : (c + 1) * length] for c in range(size)])
    drive(ring.all_reduce(rank, size, chunks, direction, owner=0))
    dist.all_reduce(theirs)
    return ours, theirs


# Counting


def at_rest(model: nn.Module, adamw: Any) -> Counter[str]:
    """Elements that a rank stores, by kind; a storage counts once."""
    optimizer = getattr(adamw, "optim", adamw)
    states = [s for state in optimizer.state.values() for s in state.values() if s.dim()]
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    kinds: dict[str, list[Any]] = {
        "parameters": list(model.parameters()),
        "gradients": grads,
        "optimizer": states,
    }
    count: Counter[str] = Counter()
    for kind, tensors in kinds.items():
        local = [t.to_local() if isinstance(t, DTensor) else t for t in tensors]
        found = {t.untyped_storage()._cdata: t for t in local}  # a fake tensor has no address
        count[kind] = sum(t.untyped_storage().nbytes() // t.element_size() for t in found.values())
    return count


# What a rank of p sends for a tensor of n bytes, by gloo's algorithms. Its reduce-scatter is an
# all-reduce underneath (gloo has no ring for it), so it sends as much as one.
_SHARE = {
    "allreduce_": lambda n, p: 2 * n * (p - 1) / p,
    "allgather_": lambda n, p: n * (p - 1) / p,
    "_allgather_base_": lambda n, p: n * (p - 1) / p,
    "_reduce_scatter_base_": lambda n, p: 2 * n * (p - 1) / p,
    "reduce_scatter_": lambda n, p: 2 * n * (p - 1) / p,
    "broadcast_": lambda n, p: n * (p - 1) / p,  # the mean: each rank's turn as the source
    "send": lambda n, p: n,
}


@dataclass
class Wire(TorchDispatchMode):
    """Catches collectives while it is entered, and adds up what a rank sends for each, by name."""

    sent: Counter[str] = field(default_factory=Counter)
    calls: list[tuple[str, int]] = field(default_factory=list)  # name, bytes of the whole

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "c10d":
            name = func.name().split("::")[1].split(".")[0]
            if name in _SHARE:
                nbytes = _bytes(args)
                self.calls.append((name, nbytes))
                self.sent[name] += round(_SHARE[name](nbytes, dist.get_world_size()))
        return func(*args, **(kwargs or {}))


def _bytes(args: Any) -> int:
    """The largest tensor argument: of a collective the whole, not a share."""
    groups = [sum(t.nbytes for t in _flat(a) if isinstance(t, Tensor)) for a in args]
    return max(groups, default=0)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [part for one in value for part in _flat(one)]
    return [value]
