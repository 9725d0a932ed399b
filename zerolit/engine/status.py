"""What each rank is doing, in memory that the launcher reads when the rank can no longer say it."""

import json
from dataclasses import dataclass, replace
from typing import Any

from zerolit.comm import Swap
from zerolit.comm.swap import NOBODY

LENGTH = 512  # bytes of a rank's record
_record: Any = None  # shared with the launcher; None where there is none


@dataclass(frozen=True)
class Doing:
    """What a rank was doing last.

    Attributes:
        what: `"computing"`, `"exchanging"` or another word, such as `"saving"`.
        phase: of the last message.
        to, frm: whom it sends to and waits for, or -1.
        sends, expects: shape and dtype of a message, as words.
        count: how often the record has changed.
    """

    what: str = "starting"
    phase: str = ""
    to: int = NOBODY
    frm: int = NOBODY
    sends: str = ""
    expects: str = ""
    count: int = 0

    def __str__(self) -> str:
        return f"{self.what}, phase {self.phase!r}" if self.phase else self.what


_last = Doing()


def share(record: Any) -> None:
    """Write to this shared array of `LENGTH` bytes from now on."""
    global _record
    _record = record


def exchanging(swap: Swap) -> None:
    """This rank is about to send, to receive, or both."""
    sends, expects = (
        "" if x is None else f"{tuple(x.shape)} {x.dtype}" for x in (swap.payload, swap.like)
    )
    _write("exchanging", swap.phase, swap.to, swap.frm, sends, expects)


def computing(phase: str) -> None:
    """The exchange is over."""
    _write("computing", phase)


def doing(what: str) -> None:
    """Anything else that takes long, such as `"saving"`."""
    _write(what)


def _write(what: str, *rest: Any) -> None:
    global _last
    if _record is not None:
        _last = replace(Doing(what, *rest), count=_last.count + 1)
        _record.value = json.dumps(list(vars(_last).values())).encode()[: LENGTH - 1]


def read(record: Any) -> Doing:
    """What a rank wrote last."""
    try:
        return Doing(*json.loads(record.value.decode()))
    except ValueError:  # nothing yet, or caught in the middle of a write
        return Doing()
