"""A rank's own process: it joins the group, runs its function and says how it ended."""

import os
import pickle
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from . import status


@dataclass(frozen=True)
class Job:
    """What a process needs to be a rank."""

    rank: int
    size: int
    folder: Path
    work: bytes  # a function and its arguments, pickled
    timeout: float
    device: str


def be_rank(job: Job, pipe: Connection, record: Any) -> None:
    """Join the group, run the function, send its result, and leave when all have finished."""
    global _pipe
    _pipe = pipe if job.rank == 0 else None
    status.share(record)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher stops its ranks
    torch.set_num_threads(1)
    goodbye = threading.Event()
    threading.Thread(target=_obey, args=(pipe, goodbye, job.folder), daemon=True).start()
    try:
        _run(job, pipe, goodbye)
    except BaseException as error:
        _say(pipe, "error", (type(error).__name__, str(error).split("\n")[0]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the interpreter's own end may abort under gloo's threads


def _run(job: Job, pipe: Connection, goodbye: threading.Event) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())
    store = dist.FileStore(str(job.folder / "store"), job.size)
    join(job.device, job.rank, job.timeout, store=store, rank=job.rank, world_size=job.size)
    function, arguments = pickle.loads(job.work)
    status.doing("running")
    _say(pipe, "result", function(*arguments))
    goodbye.wait()  # until nobody needs this rank any more
    dist.destroy_process_group()


def _obey(pipe: Connection, goodbye: threading.Event, folder: Path) -> None:
    """Leave when the launcher says so; if it was killed, at once, whatever the rank is doing."""
    try:
        pipe.recv()
        goodbye.set()
    except (EOFError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)


def _say(pipe: Connection, kind: str, what: Any) -> None:
    """Tensors go by value: multiprocessing's own way leaves them in files of shared memory."""
    pipe.send_bytes(pickle.dumps((kind, what)))


def hear(pipe: Connection) -> tuple[str, Any]:
    """What a rank says next: `"news"`, `"result"` or `"error"`, and that."""
    return pickle.loads(pipe.recv_bytes())


def join(device: str, local_rank: int, timeout: float, **where: Any) -> None:
    """Make the process group, over NCCL where tensors are on GPUs."""
    if device == "cuda":
        torch.cuda.set_device(local_rank)  # so that "cuda" is this rank's own
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout), **where)


_pipe: Connection | None = None
_listener: Callable[[Any], object] | None = None  # in the same process, under torchrun


def listen(on_tell: Callable[[Any], object] | None) -> None:
    """What this process tells is heard in it."""
    global _listener
    _listener = on_tell


def tell(news: Any) -> None:
    """Say something to whoever launched the ranks; only rank 0 is heard."""
    if _pipe is not None:
        _say(_pipe, "news", news)
    if _listener is not None:
        _listener(news)


def _loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), names[0])
