"""Execute rank programs on a process group, over point-to-point sends of torch.distributed.

Device and dtype of the tensors are kept, so that the same program runs over gloo on CPUs and over
NCCL on GPUs.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from zerolit.comm import Block, Chunks, CommLog, RankProgram, Swap
from zerolit.comm.chunks import parts
from zerolit.comm.lockstep import check_swap

from . import status

Group = dist.ProcessGroup | None


# --8<-- [start:drive]
def drive(
    program: RankProgram,
    group: Group = None,
    log: CommLog | None = None,
) -> Any:
    """Run one rank's program to its end; return what it returns.

    What a program is resumed with is lent to it until it yields again: the
    next message arrives in the same memory. What is to stay must be copied, as
    assigning to `Chunks` does.

    Args:
        group: whose ranks the program names; None is all ranks.
        log: where this rank's own messages are entered.

    Raises:
        ProtocolError: it names itself or a rank that does not exist.
        RuntimeError: another rank died, or did not answer within the group's timeout.
    """
    arrived, step, wire = None, 0, _Wire(group)
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    while True:
        try:
            swap = program.send(arrived)
        except StopIteration as end:
            return end.value
        step += 1
        check_swap(swap, rank, size, step)
        arrived = wire.exchange(swap)
        if log is not None and swap.to is not None:
            log.add(step, rank, swap)


# --8<-- [end:drive]


# --8<-- [start:wire]
class _Wire:
    """Sends and receives in a group, and keeps what the next message can use again."""

    def __init__(self, group: Group):
        self.group = group
        self.spare: dict[torch.dtype, Tensor] = {}
        self.finished: list[dist.Work] = []

    def exchange(self, swap: Swap) -> Any:
        """Both halves of a swap at once; returns what arrived."""
        status.exchanging(swap, self.among_all(swap.to), self.among_all(swap.frm))
        room = None if swap.frm is None else self.room(swap)
        halves = []
        if swap.to is not None and (sent := joined(swap.payload)).numel():
            halves.append(self.half(dist.isend, sent, swap.to))
        if room is not None and swap.frm is not None and room.numel():
            halves.append(self.half(dist.irecv, room, swap.frm))
        works = dist.batch_isend_irecv(halves) if halves else []
        for work in works:
            work.wait()
        self.finished = works  # to release one right after its end costs about 1 ms
        status.computing(swap.phase)
        return cut_as(swap.like, room)

    def half(self, operation: Callable, tensor: Tensor, peer: int) -> dist.P2POp:
        return dist.P2POp(operation, tensor, group=self.group, group_peer=peer)

    def room(self, swap: Swap) -> Tensor:
        """Where a message arrives; new memory each time would cost as much as it."""
        like = swap.like
        if swap.fill and not isinstance(like, Block):
            return like
        several = list(parts(like))
        dtype, length = several[0].dtype, sum(part.numel() for part in several)
        spare = self.spare.get(dtype)
        if spare is None or len(spare) < length:
            spare = self.spare[dtype] = several[0].new_empty(length)
        return spare[:length]

    def among_all(self, rank: int | None) -> int | None:
        """A rank of the group as one of all ranks."""
        if self.group is None or rank is None:
            return rank
        return dist.get_global_rank(self.group, rank)


def joined(payload: Any) -> Tensor:
    """A message as one tensor; several chunks are copied, which costs their bytes."""
    if isinstance(payload, Block):
        return torch.cat([part.reshape(-1) for part in payload])
    return payload.contiguous()


def cut_as(like: Any, arrived: Tensor | None) -> Any:
    """What arrived, in the shape of the chunk, or the chunks, that it stands for."""
    if arrived is None or not isinstance(like, Block):
        return arrived if arrived is None else arrived.view(like.shape)
    lengths = [part.numel() for part in like]
    pieces = zip(arrived.split(lengths), like, strict=True)
    return Block(piece.view(part.shape) for piece, part in pieces)


# --8<-- [end:wire]


def evenly(flat: Tensor, size: int) -> list[Tensor]:
    """Cut a vector for `size` ranks into chunks that differ by one element at most."""
    return list(flat.tensor_split(size))


def as_gloo_cuts(flat: Tensor, size: int) -> list[Tensor]:
    """Cut a vector `[n]` as gloo's all-reduce does: chunks of 2·⌈n/2p⌉, the last ones shorter."""
    length = 2 * -(-len(flat) // (2 * size))
    return [flat[c * length : (c + 1) * length] for c in range(size)]


def all_reduce(
    program: Callable, cut: Callable[[Tensor, int], list[Tensor]] = evenly
) -> Callable[..., None]:
    """A function with the signature of torch.distributed's, which runs our program.

    Such as `zerolit.comm.ring.all_reduce`; its options (`direction`, `owner`) may be bound by
    `functools.partial`. To the left, `owner=0` and cut `as_gloo_cuts`, it adds up in gloo's order.
    The sum lands in the tensor itself; the mean is the sum, divided by p after. Other operations,
    and `async_op=True`, are refused with a ValueError.
    """

    def run(
        tensor: Tensor,
        op: Any = dist.ReduceOp.SUM,
        group: Group = None,
        async_op: bool = False,
    ) -> None:
        _refuse_async(async_op)
        _refuse_operation(op)
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        drive(program(rank, size, Chunks(cut(tensor.view(-1), size))), group)
        if op == dist.ReduceOp.AVG:
            tensor.div_(size)

    return run


def all_gather(program: Callable) -> Callable[..., None]:
    """The same for `all_gather_into_tensor`; the program must start from chunk r on rank r.

    So a ring is `partial(ring.all_gather, owner=0)`.
    """

    def run(
        output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
    ) -> None:
        _refuse_async(async_op)
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
        _refuse_async(async_op)
        _refuse_operation(op)
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        chunks = Chunks(input_tensor.clone().view(size, -1).unbind(0))
        drive(program(rank, size, chunks), group)
        output_tensor.view(-1).copy_(chunks[rank])
        if op == dist.ReduceOp.AVG:
            output_tensor.div_(size)

    return run


def ddp_hook(
    reduce: Callable[[Tensor], object], factor: float
) -> Callable[[Any, dist.GradBucket], torch.futures.Future[Tensor]]:
    """A communication hook for DistributedDataParallel, which adds up each bucket by `reduce`.

    Args:
        reduce: sums a tensor over the ranks in place, such as `all_reduce(ring.all_reduce)`.
        factor: what gradients are multiplied by before the sum; 1/p is what DDP does by itself.
    """

    def hook(_: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        gradients = bucket.buffer()
        reduce(gradients.mul_(factor))
        gpus: list[Any] = [gradients.device] if gradients.is_cuda else []
        done: torch.futures.Future[Tensor] = torch.futures.Future(devices=gpus)
        done.set_result(gradients)
        return done

    return hook


def _refuse_async(async_op: bool) -> None:
    if async_op:
        raise ValueError("async_op is True; the programs run to their end, so it must be False")


def _refuse_operation(op: Any) -> None:
    if op not in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
        raise ValueError(f"op is {op}; the programs add up, so it must be SUM or AVG")
