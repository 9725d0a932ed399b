"""Count what PyTorch's own training stores and sends."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

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


@dataclass(frozen=True)
class Call:
    """A collective, or a send: its name, the bytes of the whole tensor, and how many take part."""

    name: str
    nbytes: int
    ranks: int

    @property
    def sent(self) -> float:
        """Bytes that one rank sends for it, by gloo's algorithm, without headers."""
        return _SHARE[self.name](self.nbytes, self.ranks)


class Calls(TorchDispatchMode):
    """Catches collectives and sends while it is entered.

    It sees what DDP's reducer and FSDP2 call, from C++ as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: list[Call] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "c10d":
            name = func.name().split("::")[1].split(".")[0]
            if name in _SHARE:
                self.made.append(Call(name, _bytes(args), _ranks(args)))
        return func(*args, **(kwargs or {}))


def _bytes(args: Any) -> int:
    """The largest tensor argument: of a collective the whole, not a share."""
    groups = [sum(t.nbytes for t in _flat(a) if isinstance(t, Tensor)) for a in args]
    return max(groups, default=0)


def _ranks(args: Any) -> int:
    """The size of the process group among the arguments."""
    (group,) = (
        arg
        for arg in args
        if isinstance(arg, torch.ScriptObject) and "ProcessGroup" in str(arg._type())
    )
    return dist.ProcessGroup.unbox(group).size()


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [part for one in value for part in _flat(one)]
    return [value]


def written() -> int | None:
    """Bytes that this process has written so far, to sockets as well; None where nobody counts.

    Linux counts them for each process (`wchar`, proc(5)): what gloo sends, its headers included.
    """
    counts = Path("/proc/self/io")
    if not counts.exists():
        return None
    return int(counts.read_text().split("wchar: ")[1].split()[0])


def at_rest(model: nn.Module, adamw: Any) -> Counter[str]:
    """Elements that a rank stores, by kind; a storage counts once.

    DDP's buckets are inside C++; `model.buckets`, where there is such a thing, has them.
    """
    count: Counter[str] = Counter()
    seen: set[int] = set()
    for kind, tensors in _by_kind(model, adamw).items():
        local = [t.to_local() if isinstance(t, DTensor) else t for t in tensors]
        found = {t.untyped_storage()._cdata: t for t in local}  # a fake tensor has no address
        new = [t for storage, t in found.items() if storage not in seen]
        count[kind] = sum(t.untyped_storage().nbytes() // t.element_size() for t in new)
        seen |= set(found)
    return +count


def _by_kind(model: nn.Module, adamw: Any) -> dict[str, list[Any]]:
    optimizer = getattr(adamw, "optim", adamw)
    return {
        "parameters": list(model.parameters()),
        "gradients": [p.grad for p in model.parameters() if p.grad is not None],
        "optimizer": [s for state in optimizer.state.values() for s in state.values() if s.dim()],
        "buckets": list(getattr(model, "buckets", {}).values()),
    }
