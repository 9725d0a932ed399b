"""Run pages' blocks in processes of their own, as many at once as there are cores.

What runs together is a session of a page, in English and then in Chinese. A block that hangs is
killed with its process, and none of a page's variables outlives it.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from .fences import Fence, PageError
from .page import Ran
from .source import Source

PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Session:
    """Blocks that share their variables, of one page in both languages.

    Attributes:
        twins: the page's sources; the blocks are the same in both.
    """

    twins: Sequence[Source]
    blocks: list[Fence]

    def where(self, page: str, block: str, line: int = 0) -> str:
        """A block's `line` in messages: page, line of the file, and id."""
        (twin,) = (twin for twin in self.twins if twin.page == page)
        return twin.where(block, line)


def sessions_of(twins: Sequence[Source]) -> list[Session]:
    """The sessions of a page, given its sources in both languages; blocks without one are last."""
    groups: dict[str, list[Fence]] = {}
    for block in sorted(twins[0].blocks, key=lambda block: "session" not in block.options):
        groups.setdefault(block.options.get("session", ""), []).append(block)
    return [Session(twins, blocks) for blocks in groups.values()]


@dataclass
class Outcome:
    """What came of a session: what each block gave, and the seconds of each page."""

    ran: dict[tuple[str, str], Ran] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def run_all(
    sessions: Sequence[Session], limit: float, on_done: Callable[[Session, Outcome], None]
) -> None:
    """Run sessions side by side, and call `on_done`, in this thread, as each is done.

    Args:
        limit: seconds that a page may take, in one session and one language.

    Raises:
        PageError: a block that raises, warns, exits, hangs or shows nothing; the others are ended.
    """
    workers = [Worker() for _ in range(min(os.cpu_count() or 1, len(sessions)))]
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)
    with ThreadPoolExecutor(max(1, len(workers))) as pool:
        try:
            waiting = {pool.submit(_with_one, idle, each, limit): each for each in sessions}
            for future in as_completed(waiting):
                on_done(waiting[future], future.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.end()


def _with_one(idle: "SimpleQueue[Worker]", session: Session, limit: float) -> Outcome:
    worker = idle.get()
    try:
        return worker.run(session, limit)
    finally:
        idle.put(worker)  # even if it is broken: nobody may wait for it


class Worker:
    """One process of `zerolit.press.worker`, and the line to it."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-P", "-m", "zerolit.press.worker", str(theirs.fileno())]
        environment = {**os.environ, "PYTHONPATH": path}
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()

    def end(self) -> None:
        """Kill the process, if it still is."""
        self.process.kill()
        self.process.wait()
        self.channel.close()

    def run(self, session: Session, limit: float) -> Outcome:
        """Have a session's blocks run; raises as `run_all`."""
        outcome, at = Outcome(), ("", "")
        for answer in self._ask(session, limit):
            if "done" in answer:
                break
            at = (answer["page"], answer["block"])
            if "error" in answer:
                raise PageError(f"{session.where(*at, answer['line'])}: {answer['error']}")
            if "ran" in answer:
                outcome.ran[at] = Ran(**answer["ran"])
                outcome.seconds[at[0]] = outcome.seconds.get(at[0], 0) + answer["seconds"]
        return outcome

    def _ask(self, session: Session, limit: float) -> Iterator[dict[str, Any]]:
        """The answers of the process, one after the other; the clock of a page is kept here."""
        self.channel.sendall((json.dumps(_request(session)) + "\n").encode())
        at, deadline, rest = None, None, b""
        while True:
            try:
                self.channel.settimeout(deadline and max(0.01, deadline - time.monotonic()))
                part = self.channel.recv(1 << 20)
            except TimeoutError:
                why = f"PageTimeout: the page takes longer than {limit:g} s, the limit for a page"
                raise PageError(f"{session.where(*at)}: {why}") from None  # type: ignore[misc]
            if not part:
                where = session.where(*at) if at else session.twins[0].page
                raise PageError(f"{where}: its process ended with code {self.process.wait()}")
            *lines, rest = (rest + part).split(b"\n")
            for answer in map(json.loads, lines):
                if "page" in answer and (at is None or at[0] != answer["page"]):
                    deadline = time.monotonic() + limit
                at = (answer["page"], answer["block"]) if "page" in answer else at
                yield answer


def _request(session: Session) -> dict[str, Any]:
    blocks = [
        {
            "id": block.options["id"],
            "text": block.text,
            "hidden": "source" not in block.options,
            "session": block.options.get("session", ""),
        }
        for block in session.blocks
    ]
    return {"pages": [(twin.page, twin.language) for twin in session.twins], "blocks": blocks}
