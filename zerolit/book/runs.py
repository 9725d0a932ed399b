"""Trainings on simulated ranks that several pages show, and what is read off them.

Runs are kept while the process lives, so that the second page and the second language do not train
again.
"""

import os
from functools import cache, partial

from torch import Tensor

from zerolit import zero
from zerolit.press import rounding
from zerolit.zero import Run

THREADS = (os.cpu_count() or 1) + 1  # compute at once, so that no core idles; same bits
SMALL_TRAFFIC = {"tokens", "loss", "norm"}

# Another processor adds up in another order, as another number of cards does. What that does to a
# loss is in 3.3's table itself, below 1e-6; this leaves room for a hundred times as much. A
# difference of two runs is rounding, magnified: its size is reproducible, its value is not.
LOSS, GAP = "rel 0.0001", rounding(30)

train = cache(partial(zero.train, threads=THREADS))


def gap(one: Tensor, other: Tensor) -> float:
    """The largest difference of two vectors; 0 means: the same bits."""
    return (one - other).abs().max().item()


def sent(run: Run) -> int:
    """What the busiest card sent in a step, without the few numbers of loss, tokens and norm."""
    return max(
        sum(n for phase, n in counts.items() if phase not in SMALL_TRAFFIC) for counts in run.sent
    )
