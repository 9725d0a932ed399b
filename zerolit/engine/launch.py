"""Start ranks on this machine, and say which one failed, where and why.

A real cluster that fails is silent, or every rank complains. Here each rank shares what it is doing
(`status`) and says how it ended; from that the launcher names the culprit and stops the others.
Under `torchrun` the ranks exist already, on one machine or many, and are used as they are.
"""

import atexit
import multiprocessing as mp
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from . import status

GRACE = 0.8  # seconds for the culprit to be heard after a victim
STUCK = 0.4  # seconds that a rank may wait for one that has returned
_VICTIM = ("Connection", "connection", "Timed out", "timed out", "Socket", "recv", "send")


class EngineError(RuntimeError):
    """A rank failed. `rank` is the culprit, `phase` what it was doing, `cause` what happened."""

    def __init__(self, rank: int, doing: status.Doing, cause: str):
        super().__init__(f"rank {rank} {cause} ({doing})")
        self.rank, self.phase, self.cause = rank, doing.phase, cause


@dataclass
class _Rank:
    """One process as the launcher sees it."""

    process: Any
    pipe: Connection
    record: Any
    result: Any = None
    finished: bool = False
    complaint: tuple[str, str] | None = None  # how a victim put it: kind, message
    stuck_since: float | None = None
    seen: int = field(default=-1)  # the record's count when it was looked at

    @property
    def doing(self) -> status.Doing:
        return status.read(self.record)


def launch(
    function: Callable,
    size: int,
    *arguments: Any,
    timeout: float = 60.0,
    on_tell: Callable[[Any], object] = lambda news: None,
) -> list[Any]:
    """Run `function(*arguments)` on `size` ranks with a process group; return results by rank.

    Under `torchrun` the function runs in this process, as one of the ranks that there are.

    Args:
        function: importable from a module, as processes need it.
        timeout: seconds that a rank waits for another before it counts as hanging.
        on_tell: called with what rank 0 says by `tell`.

    Raises:
        EngineError: a rank died, raised, returned early, hangs, or sends what another does not
            expect. No process, port or file is left behind.
        ValueError: a size below 1, or not that of `torchrun`.
    """
    if size < 1:
        raise ValueError(f"size is {size}; it must be at least 1")
    if under_torchrun():
        return _under_torchrun(function, size, arguments, timeout)
    folder = Path(tempfile.mkdtemp(prefix="zerolit-"))
    ranks: list[_Rank] = []
    try:
        for rank in range(size):
            ranks.append(_start(rank, size, folder, function, arguments, timeout))
        results = _Watch(ranks, timeout, on_tell).until_the_end()
        for one in ranks:
            one.pipe.send("goodbye")
        return results
    except BaseException:
        for one in ranks:
            one.process.kill()
        raise
    finally:
        for one in ranks:
            one.process.join()
            one.process.close()
            one.pipe.close()
        shutil.rmtree(folder, ignore_errors=True)


def _start(
    rank: int, size: int, folder: Path, function: Callable, arguments: tuple, timeout: float
) -> _Rank:
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["zerolit.engine"])
    ours, theirs = context.Pipe()
    record = context.RawArray("c", status.LENGTH)
    job = (rank, size, str(folder / "store"), function, arguments, timeout, theirs, record)
    process = context.Process(target=_be_rank, args=job, daemon=True)
    process.start()
    theirs.close()
    return _Rank(process, ours, record)


# A rank's own process


def _be_rank(
    rank: int,
    size: int,
    store: str,
    function: Callable,
    arguments: tuple,
    timeout: float,
    pipe: Connection,
    record: Any,
) -> None:
    """Join the group, run the function, send its result, and leave when all have finished."""
    global _pipe
    _pipe = pipe if rank == 0 else None
    status.share(record)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher stops its ranks
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())
    try:
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(store, size),
            rank=rank,
            world_size=size,
            timeout=timedelta(seconds=timeout),
        )
        pipe.send(("result", function(*arguments)))
        pipe.recv()  # goodbye: nobody needs this rank any more
        dist.destroy_process_group()
    except EOFError:
        pass  # the launcher is gone
    except BaseException as error:
        pipe.send(("error", (type(error).__name__, str(error).split("\n")[0])))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the interpreter's own end may abort under gloo's threads


_pipe: Connection | None = None


def tell(news: Any) -> None:
    """Say something to whoever launched the ranks; only rank 0 is heard."""
    if _pipe is not None:
        _pipe.send(("news", news))


def _loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), names[0])


# The launcher's side


class _Watch:
    """Hears what ranks say and sees how they end, until all have finished or one has failed."""

    def __init__(self, ranks: list[_Rank], timeout: float, on_tell: Callable):
        self.ranks, self.timeout, self.on_tell = ranks, timeout, on_tell
        self.first_victim: float | None = None

    def until_the_end(self) -> list[Any]:
        while not all(rank.finished for rank in self.ranks):
            self._listen()
            self._judge()
        return [rank.result for rank in self.ranks]

    def _listen(self) -> None:
        """Take in everything that has been said; wait a moment if nothing has."""
        pipes = {rank.pipe: i for i, rank in enumerate(self.ranks) if not rank.finished}
        ends = {rank.process.sentinel: i for i, rank in enumerate(self.ranks)}
        for ready in wait([*pipes, *ends], timeout=0.05):
            if ready in pipes:
                self._hear(pipes[ready])
            elif not self.ranks[ends[ready]].pipe.poll():
                self._see_end(ends[ready])

    def _hear(self, i: int) -> None:
        rank = self.ranks[i]
        try:
            kind, said = rank.pipe.recv()
        except (EOFError, ConnectionResetError):
            return self._see_end(i)
        if kind == "news":
            self.on_tell(said)
        elif kind == "result":
            rank.finished, rank.result = True, said
        elif _is_victim(*said):
            rank.complaint = said
            self.first_victim = self.first_victim or time.monotonic()
        else:
            raise EngineError(i, rank.doing, f"raised {said[0]}: {said[1]}")

    def _see_end(self, i: int) -> None:
        rank = self.ranks[i]
        rank.process.join()
        code = rank.process.exitcode or 0
        if rank.complaint is None and not rank.finished:
            self._mismatch()
            ended = (
                f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited ({code})"
            )
            raise EngineError(i, rank.doing, ended)

    def _judge(self) -> None:
        """Whom to blame when nobody has said what is wrong."""
        now = time.monotonic()
        self._early_return(now)
        if self.first_victim and now - self.first_victim > GRACE:
            self._mismatch()
            self._hang()
            i = next(i for i, rank in enumerate(self.ranks) if rank.complaint)
            raise EngineError(i, self.ranks[i].doing, f"complained: {self.ranks[i].complaint}")

    def _early_return(self, now: float) -> None:
        """A rank that has returned is waited for, and has been for a while."""
        for i, rank in enumerate(self.ranks):
            doing = rank.doing
            waits = not rank.finished and doing.what == "exchanging" and doing.frm >= 0
            if not (waits and self.ranks[doing.frm].finished):
                rank.stuck_since = None
            elif rank.stuck_since is None or doing.count != rank.seen:
                rank.stuck_since, rank.seen = now, doing.count
            elif now - rank.stuck_since > STUCK:
                cause = f"returned while rank {i} waits for it in phase {doing.phase!r}"
                raise EngineError(doing.frm, self.ranks[doing.frm].doing, cause)

    def _mismatch(self) -> None:
        """A rank sends what its receiver does not expect."""
        for i, rank in enumerate(self.ranks):
            doing = rank.doing
            if doing.what != "exchanging" or doing.to < 0:
                continue
            other = self.ranks[doing.to].doing
            meets = other.what == "exchanging" and other.frm == i
            if meets and (doing.sends, doing.phase) != (other.expects, other.phase):
                cause = f"sends {doing.sends} to rank {doing.to}, which expects {other.expects}"
                cause += f" in phase {other.phase!r}"
                raise EngineError(i, doing, cause)

    def _hang(self) -> None:
        """Victims have timed out; the one that says nothing is the one that hangs."""
        silent = [i for i, rank in enumerate(self.ranks) if not rank.complaint]
        for i in sorted(silent, key=lambda i: self.ranks[i].finished, reverse=True):
            rank = self.ranks[i]
            what = "returned early" if rank.finished else f"hangs: no sign for {self.timeout:g} s"
            raise EngineError(i, rank.doing, what)


def _is_victim(kind: str, message: str) -> bool:
    return kind in ("RuntimeError", "DistBackendError", "DistNetworkError") and any(
        word in message for word in _VICTIM
    )


# Under torchrun


def under_torchrun() -> bool:
    """Whether this process is one of `torchrun`'s ranks."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _under_torchrun(function: Callable, size: int, arguments: tuple, timeout: float) -> list[Any]:
    world = int(os.environ["WORLD_SIZE"])
    if size != world:
        raise ValueError(f"size is {size}, but torchrun started {world} ranks; they must agree")
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if backend == "nccl":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if not dist.is_initialized():  # a second group would meet the first one's addresses
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
        atexit.register(dist.destroy_process_group)
    results: list[Any] = [None] * size
    dist.all_gather_object(results, function(*arguments))
    return results
