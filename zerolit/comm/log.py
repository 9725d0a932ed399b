"""What went over the wire: who sent what to whom, and when."""

from dataclasses import dataclass, field
from typing import Any

from .chunks import parts
from .swap import Swap

SMALL = 16  # messages of up to this many elements keep a copy of their values


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `step` counts from 1; `values` is None where there are more than `SMALL`.

    Attributes:
        chunk: the chunk that it carries; a range where it carries several; None for no chunk.
    """

    step: int
    phase: str
    source: int
    destination: int
    chunk: int | range | None
    elements: int
    values: tuple | None

    def __str__(self) -> str:
        line = f"step {self.step} {self.phase}".rstrip()
        line += f": rank {self.source} → rank {self.destination}"
        line += "" if self.chunk is None else f", {named(self.chunk)}"
        line += f", {self.elements} element{'' if self.elements == 1 else 's'}"
        return line if self.values is None else f"{line} [{' '.join(map(_plain, self.values))}]"


@dataclass
class CommLog:
    """The traffic of one or more collectives among `size` ranks, in elements.

    Attributes:
        sent, received: elements, one number per rank.
        steps: how many steps were taken, over all collectives that wrote here.
        messages: every message, in the order in which they moved.

    Raises:
        ValueError: a size below 1.
    """

    size: int
    sent: list[int] = field(init=False)
    received: list[int] = field(init=False)
    steps: int = field(init=False, default=0)
    messages: list[Message] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a log for {self.size} ranks was asked for; size must be at least 1")
        self.sent = [0] * self.size
        self.received = [0] * self.size

    def add(self, step: int, source: int, swap: Swap) -> None:
        """Enter one message that moves from `source` in `step`."""
        if swap.to is None:
            raise ValueError(
                f"rank {source} sends nothing in step {step}; only messages are logged"
            )
        elements, destination = count(swap.payload), swap.to
        self.sent[source] += elements
        self.received[destination] += elements
        self.steps = max(self.steps, step)
        values = _values(swap.payload) if elements <= SMALL else None
        chunk = chunks_of(swap)
        self.messages.append(
            Message(step, swap.phase, source, destination, chunk, elements, values)
        )

    @property
    def trace(self) -> list[str]:
        """One readable line per message."""
        return [str(message) for message in self.messages]


def count(x: Any) -> int:
    """The number of elements of a numpy array or a torch tensor, or of a block of them."""
    return sum(part.numel() if hasattr(part, "numel") else part.size for part in parts(x))


def chunks_of(swap: Swap) -> int | range | None:
    """Which chunk a message carries, or which chunks, by what its program says."""
    if not isinstance(swap.chunk, slice):
        return swap.chunk
    first = swap.chunk.start or 0
    return range(first, first + len(swap.payload))


def named(chunk: int | range) -> str:
    """A chunk, or several, in words."""
    if isinstance(chunk, int):
        return f"chunk {chunk}"
    return f"chunk {chunk[0]}" if len(chunk) == 1 else f"chunks {chunk[0]} to {chunk[-1]}"


def _values(payload: Any) -> tuple:
    return tuple(value for part in parts(payload) for value in part.reshape(-1).tolist())


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
