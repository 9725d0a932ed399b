"""Break it: sixteen bugs of real trackers, in the course's own code, and what gives each away."""

from .catalogue import BUGS, Bug, broken, find
from .observe import CHECKS, STEPS, Observed, observe, off_at_first, seen_at, told_by

__all__ = [
    "BUGS",
    "CHECKS",
    "STEPS",
    "Bug",
    "Observed",
    "broken",
    "find",
    "observe",
    "off_at_first",
    "seen_at",
    "told_by",
]
