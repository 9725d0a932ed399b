"""The time of one data-parallel training step, by the α–β model."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from zerolit.comm import all_reduce_time

Overlap = float | Fraction


@dataclass(frozen=True)
class Training:
    """A model, a fixed global batch, and the cards and links it trains on.

    Attributes:
        params: number of parameters.
        tokens: tokens in the global batch, divided among the cards.
        flops: floating-point operations per second that one card reaches.
        bandwidth: bytes/s of each card's link, per direction.
        latency: seconds per message.
        gradient_bytes: bytes per gradient element on the wire.
    """

    params: float = 1.3e9
    tokens: float = 1e6
    flops: float = 156e12
    bandwidth: float = 12.5e9
    latency: float = 5e-6
    gradient_bytes: int = 2

    def compute(self, ranks: int) -> float:
        """Seconds of forward and backward on each of `ranks` cards: 6·params·tokens flops in all.

        6 per parameter and token: 2 forward, 4 backward (Kaplan et al., arXiv 2001.08361).
        """
        return 6 * self.params * self.tokens / (ranks * self.flops)

    def communicate(self, ranks: int, algorithm: str = "ring") -> float:
        """Seconds of one all-reduce of the gradients; `algorithm` as in `all_reduce_time`."""
        nbytes = self.gradient_bytes * self.params
        return all_reduce_time(nbytes, ranks, self.bandwidth, self.latency, algorithm)

    def share_out(self, ranks: int) -> float:
        """Seconds of one all-gather or reduce-scatter of the parameters: half an all-reduce."""
        return self.communicate(ranks) / 2

    def efficiency(self, ranks: int, overlap: Overlap = 0) -> float:
        """The share of a step spent computing.

        Args:
            ranks: the number of cards.
            overlap: the share of the compute under which the ring can hide: 0 for none, 2/3 for
                the backward pass, 1 for an upper bound that nothing reaches.
        """
        compute, ring = self.compute(ranks), self.communicate(ranks)
        hidden = float(overlap) * compute
        return compute / (compute - hidden + max(hidden, ring))

    def zero3_efficiency(self, ranks: int) -> float:
        """The share of a ZeRO-3 step spent computing, with all that can be hidden hidden.

        An all-gather hides under the forward pass, a third of the compute; another and the
        reduce-scatter under the backward pass, the other two thirds.
        """
        compute, once = self.compute(ranks), self.share_out(ranks)
        return compute / (max(compute / 3, once) + max(2 * compute / 3, 2 * once))

    def wall(self, overlap: Overlap = 1, algorithm: str = "ring") -> int:
        """The smallest number of cards at which the all-reduce no longer fits under the compute.

        Args:
            overlap: the share of the compute that can hide it: 2/3 for the backward pass.
            algorithm: as in `all_reduce_time`.

        Raises:
            ValueError: an overlap that is not above 0 and at most 1, or an unknown algorithm.
        """
        _check(overlap)
        return _first(
            lambda p: self.communicate(p, algorithm) > float(overlap) * self.compute(p),
        )

    def zero3_wall(self) -> int:
        """The smallest number of cards at which ZeRO-3's traffic sticks out of a pass.

        Both passes say the same: one all-gather against a third of the compute.
        """
        return _first(lambda p: self.share_out(p) > self.compute(p) / 3)

    def wall_without_latency(self, overlap: Overlap = 1) -> float:
        """Where the ring takes exactly as long as what hides it, were there no latency.

        2(p-1)/p · b·params/B = overlap · 6·params·tokens/(p·F), and so
        p = 1 + 3·overlap·tokens·B/(b·F), with b bytes per gradient: the parameters cancel.

        Raises:
            ValueError: an overlap that is not above 0 and at most 1.
        """
        _check(overlap)
        per_card = self.gradient_bytes * self.flops
        return 1 + 3 * float(overlap) * self.tokens * self.bandwidth / per_card

    def tokens_at_the_wall(self, overlap: Overlap = 1) -> float:
        """Tokens that a card needs in each step to hide a ring of many cards: b·F/(3·overlap·B).

        Raises:
            ValueError: an overlap that is not above 0 and at most 1.
        """
        _check(overlap)
        return self.gradient_bytes * self.flops / (3 * float(overlap) * self.bandwidth)


def _check(overlap: Overlap) -> None:
    if not 0 < overlap <= 1:
        raise ValueError(f"overlap is {overlap}; it must be above 0 and at most 1")


def _first(waits: Callable[[int], bool]) -> int:
    """The smallest number of cards that wait, given that more cards wait as well."""
    low, high = 1, 2
    while not waits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if waits(middle) else (middle, high)
    return high
