"""What each rank is doing, in memory that the launcher reads when the rank can no longer say it."""

import json
from binascii import crc32
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from zerolit.comm import Swap

LENGTH = 8192  # bytes of a rank's record
RECENT = 8  # messages that are remembered each way

# Another rank, which of the messages to or from it (counted from 1), its shape and dtype, its phase
Message = tuple[int, int, str, str]


@dataclass(frozen=True)
class Doing:
    """What a rank was doing last.

    Attributes:
        what: `"computing"`, `"exchanging"` or another word, such as `"saving"`.
        phase: of the last message.
        to, frm: whom it sends to and waits for, or None.
        number: which message it waits for from `frm`, counted from 1.
        begun: how many messages it has begun to send, by receiver.
        sends, expects: the latest of both, old to new.
    """

    what: str = "starting"
    phase: str = ""
    to: int | None = None
    frm: int | None = None
    number: int = 0
    begun: dict[str, int] = field(default_factory=dict)
    sends: list[Message] = field(default_factory=list)
    expects: list[Message] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.what}, phase {self.phase!r}" if self.phase else self.what


_record: Any = None  # shared with the launcher; None where there is none
_last = Doing()
_asked: Counter[int] = Counter()


def share(record: Any) -> None:
    """Write to this shared array of `LENGTH` bytes from now on."""
    global _record
    _record = record


def exchanging(swap: Swap, to: int | None, frm: int | None) -> None:
    """This rank is about to send `to` another, to receive `frm` one, or both.

    Both are ranks among all, or None; the swap's own may be those of a smaller group.
    """
    if _record is None:
        return
    begun, sends, expects = dict(_last.begun), _last.sends, _last.expects
    if to is not None:
        begun[str(to)] = begun.get(str(to), 0) + 1
        message = (to, begun[str(to)], _words(swap.payload), swap.phase)
        sends = [*sends, message][-RECENT:]
    if frm is not None:
        _asked[frm] += 1
        message = (frm, _asked[frm], _words(swap.like), swap.phase)
        expects = [*expects, message][-RECENT:]
    number = 0 if frm is None else _asked[frm]
    _write(Doing("exchanging", swap.phase, to, frm, number, begun, sends, expects))


def _words(tensor: Any) -> str:
    return f"{tuple(tensor.shape)} {tensor.dtype}"


def computing(phase: str) -> None:
    """The exchange is over."""
    if _record is not None:
        _write(replace(_last, what="computing", phase=phase))


def doing(what: str) -> None:
    """Anything else that takes long, such as `"saving"`."""
    if _record is not None:
        _write(replace(_last, what=what, phase=""))


def _write(now: Doing) -> None:
    global _last
    _last = now
    words = json.dumps(list(vars(now).values())).encode()
    _record.value = b"%08x" % crc32(words) + words


def read(record: Any) -> Doing:
    """What a rank wrote last."""
    for _ in range(5):
        checksum, words = record.value[:8], record.value[8:]
        if checksum == b"%08x" % crc32(words):  # else caught in the middle of a write
            return Doing(*json.loads(words))
    return Doing()  # nothing yet
