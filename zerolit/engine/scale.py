"""FSDP2 on as many ranks as one likes, without any: fake tensors and a fake process group.

The code that runs is PyTorch's own, as one of the ranks; tensors have shapes and no content, and
collectives return at once.
"""

import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from zerolit.gpt import Config, loss_sum
from zerolit.gpt.model import GPT
from zerolit.zero.layout import Layout

from .count import Call, Calls, at_rest
from .launch import PRELOAD


@dataclass(frozen=True)
class AtScale:
    """One rank of many, in one training step; counts are elements.

    Attributes:
        parameters: of the model, Ψ.
        padded: the same with FSDP2's padding by rows, counted by our `Layout`.
        stored: parameters, gradients and optimizer state of rank 0 at rest.
        sent: what a rank's all-gathers and reduce-scatters send by a ring.
    """

    parameters: int
    padded: int
    stored: int
    sent: int


def at_scale(ranks: int, layers: int, width: int, vocab: int = 50_304) -> AtScale:
    """Measure rank 0 of `ranks` in a process of its own, as a process has one default group.

    Raises:
        ValueError: fewer than 2 ranks, or a width that is no multiple of 64.
    """
    if ranks < 2 or layers < 1 or width < 64 or width % 64:
        raise ValueError(
            f"ranks is {ranks}, layers {layers}, width {width}; they must be at least 2, at least "
            "1, and a multiple of 64"
        )
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        return pool.submit(_measure, ranks, layers, width, vocab).result()


def _measure(ranks: int, layers: int, width: int, vocab: int) -> AtScale:
    from torch.testing._internal.distributed.fake_pg import FakeStore

    from .stock import ADAMW

    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    mesh = init_device_mesh("cpu", (ranks,))
    config = Config(vocab, layers, width, heads=width // 64, context=128)
    with torch.device("meta"):  # FSDP2 cuts thousands of chunks: 20 times as fast as fake tensors
        model = GPT(config)
    shapes = [parameter.shape for parameter in model.parameters()]
    for unit in [*model.units, model]:
        fully_shard(unit, mesh=mesh)
    with FakeTensorMode(allow_non_fake_inputs=True):
        model.to_empty(device="cpu")
        adamw = torch.optim.AdamW(model.parameters(), **ADAMW)
        x = torch.zeros(1, config.context, dtype=torch.int64)
        with Calls() as calls:
            loss_sum(model(x), x).backward()
            adamw.step()
        stored = at_rest(model, adamw).total()
    layout = Layout(shapes, ranks, "rows")
    return AtScale(layout.length, layout.padded, stored, _sent(calls.made, ranks))


def _sent(calls: list[Call], ranks: int) -> int:
    """Elements that a ring sends for each call: (p-1)/p of the whole, gather or scatter alike."""
    names = ("_allgather_base_", "_reduce_scatter_base_")
    return sum(call.nbytes // 4 // ranks * (ranks - 1) for call in calls if call.name in names)
