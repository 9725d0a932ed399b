"""The time of one data-parallel training step, by the α–β model."""

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

    def wall(self, overlap: Overlap = 1) -> int:
        """The smallest number of cards at which the ring no longer fits under the compute.

        Raises:
            ValueError: an overlap that is not above 0 and at most 1.
        """
        if not 0 < overlap <= 1:
            raise ValueError(f"overlap is {overlap}; it must be above 0 and at most 1")
        low, high = 1, 2
        while self._fits(high, overlap):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._fits(middle, overlap) else (low, middle)
        return high

    def _fits(self, ranks: int, overlap: Overlap) -> bool:
        return self.communicate(ranks) <= float(overlap) * self.compute(ranks)
