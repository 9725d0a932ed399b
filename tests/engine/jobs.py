"""What the launched ranks do: processes need functions that can be imported."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from zerolit.comm import (
    Chunks,
    CommLog,
    ProtocolError,
    Swap,
    halving,
    in_phase,
    ring,
    server,
    tap,
    tree,
)
from zerolit.engine import (
    all_gather,
    all_reduce,
    as_gloo_cuts,
    drive,
    reduce_scatter,
    status,
    tell,
)
from zerolit.engine.count import Calls, written
from zerolit.engine.train import train_rank
from zerolit.zero import Settings


def rank():
    return dist.get_rank()


def say_rank():
    return rank(), dist.get_world_size(), os.getpid()


def fail(message):
    raise ValueError(message)


def fault(which, culprit=1, n=8):
    """A ring all-reduce in which the culprit does something else after the first."""
    x = torch.ones(n)
    all_reduce(ring.all_reduce)(x)
    if rank() == culprit:
        FAULTS[which]()
    drive(in_phase("gradients", ring.all_reduce(rank(), dist.get_world_size(), chunks(x))))
    return x.tolist()


def chunks(x):
    return Chunks(x.tensor_split(dist.get_world_size()))


def other(x, phase="gradients"):
    """The same collective of something else."""
    drive(in_phase(phase, ring.all_reduce(rank(), dist.get_world_size(), chunks(x))))


FAULTS = {
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exits": lambda: os._exit(3),
    "raises": lambda: fail("the loss is nan"),
    "hangs": lambda: time.sleep(1000),
    "another shape": lambda: other(torch.ones(12)),
    "another dtype": lambda: other(torch.ones(8, dtype=torch.float64)),
    "another collective": lambda: other(torch.ones(8), "parameters"),
}


def killed_in_exchange(culprit=1):
    """Dies while its message is awaited."""
    if rank() == culprit:
        status.exchanging(Swap(torch.ones(2), 2, 0, torch.ones(2), phase="gradients"), 2, 0)
        os.kill(os.getpid(), signal.SIGKILL)
    other(torch.ones(8))


def returns_early(culprit=1):
    if rank() != culprit:
        other(torch.ones(8))


def misses_torchs_barrier():
    if rank() != 1:
        dist.barrier()


def killed_in_a_smaller_group():
    """Ranks 2 and 3 are 0 and 1 of a group of theirs; the second leaves."""
    group = dist.new_group([2, 3])
    if rank() == 2:
        x = torch.ones(2)
        drive(iter_swap(Swap(frm=1, like=x, phase="pair")), group)


def sends_more_than_is_expected():
    x = torch.ones(2)
    if rank() == 0:
        drive(iter_swap(Swap(frm=1, like=x)))
    else:
        drive(iter_swap(Swap(torch.ones(3), to=0)))
    time.sleep(40)


def loses_its_data():
    if rank() == 1:
        raise ConnectionError("Connection refused: data")
    if rank() > 1:  # rank 0 is done
        time.sleep(40)


def goes_on_for_long():
    """Ranks 1 and 2 swap every 0.2 s, for longer than the timeout of 3 s and a grace."""
    x = torch.ones(2)
    for _ in range(25 if rank() else 0):
        time.sleep(0.2)
        drive(iter_swap(Swap(x, 3 - rank(), 3 - rank(), x)))


def silent_for_long():
    """Longer than the timeout of 3 s and a grace; then all return, but not at once."""
    time.sleep(5 + rank() / 2)


def many_tensors():
    return os.getpid(), [torch.tensor([rank()]) for _ in range(2000)]


def say_where_and_hang(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(1000)


def waits_for_each_other():
    """Nobody sends."""
    x = torch.ones(2)
    drive(iter_swap(Swap(frm=(rank() + 1) % dist.get_world_size(), like=x, phase="ring")))


def iter_swap(swap):
    yield swap


def tree_that_hangs(culprit):
    """The culprit stops before it hands on what came from below."""
    program = tree.all_reduce(rank(), dist.get_world_size(), Chunks([torch.ones(2)]))

    def look(swap):
        if rank() == culprit and swap.phase == "broadcast" and swap.to is not None:
            time.sleep(1000)

    drive(tap(program, look))


def hangs_at_the_end(culprit=1):
    other(torch.ones(8))
    if rank() == culprit:
        time.sleep(1000)


def slow_receiver():
    """0 sends to 1, which at the same time sends to 2, which is not there yet."""
    x = torch.ones(2)
    if rank() == 0:
        drive(iter_swap(Swap(x, to=1)))
    elif rank() == 1:
        drive(iter_swap(Swap(x, 2, 0, x)))
    else:
        time.sleep(1.5)
        drive(iter_swap(Swap(frm=1, like=x)))


def refuses_async():
    all_reduce(ring.all_reduce)(torch.ones(2), async_op=True)


def count_to(n):
    for i in range(n):
        tell(i)
    return n


def collectives():
    """Our three functions beside torch's."""
    size = dist.get_world_size()
    mine = torch.arange(3.0) + 10 * rank()
    gathered = torch.empty(3 * size)
    all_gather(partial(ring.all_gather, owner=0))(gathered, mine)
    summed = torch.empty(2)
    whole = torch.arange(2.0 * size) + rank()
    reduce_scatter(partial(ring.reduce_scatter, owner=0))(summed, whole)
    return gathered.tolist(), summed.tolist(), whole.tolist()


def means():
    """Ours and torch's: of a sum, and of a share of one."""
    size, told = dist.get_world_size(), []
    for reduce, scatter in (
        (
            all_reduce(partial(ring.all_reduce, direction=-1, owner=0), as_gloo_cuts),
            reduce_scatter(partial(ring.reduce_scatter, direction=-1, owner=0)),
        ),
        (dist.all_reduce, dist.reduce_scatter_tensor),
    ):
        x = torch.arange(7.0) / 7 + rank()
        reduce(x, op=dist.ReduceOp.AVG)
        share = torch.empty(2)
        scatter(share, torch.arange(2.0 * size) / 3 + rank(), op=dist.ReduceOp.AVG)
        told.append((x.tolist(), share.tolist()))
    return told


PROGRAMS = {  # and into how many chunks they cut for four ranks
    "server": (server.all_reduce, 1),
    "tree": (tree.all_reduce, 1),
    "halving": (halving.all_reduce, 4),
}


def numbers(rank):
    return torch.rand(1001, generator=torch.Generator().manual_seed(rank))


def sum_by(name):
    program, pieces = PROGRAMS[name]
    x = numbers(rank())
    drive(program(rank(), dist.get_world_size(), Chunks(x.tensor_split(pieces))))
    return x


def messages_of_halving():
    """How many messages a rank sends, and of which chunks."""
    log = CommLog(dist.get_world_size())
    x = Chunks(numbers(rank()).tensor_split(4))
    drive(halving.all_reduce(rank(), dist.get_world_size(), x), log=log)
    return [(message.step, message.destination, message.chunk) for message in log.messages]


def names_another(peer):
    """The refusal of a swap with `peer`."""
    x = torch.ones(2)
    for half in ({"to": peer, "payload": x}, {"frm": peer, "like": x}):
        try:
            drive(iter_swap(Swap(**half)))
        except ProtocolError as error:
            told = str(error)
    return told


def names_itself():
    return names_another(rank())


def refuses_max():
    all_reduce(ring.all_reduce)(torch.ones(2), op=dist.ReduceOp.MAX)


def train_counted(stage):
    """One step of ours; what was sent, by phase, and the bytes that two others counted."""
    how = Settings(dist.get_world_size(), 1)
    before = written()
    with Calls() as calls:
        *_, part = train_rank(stage, how)
    return part.counts.sent, [call.nbytes for call in calls.made], written(), before
