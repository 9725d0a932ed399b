"""Start ranks on this machine, and say which one failed, where and why.

A real cluster that fails is silent, or every rank complains. Here each rank shares what it is doing
(`status`) and says how it ended; from that the launcher names the culprit and stops the others.
Under `torchrun` the ranks exist already, on one machine or many, and are used as they are.
"""

import atexit
import multiprocessing as mp
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist

from . import status

GRACE = 0.8  # seconds for the culprit to be heard after a victim
SETTLE = 0.2  # seconds for all that do not fit to be seen after the first
# How gloo says that another rank is gone, or does not answer.
_VICTIM = re.compile(
    r"Connection (closed|reset|refused)|Timed out waiting|Socket (Timeout|closed)|gloo/transport"
)


class EngineError(RuntimeError):
    """A rank failed: `rank` did it, `cause` is what; `phase` is that of its last message."""

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
    victim: bool = False  # it complained of another

    @property
    def doing(self) -> status.Doing:
        return status.read(self.record)


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
    error is what it raises; naming the culprit needs ranks that were launched here.

    Args:
        function: importable from a module, as processes need it.
        timeout: seconds that ranks wait for another before it counts as hanging.
        device: "cpu", over gloo, or "cuda", over NCCL and with a GPU for each rank.
        on_tell: called with what rank 0 says by `tell`.

    Raises:
        EngineError: a rank died, raised, returned early, hangs, or sends what another does not
            expect. No process, port or file is left behind.
        ValueError: a size below 1, or not that of `torchrun`; another device, or too few of them; a
            network interface that this machine lacks.
    """
    if size < 1:
        raise ValueError(f"size is {size}; it must be at least 1")
    _refuse_interface()
    if under_torchrun():
        return _under_torchrun(function, size, arguments, timeout, device, on_tell)
    _refuse_device(device, size)
    folder = Path(tempfile.mkdtemp(prefix="zerolit-"))
    ranks: list[_Rank] = []
    try:
        for rank in range(size):
            ranks.append(_start(_Job(rank, size, folder, function, arguments, timeout, device)))
        results = _Watch(ranks, timeout, on_tell).until_the_end()
        for one in ranks:
            with suppress(BrokenPipeError):
                one.pipe.send("goodbye")
        for one in ranks:
            one.process.join(5)  # its own end takes a moment
        return results
    finally:
        _stop(ranks, folder)


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


@dataclass(frozen=True)
class _Job:
    """What a process needs to be a rank."""

    rank: int
    size: int
    folder: Path
    function: Callable
    arguments: tuple
    timeout: float
    device: str


def _start(job: _Job) -> _Rank:
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["zerolit.engine"])
    ours, theirs = context.Pipe()
    record = context.RawArray("c", status.LENGTH)
    process = context.Process(target=_be_rank, args=(job, theirs, record), daemon=True)
    process.start()
    theirs.close()
    return _Rank(process, ours, record)


def unguarded(function: Callable, size: int, *arguments: Any, timeout: float) -> list[str]:
    """Start ranks and only listen, as a plain launcher does: what they say, in order of time.

    A rank that returns leaves at once, and nobody stops the others; `timeout` is that of their
    group. Returns lines such as `"rank 0: RuntimeError: …"`; nothing for a rank that hangs.
    """
    told: list[str] = []
    folder = Path(tempfile.mkdtemp(prefix="zerolit-"))
    ranks = [
        _start(_Job(rank, size, folder, function, arguments, timeout, "cpu"))
        for rank in range(size)
    ]
    try:
        deadline = time.monotonic() + timeout + 2
        waiting = {rank.pipe: rank for rank in ranks}
        while waiting and (left := deadline - time.monotonic()) > 0:
            for pipe in wait(waiting, left):
                rank = waiting.pop(cast(Connection, pipe))
                told.append(f"rank {ranks.index(rank)}: {_last_words(rank)}")
        return told
    finally:
        _stop(ranks, folder)


def _last_words(rank: _Rank) -> str:
    try:
        kind, said = rank.pipe.recv()
    except (EOFError, ConnectionResetError):
        rank.process.join()
        return _ending(rank.process.exitcode)
    if kind != "result":
        return ": ".join(said)
    rank.pipe.send("goodbye")
    return "returns"


def _ending(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited ({code})"


def _stop(ranks: list[_Rank], folder: Path) -> None:
    """Leave no process, pipe or file behind."""
    for rank in ranks:
        rank.process.kill()
    for rank in ranks:
        rank.process.join()
        rank.process.close()
        rank.pipe.close()
    shutil.rmtree(folder, ignore_errors=True)


# A rank's own process


def _be_rank(job: _Job, pipe: Connection, record: Any) -> None:
    """Join the group, run the function, send its result, and leave when all have finished."""
    global _pipe
    _pipe = pipe if job.rank == 0 else None
    status.share(record)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher stops its ranks
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())
    goodbye = threading.Event()
    threading.Thread(target=_obey, args=(pipe, goodbye, job.folder), daemon=True).start()
    try:
        store = dist.FileStore(str(job.folder / "store"), job.size)
        _join(job.device, job.rank, job.timeout, store=store, rank=job.rank, world_size=job.size)
        pipe.send(("result", job.function(*job.arguments)))
        goodbye.wait()  # until nobody needs this rank any more
        dist.destroy_process_group()
    except BaseException as error:
        pipe.send(("error", (type(error).__name__, str(error).split("\n")[0])))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the interpreter's own end may abort under gloo's threads


def _obey(pipe: Connection, goodbye: threading.Event, folder: Path) -> None:
    """Leave when the launcher says so; if it was killed, at once, whatever the rank is doing."""
    try:
        pipe.recv()
        goodbye.set()
    except (EOFError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)


def _join(device: str, local_rank: int, timeout: float, **where: Any) -> None:
    if device == "cuda":
        torch.cuda.set_device(local_rank)  # so that "cuda" is this rank's own
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout), **where)


_pipe: Connection | None = None
_listener: Callable[[Any], object] | None = None  # in the same process, under torchrun


def tell(news: Any) -> None:
    """Say something to whoever launched the ranks; only rank 0 is heard."""
    if _pipe is not None:
        _pipe.send(("news", news))
    if _listener is not None:
        _listener(news)


def _loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), names[0])


# The launcher's side


class _Watch:
    """Hears what ranks say and sees how they end, until all have finished or one has failed."""

    def __init__(self, ranks: list[_Rank], timeout: float, on_tell: Callable):
        self.ranks, self.timeout, self.on_tell = ranks, timeout, on_tell
        self.first_victim: tuple[int, float] | None = None  # rank, when
        self.last_sign = time.monotonic()

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
        self.last_sign = time.monotonic()
        if kind == "news":
            self.on_tell(said)
        elif kind == "result":
            rank.finished, rank.result = True, said
        elif _VICTIM.search(said[1]):
            rank.victim = True
            self.first_victim = self.first_victim or (i, self.last_sign)
        else:
            raise EngineError(i, rank.doing, f"raised {said[0]}: {said[1]}")

    def _see_end(self, i: int) -> None:
        rank = self.ranks[i]
        rank.process.join()
        if not rank.victim and not rank.finished:
            self._misfit()
            raise EngineError(i, rank.doing, _ending(rank.process.exitcode or 0))

    def _judge(self) -> None:
        """Whom to blame when nobody has said what is wrong."""
        self._misfit()
        self._early_return()
        now = time.monotonic()
        if self.first_victim and now - self.first_victim[1] > GRACE:
            self._follow(self.first_victim[0])
        some = any(rank.finished for rank in self.ranks)
        if some and now - self.last_sign > self.timeout + GRACE:
            i = next(i for i, rank in enumerate(self.ranks) if not rank.finished)
            raise EngineError(i, self.ranks[i].doing, self._silent())

    def _early_return(self) -> None:
        """A rank waits for a message that its sender, which has returned, never sent."""
        for i, rank in enumerate(self.ranks):
            sender = self._never_sent(i)
            if sender is not None and self.ranks[sender].finished and not rank.finished:
                cause = f"returned while rank {i} waits for it in phase {rank.doing.phase!r}"
                raise EngineError(sender, self.ranks[sender].doing, cause)

    def _never_sent(self, i: int) -> int | None:
        """The rank from which rank i waits for a message that has not been begun."""
        doing = self.ranks[i].doing
        if doing.what != "exchanging" or doing.frm < 0:
            return None
        begun = self.ranks[doing.frm].doing.begun.get(str(i), 0)
        return doing.frm if begun < doing.number else None

    def _misfit(self) -> None:
        """A rank has sent what its receiver did not expect as that very message."""
        if not self._misfits():
            return
        time.sleep(SETTLE)  # the odd one out differs from its other neighbours, too
        found = self._misfits()
        odd = max(range(len(self.ranks)), key=lambda i: sum(i in pair for pair in found))
        mine = [pair for pair in found if odd in pair]
        sender, receiver = min(mine, key=lambda pair: pair[0] != odd)  # as the sender, if it is one
        sent, expected = found[sender, receiver]
        cause = (
            f"sends {sent} to rank {receiver}, which expects {expected}"
            if odd == sender
            else f"expects {expected} from rank {sender}, which sends {sent}"
        )
        raise EngineError(odd, self.ranks[odd].doing, cause)

    def _misfits(self) -> dict[tuple[int, int], tuple[str, str]]:
        """By sender and receiver: what was sent and what was expected, where the two part."""
        expected = {
            (sender, i, number): f"{what} in phase {phase!r}"
            for i, rank in enumerate(self.ranks)
            for sender, number, what, phase in rank.doing.expects
        }
        found: dict[tuple[int, int], tuple[str, str]] = {}
        for i, rank in enumerate(self.ranks):
            for to, number, what, phase in rank.doing.sends:
                sent = f"{what} in phase {phase!r}"
                if expected.get((i, to, number), sent) != sent:
                    found.setdefault((i, to), (sent, expected[i, to, number]))
        return found

    def _follow(self, i: int) -> None:
        """From a victim to the rank that it waits for, and on, to the one that waits for nobody."""
        seen: list[int] = []
        while i not in seen:
            seen.append(i)
            rank, doing = self.ranks[i], self.ranks[i].doing
            if rank.finished:
                raise EngineError(i, doing, "returned early")
            if doing.what != "exchanging":
                self._blame_finished(i)
                raise EngineError(i, doing, self._silent())
            sender = self._never_sent(i)
            i = sender if sender is not None else max(doing.to, doing.frm)
        circle = " → ".join(map(str, [*seen[seen.index(i) :], i]))
        raise EngineError(i, self.ranks[i].doing, f"waits in a circle of ranks, {circle}")

    def _blame_finished(self, i: int) -> None:
        """A victim that computes waits in a collective of torch's own: for one that returned."""
        for j, other in enumerate(self.ranks):
            if self.ranks[i].victim and other.finished:
                raise EngineError(j, other.doing, f"returned while rank {i} waits for it")

    def _silent(self) -> str:
        return f"hangs: no sign for {self.timeout:g} s"


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


def _under_torchrun(
    function: Callable, size: int, arguments: tuple, timeout: float, device: str, on_tell: Callable
) -> list[Any]:
    world = int(os.environ["WORLD_SIZE"])
    if size != world:
        raise ValueError(f"size is {size}, but torchrun started {world} ranks; they must agree")
    _refuse_device(device, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    global _listener
    _listener = on_tell if os.environ["RANK"] == "0" else None
    if not dist.is_initialized():  # a second group would meet the first one's addresses
        _join(device, int(os.environ["LOCAL_RANK"]), timeout)
        atexit.register(dist.destroy_process_group)
    results: list[Any] = [None] * size
    dist.all_gather_object(results, function(*arguments))
    return results
