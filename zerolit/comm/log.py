"""What went over the wire: who sent what to whom, and when."""

from dataclasses import dataclass, field
from typing import Any

from .swap import Swap

SMALL = 16  # messages of up to this many elements keep a copy of their values


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `step` counts from 1; `values` is None where there are more than `SMALL`."""

    step: int
    phase: str
    source: int
    destination: int
    chunk: int | None
    elements: int
    values: tuple | None

    def __str__(self) -> str:
        line = f"step {self.step} {self.phase}: rank {self.source} → rank {self.destination}"
        line += "" if self.chunk is None else f", chunk {self.chunk}"
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
        elements, destination = count(swap.payload), swap.to
        values = tuple(swap.payload.reshape(-1).tolist()) if elements <= SMALL else None
        self.sent[source] += elements
        self.received[destination] += elements
        self.steps = max(self.steps, step)
        self.messages.append(
            Message(step, swap.phase, source, destination, swap.chunk, elements, values)
        )

    @property
    def trace(self) -> list[str]:
        """One readable line per message."""
        return [str(message) for message in self.messages]


def count(x: Any) -> int:
    """The number of elements of a numpy array or a torch tensor."""
    return x.numel() if hasattr(x, "numel") else x.size


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
