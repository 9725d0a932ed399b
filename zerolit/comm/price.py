"""Price a rank program on a network: run it on sizes alone, with a clock per rank.

The α–β model (Hockney): a message of s bytes occupies its sender's outgoing and its receiver's
incoming link for s/B seconds and arrives α seconds after that; α occupies nothing, and an empty
message still costs it. Links are full duplex; adding numbers up costs nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .chunks import ChunkList, parts
from .cut import sizes
from .lockstep import Transport, lock_step
from .swap import Swap, unbind


@dataclass(frozen=True)
class Network:
    """`size` ranks, each with one link: `bandwidth` bytes/s per direction, `latency` seconds.

    Any kind of number does; with `fractions.Fraction` the prices are exact.

    Raises:
        ValueError: a size below 1, a bandwidth of 0 or less, a negative latency.
    """

    size: int
    bandwidth: Any
    latency: Any

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size is {self.size}; it must be at least 1 rank")
        if not self.bandwidth > 0:
            raise ValueError(f"bandwidth is {self.bandwidth}; it must be above 0 bytes/s")
        if not self.latency >= 0:
            raise ValueError(f"latency is {self.latency}; it must be 0 seconds or more")


def price(program: Callable, nbytes: int, network: Network, **options: Any) -> Any:
    """The time in seconds until the last rank has finished `program` on an array of `nbytes`.

    Args:
        program: a rank program marked by `collective`.
        nbytes: the size of the whole array, cut into chunks as `numpy.array_split` does.
        network: how many ranks, and how their links are.
        options: passed on to the program.

    Raises:
        ProtocolError: the ranks do not fit together.
        ValueError: a number of bytes that is negative or not whole.
    """
    size = network.size
    marked, options = unbind(program, options)
    cut = sizes(nbytes, marked.pieces(size))
    clock = _Clock(network)
    programs = [marked(rank, size, ChunkList(map(_Bytes, cut)), **options) for rank in range(size)]
    lock_step(programs, clock)
    return max(clock.now)


class _Bytes:
    """A chunk of which only the size is left."""

    dtype = "bytes"

    def __init__(self, nbytes: int):
        self.shape = (nbytes,)

    def __add__(self, other: "_Bytes") -> "_Bytes":
        return self


class _Clock(Transport):
    """Where every rank and every incoming link is in time."""

    def __init__(self, network: Network):
        self.network = network
        self.now = [0] * network.size  # when each rank can go on
        self.posted = [0] * network.size  # when each rank offered its open swap
        self.in_free = [0] * network.size  # when each incoming link is free

    def carry(self, step: int, source: int, swap: Swap) -> Any:
        to: int = swap.to  # type: ignore[assignment]  # lock_step carries what has a receiver
        nbytes = sum(part.shape[0] for part in parts(swap.payload))
        start = max(self.posted[source], self.in_free[to])
        end = start + nbytes / self.network.bandwidth
        self.in_free[to] = end
        # A rank goes on only when its message has left, so its outgoing link is free by then.
        self.now[source] = max(self.now[source], end)
        self.now[to] = max(self.now[to], end + self.network.latency)
        return swap.payload

    def went_on(self, rank: int) -> None:
        self.posted[rank] = self.now[rank]


def all_reduce_time(
    nbytes: float, size: int, bandwidth: float, latency: float, algorithm: str = "ring"
) -> float:
    """Closed form of the time of an all-reduce, in seconds.

    The ring takes 2(p-1)(α + n/p/B), the parameter server 2(p-1)n/B + 2α; one rank takes 0. The
    priced programs agree exactly where p divides n.

    Args:
        nbytes: the size of the array in bytes; need not be whole.
        size: the number of ranks p.
        bandwidth: bytes/s of each link, per direction.
        latency: seconds per message.
        algorithm: `"ring"` or `"ps"`, the parameter server.

    Raises:
        ValueError: an unknown algorithm, or a number out of range.
    """
    Network(size, bandwidth, latency)
    if not nbytes >= 0:
        raise ValueError(f"nbytes is {nbytes}; it must be 0 or more")
    if algorithm not in ("ring", "ps"):
        raise ValueError(f'algorithm is {algorithm!r}; it must be "ring" or "ps"')
    if size == 1:
        return 0.0
    if algorithm == "ring":
        return 2 * (size - 1) * (latency + nbytes / (size * bandwidth))
    return 2 * (size - 1) * nbytes / bandwidth + 2 * latency
