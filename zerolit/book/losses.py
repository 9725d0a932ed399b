"""Loss curves of a bug, with AdamW and with SGD, beside those of the right code."""

import math
from collections.abc import Iterable

from matplotlib.axes import Axes

from zerolit.breaks import observe

from .figure import FAINT, SERIES

OPTIMIZERS = {"adamw": (SERIES[0], "-"), "sgd": (SERIES[3], "--")}
NAMES = {"adamw": "AdamW", "sgd": "SGD"}
TOP = 4.0  # what climbs higher, or is no number, leaves the panel


def draw_losses(
    axes: Axes, name: str, label: str = "", optimizers: Iterable[str] = tuple(OPTIMIZERS)
) -> None:
    """A pair of curves with each optimizer; `label` begins their names in the ledger."""
    for optimizer in optimizers:
        colour, line = OPTIMIZERS[optimizer]
        for wrong, each in ((False, FAINT), (True, colour)):
            losses = observe(name, optimizer, wrong).losses
            shown = [loss if math.isfinite(loss) else TOP + 1 for loss in losses]
            which = "wrong" if wrong else "right"
            gid = f"{label or name}-{optimizer}-{which}"
            axes.plot(range(1, len(shown) + 1), shown, color=each, ls=line, lw=1.5, gid=gid)
    axes.set(ylim=(2.5, TOP), xlim=(1, len(shown)), yticks=(3, 4))
