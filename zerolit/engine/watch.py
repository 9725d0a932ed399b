"""Hear what ranks say, see how they end, and find out whose fault it was."""

import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from . import status
from .rank import hear

LAUNCHES_ITSELF = 78  # how a rank exits whose import of the program comes to `launch` again
GRACE = 0.8  # seconds for the culprit to be heard after a victim
SETTLE = 0.2  # seconds for all that do not fit to be seen after the first
_VICTIM = re.compile(
    r"Connection (closed|reset|refused)|Timed out waiting|Socket (Timeout|closed)|gloo/transport"
)


class EngineError(RuntimeError):
    """A rank failed: `rank` did it, `cause` is what; `phase` is that of its last message."""

    def __init__(self, rank: int, doing: status.Doing, cause: str):
        super().__init__(f"rank {rank} {cause} ({doing})")
        self.rank, self.phase, self.cause = rank, doing.phase, cause


@dataclass
class Rank:
    """A rank's process as the launcher sees it."""

    process: Any
    pipe: Connection
    record: Any
    result: Any = None
    finished: bool = False
    complaint: str = ""  # of another; so this rank is a victim
    ended: bool = False

    @property
    def doing(self) -> status.Doing:
        return status.read(self.record)


class Watch:
    """Hears what ranks say and sees how they end, until all have finished or one has failed."""

    def __init__(self, ranks: list[Rank], timeout: float, on_tell: Callable):
        self.ranks, self.timeout, self.on_tell = ranks, timeout, on_tell
        self.first_victim: tuple[int, float] | None = None  # rank, when
        self.signs, self.last_sign = list[tuple[bytes, bool]](), time.monotonic()

    def until_the_end(self) -> list[Any]:
        while not all(rank.finished for rank in self.ranks):
            self._listen()
            self._judge()
        return [rank.result for rank in self.ranks]

    def _listen(self) -> None:
        """Take in everything that has been said; wait a moment if nothing has."""
        alive = [(i, rank) for i, rank in enumerate(self.ranks) if not rank.ended]
        pipes = {rank.pipe: i for i, rank in alive if not rank.finished}
        ends = {rank.process.sentinel: i for i, rank in alive}
        for ready in wait([*pipes, *ends], timeout=0.05):
            if ready in pipes:
                self._hear(pipes[ready])
            elif not self.ranks[ends[ready]].pipe.poll():
                self._see_end(ends[ready])

    def _hear(self, i: int) -> None:
        rank = self.ranks[i]
        try:
            kind, said = hear(rank.pipe)
        except (EOFError, ConnectionResetError):
            return self._see_end(i)
        if kind == "news":
            self.on_tell(said)
        elif kind == "result":
            rank.finished, rank.result = True, said
        elif _is_victim(*said):
            rank.complaint = f"raised {': '.join(said)}"
            self.first_victim = self.first_victim or (i, time.monotonic())
        else:
            raise EngineError(i, rank.doing, f"raised {': '.join(said)}")

    def _see_end(self, i: int) -> None:
        rank = self.ranks[i]
        rank.process.join()
        rank.ended = True
        if rank.process.exitcode == LAUNCHES_ITSELF:
            raise ValueError(
                "every rank imports the program and comes to this call again; put it behind "
                "`if __name__ == '__main__':`"
            ) from None
        if not rank.complaint and not rank.finished:
            self._misfit()
            raise EngineError(i, rank.doing, ending(rank.process.exitcode or 0))

    def _judge(self) -> None:
        """Whom to blame when nobody has said what is wrong."""
        self._misfit()
        self._early_return()
        now = time.monotonic()
        signs = [(rank.record.value, rank.finished) for rank in self.ranks]
        if signs != self.signs:
            self.signs, self.last_sign = signs, now
        if self.first_victim:
            if now - self.first_victim[1] > GRACE:
                self._follow(self.first_victim[0])
        elif any(r.finished for r in self.ranks) and now - self.last_sign > self.timeout + GRACE:
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
        if doing.what != "exchanging" or doing.frm is None:
            return None
        begun = self.ranks[doing.frm].doing.begun.get(str(i), 0)
        return doing.frm if begun < doing.number else None

    def _misfit(self) -> None:
        """A rank has sent what its receiver did not expect as that very message."""
        if not (first := self._misfits()):
            return
        time.sleep(SETTLE)  # the odd one out differs from its other neighbours, too
        found = self._misfits() or first  # ranks may have gone on
        odd, (sender, receiver) = _odd_one(list(found))
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
                raise EngineError(i, doing, rank.complaint or self._silent())
            sender = self._never_sent(i)
            peers = [peer for peer in (doing.to, doing.frm) if peer is not None]
            i = sender if sender is not None else max(peers)
        circle = " → ".join(map(str, [*seen[seen.index(i) :], i]))
        raise EngineError(i, self.ranks[i].doing, f"waits in a circle of ranks, {circle}")

    def _blame_finished(self, i: int) -> None:
        """A victim that computes waits in a collective of torch's own: for one that returned."""
        for j, other in enumerate(self.ranks):
            if self.ranks[i].complaint and other.finished:
                raise EngineError(j, other.doing, f"returned while rank {i} waits for it")

    def _silent(self) -> str:
        return f"hangs: no sign for {self.timeout:g} s"


def _odd_one(pairs: list[tuple[int, int]]) -> tuple[int, tuple[int, int]]:
    """Of senders and receivers that part, the rank that is in most, and a pair to show it by."""
    suspects = [sender for sender, _ in pairs] + [receiver for _, receiver in pairs]
    odd = max(suspects, key=suspects.count)  # of a single pair, the sender
    mine = [pair for pair in pairs if odd in pair]
    return odd, min(mine, key=lambda pair: pair[0] != odd)  # as the sender, if it is one


def _is_victim(kind: str, words: str) -> bool:
    """Whether an exception is torch's and says that another rank is gone, or does not answer."""
    torchs = kind == "RuntimeError" or kind.startswith("Dist")
    return torchs and _VICTIM.search(words) is not None


def ending(code: int) -> str:
    """How a process ended, by its exit code."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited ({code})"
