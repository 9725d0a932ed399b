"""Execute rank programs on a process group, over point-to-point sends of torch.distributed.

Device and dtype of the tensors are kept, so that the same program runs over gloo on CPUs and over
NCCL on GPUs.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from zerolit.comm import Chunks, CommLog, RankProgram, Swap
from zerolit.comm.swap import NOBODY

from . import status

Group = dist.ProcessGroup | None


# --8<-- [start:drive]
def drive(program: RankProgram, group: Group = None, log: CommLog | None = None) -> Any:
    """Run one rank's program to its end; return what it returns.

    Args:
        group: whose ranks the program names; None is all ranks.
        log: where this rank's own messages are entered.

    Raises:
        RuntimeError: another rank died, or did not answer within the group's timeout.
    """
    arrived, step = None, 0
    while True:
        try:
            swap = program.send(arrived)
        except StopIteration as end:
            return end.value
        step += 1
        arrived = _exchange(swap, group)
        if log is not None and swap.to != NOBODY:
            log.add(step, dist.get_rank(group), swap)


def _exchange(swap: Swap, group: Group) -> Tensor | None:
    """Both halves of a swap at once; returns what arrived."""
    status.exchanging(swap)
    arrived = None if swap.frm == NOBODY else torch.empty_like(swap.like)
    operations = []
    if swap.to != NOBODY and swap.payload.numel():
        payload = swap.payload.contiguous()
        operations.append(dist.P2POp(dist.isend, payload, group=group, group_peer=swap.to))
    if arrived is not None and arrived.numel():
        operations.append(dist.P2POp(dist.irecv, arrived, group=group, group_peer=swap.frm))
    for work in dist.batch_isend_irecv(operations) if operations else ():
        work.wait()
    status.computing(swap.phase)
    return arrived


# --8<-- [end:drive]


def all_reduce(program: Callable) -> Callable[..., None]:
    """A function with the signature of torch.distributed's, which runs our program.

    Such as `zerolit.comm.ring.all_reduce`; its options (`direction`, `owner`) may be bound by
    `functools.partial`. The sum lands in the tensor itself. Other operations than the sum, and
    `async_op=True`, are refused with a ValueError.
    """

    def run(
        tensor: Tensor,
        op: Any = dist.ReduceOp.SUM,
        group: Group = None,
        async_op: bool = False,
    ) -> None:
        _refuse(op, async_op)
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        chunks = Chunks(tensor.view(-1).tensor_split(size))
        drive(program(rank, size, chunks), group)

    return run


def all_gather(program: Callable) -> Callable[..., None]:
    """The same for `all_gather_into_tensor`; the program must start from chunk r on rank r.

    So a ring is `partial(ring.all_gather, owner=0)`.
    """

    def run(
        output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
    ) -> None:
        _refuse(dist.ReduceOp.SUM, async_op)
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        chunks = Chunks(output_tensor.view(size, -1).unbind(0))
        chunks[rank] = input_tensor.view(-1)
        drive(program(rank, size, chunks), group)

    return run


def reduce_scatter(program: Callable) -> Callable[..., None]:
    """The same for `reduce_scatter_tensor`; the program must leave chunk r with rank r.

    So a ring is `partial(ring.reduce_scatter, owner=0)`. The input is left as it is.
    """

    def run(
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: Group = None,
        op: Any = dist.ReduceOp.SUM,
        async_op: bool = False,
    ) -> None:
        _refuse(op, async_op)
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        chunks = Chunks(input_tensor.clone().view(size, -1).unbind(0))
        drive(program(rank, size, chunks), group)
        output_tensor.view(-1).copy_(chunks[rank])

    return run


def _refuse(op: Any, async_op: bool) -> None:
    if async_op:
        raise ValueError("async_op is True; the programs run to their end, so it must be False")
    if op != dist.ReduceOp.SUM:
        raise ValueError(f"op is {op}; the programs add up, so it must be SUM")
