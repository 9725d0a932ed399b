"""Break it: sixteen bugs of real trackers, in the course's own code, and what gives each away."""

from .catalogue import BUGS, Bug, broken, diff, find
from .hidden import guess, hidden
from .observe import (
    CHECKS,
    STEPS,
    Observed,
    checks_in_words,
    observe,
    off_at_first,
    proved,
    seen_at,
    told_by,
)

__all__ = [
    "BUGS",
    "CHECKS",
    "STEPS",
    "Bug",
    "Observed",
    "broken",
    "checks_in_words",
    "diff",
    "find",
    "guess",
    "hidden",
    "observe",
    "off_at_first",
    "proved",
    "seen_at",
    "told_by",
]
