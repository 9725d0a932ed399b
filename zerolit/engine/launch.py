"""Start ranks on this machine, and say which one failed, where and why.

A real cluster that fails is silent, or every rank complains. Here each rank shares what it is doing
(`status`) and says how it ended; from that the launcher names the culprit and stops the others.
Under `torchrun` the ranks exist already, on one machine or many, and are used as they are.
"""

import atexit
import multiprocessing as mp
import os
import pickle
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

import cloudpickle
import torch
import torch.distributed as dist

from . import status
from .rank import Job, be_rank, hear, join, listen
from .watch import LAUNCHES_ITSELF, Rank, Watch, ending

# What a rank imports; torch._dynamo is imported by PyTorch's own trainings, half a second each.
PRELOAD = ["zerolit.engine", "zerolit.engine.stock", "torch._dynamo"]


def launch(
    function: Callable,
    size: int,
    *arguments: Any,
    timeout: float = 60.0,
    device: str = "cpu",
    on_tell: Callable[[Any], object] = lambda news: None,
) -> list[Any]:
    """Run `function(*arguments)` on `size` ranks with a process group; return results by rank.

    Under `torchrun` the function runs in this process, as one of the ranks that there are, and an
    error is what it raises; naming the culprit needs ranks that were launched here, over gloo:
    under NCCL a rank does not wait where its messages are, so a victim may be named.

    Args:
        function: one of a module, or of a notebook's cell, which processes get by value.
        timeout: seconds that ranks wait for another before it counts as hanging.
        device: "cpu", over gloo, or "cuda", over NCCL and with a GPU for each rank.
        on_tell: called with what rank 0 says by `tell`.

    Raises:
        EngineError: a rank died, raised, returned early, hangs, or sends what another does not
            expect. No process, port or file is left behind.
        ValueError: a size below 1, or not that of `torchrun`; another device, or too few of them;
            another timeout or device than the first launch under `torchrun`; a network interface
            that this machine lacks; functions or arguments that processes cannot get; a program
            that was typed or piped into Python, which processes cannot import, or that calls this
            where they import it, not behind `if __name__ == "__main__":`.
    """
    if getattr(mp.current_process(), "_inheriting", False):  # a rank that imports the program
        os._exit(LAUNCHES_ITSELF)
    if size < 1:
        raise ValueError(f"size is {size}; it must be at least 1")
    _refuse_interface()
    if under_torchrun():
        return _under_torchrun(function, size, arguments, timeout, device, on_tell)
    _refuse_device(device, size)
    with _started(function, size, arguments, timeout, device) as ranks:
        results = Watch(ranks, timeout, on_tell).until_the_end()
        for one in ranks:
            with suppress(BrokenPipeError):
                one.pipe.send("goodbye")
        for one in ranks:
            one.process.join(5)  # its own end takes a moment
        return results


def _refuse_interface() -> None:
    """gloo's own error would not say which interfaces there are."""
    here = [name for _, name in socket.if_nameindex()]
    for name in filter(None, os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")):
        if name not in here:
            raise ValueError(f"GLOO_SOCKET_IFNAME is {name!r}; this machine has {', '.join(here)}")


def _refuse_device(device: str, ranks_here: int) -> None:
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device is {device!r}; it must be 'cpu' or 'cuda'")
    if device == "cuda" and (found := torch.cuda.device_count()) < ranks_here:
        raise ValueError(
            f"device is 'cuda' with {ranks_here} ranks on this machine, which has {found} GPUs; "
            "every rank needs one of its own"
        )


def pack(function: Callable, arguments: tuple) -> bytes:
    """What a rank is to do. Functions of the program itself, or of a cell, go by value."""
    program = getattr(sys.modules["__main__"], "__file__", None)
    if program is not None and not Path(program).exists():
        raise ValueError(f"ranks cannot be started from {program}; save the program as a file")
    try:
        return cloudpickle.dumps((function, arguments))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"processes cannot get these functions or arguments: {error}") from None


@contextmanager
def _started(
    function: Callable, size: int, arguments: tuple, timeout: float, device: str
) -> Iterator[list[Rank]]:
    """Ranks at work; afterwards no process, pipe or file of theirs is left."""
    work = pack(function, arguments)
    folder = Path(tempfile.mkdtemp(prefix="zerolit-"))
    ranks: list[Rank] = []
    try:
        for rank in range(size):
            ranks.append(_start(Job(rank, size, folder, work, timeout, device)))
        yield ranks
    finally:
        _stop(ranks, folder)


def _start(job: Job) -> Rank:
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    ours, theirs = context.Pipe()
    record = context.RawArray("c", status.LENGTH)
    process = context.Process(target=be_rank, args=(job, theirs, record), daemon=True)
    process.start()
    theirs.close()
    return Rank(process, ours, record)


def unguarded(function: Callable, size: int, *arguments: Any, timeout: float) -> list[str]:
    """Start ranks and only listen, as a plain launcher does: what they say, in order of time.

    A rank that returns leaves at once, and nobody stops the others; `timeout` is that of their
    group. Returns lines such as `"rank 0: RuntimeError: …"`; nothing for a rank that hangs.
    """
    told: list[str] = []
    with _started(function, size, arguments, timeout, "cpu") as ranks:
        waiting, patience = {one.pipe: one for one in ranks}, 300.0  # they start at their leisure
        while waiting and (ready := wait(waiting, patience)):
            for pipe in ready:
                one = waiting.pop(cast(Connection, pipe))
                told.append(f"rank {ranks.index(one)}: {_last_words(one)}")
            patience = 2 * timeout + 5  # after one of them ended, the others' timeouts run
        return told


def _last_words(rank: Rank) -> str:
    try:
        kind, said = hear(rank.pipe)
        while kind == "news":
            kind, said = hear(rank.pipe)
    except (EOFError, ConnectionResetError):
        rank.process.join()
        return ending(rank.process.exitcode)
    if kind == "error":
        return ": ".join(said)
    rank.pipe.send("goodbye")
    return "returns"


def _stop(ranks: list[Rank], folder: Path) -> None:
    for rank in ranks:
        rank.process.kill()
    for rank in ranks:
        rank.process.join()
        rank.process.close()
        rank.pipe.close()
    shutil.rmtree(folder, ignore_errors=True)


# Under torchrun


def under_torchrun() -> bool:
    """Whether this process is one of `torchrun`'s ranks."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def world_size(otherwise: int) -> int:
    """How many ranks `torchrun` started, on all machines together; without it, `otherwise`."""
    return int(os.environ["WORLD_SIZE"]) if under_torchrun() else otherwise


def is_rank_0() -> bool:
    """Whether this process should speak: rank 0 of `torchrun`'s, or whoever launches ranks."""
    return not under_torchrun() or os.environ["RANK"] == "0"


_joined: list[tuple[float, str]] = []  # timeout and device of this process's group


def _under_torchrun(
    function: Callable, size: int, arguments: tuple, timeout: float, device: str, on_tell: Callable
) -> list[Any]:
    world = int(os.environ["WORLD_SIZE"])
    if size != world:
        raise ValueError(f"size is {size}, but torchrun started {world} ranks; they must agree")
    _refuse_device(device, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    listen(on_tell if is_rank_0() else None)
    _join_torchrun(timeout, device)
    results: list[Any] = [None] * size
    dist.all_gather_object(results, function(*arguments))
    return results


def _join_torchrun(timeout: float, device: str) -> None:
    """Make this process's group, once: a second one would meet the first one's addresses."""
    if not dist.is_initialized():
        join(device, int(os.environ["LOCAL_RANK"]), timeout)
        atexit.register(dist.destroy_process_group)
        _joined.append((timeout, device))
    if _joined and _joined[0] != (timeout, device):
        raise ValueError(
            f"timeout is {timeout:g}, device {device!r}; under torchrun all launches share the "
            f"first one's group, with timeout {_joined[0][0]:g} and device {_joined[0][1]!r}"
        )
