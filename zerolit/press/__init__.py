"""How pages are run, checked, compared and published. It knows mkdocs, and nothing of rings."""

from .ledger import EXACT, MACHINE, rounding
from .page import current, result

__all__ = ["EXACT", "MACHINE", "current", "result", "rounding"]
