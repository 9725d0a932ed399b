"""What the pages print: tables, figures, named results, and the gate of the build."""

from .draw import efficiency_curve, home_discs, ring_steps, time_curve
from .ledger import rounding
from .page import result
from .table import Table

__all__ = [
    "Table",
    "efficiency_curve",
    "home_discs",
    "result",
    "ring_steps",
    "rounding",
    "time_curve",
]
