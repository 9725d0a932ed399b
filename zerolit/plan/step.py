"""What a card computes and what its link carries during one training step, moment by moment."""

from dataclasses import dataclass, replace

from .training import Training


@dataclass(frozen=True)
class Span:
    """Something that takes from `start` to `end`, in seconds after the step began.

    Attributes:
        name: `"forward"`, `"backward"` or `"ring"`.
    """

    name: str
    start: float
    end: float


def one_after_the_other(training: Training, ranks: int) -> list[Span]:
    """Compute, then all-reduce: nothing overlaps."""
    return with_buckets(training, ranks, buckets=1)


def with_buckets(training: Training, ranks: int, buckets: int) -> list[Span]:
    """The gradients in `buckets` equal parts, each sent by a ring of its own once it is there.

    A bucket is there when its share of the backward pass is over; the rings queue for the link.
    With many buckets the ring starts with the backward pass, but each bucket pays the latency of
    a whole ring.

    Raises:
        ValueError: less than one bucket.
    """
    if buckets < 1:
        raise ValueError(f"buckets is {buckets}; it must be at least 1")
    forward = training.compute(ranks) / 3
    each = 2 * training.compute(ranks) / 3 / buckets
    ring = replace(training, params=training.params / buckets).communicate(ranks)
    spans, free = [Span("forward", 0, forward)], 0.0
    for bucket in range(buckets):
        ready = forward + (bucket + 1) * each
        start = max(ready, free)
        free = start + ring
        spans += [Span("backward", ready - each, ready), Span("ring", start, free)]
    return spans


def perfect(training: Training, ranks: int) -> list[Span]:
    """All of the compute hides the ring, as if gradients were there before they are computed."""
    forward, compute = training.compute(ranks) / 3, training.compute(ranks)
    ring = Span("ring", 0, training.communicate(ranks))
    return [Span("forward", 0, forward), Span("backward", forward, compute), ring]


def seconds(spans: list[Span]) -> float:
    """How long the step takes."""
    return max(span.end for span in spans)
