"""The outcome of a check on one page, for a bug report."""

from pathlib import Path

from .build import Built
from .ledger import environment


def report(root: Path, built: Built) -> str:
    """Markdown: the environment, what drifted, and what is new."""
    facts = [f"- {name}: {version}" for name, version in environment(root).items()]
    same = len(built.ledger) - sum(drift.what != "vanished" for drift in built.drift)
    drift = [f"- {drift}" for drift in built.drift] or ["- nothing"]
    new = [f"- {address}" for address in built.unpublished] or ["- none"]
    lines = [
        "# zerolit: report of a check",
        "",
        f"{same} of {len(built.ledger)} results are as the reference says.",
        *("", "## Environment", "", *facts),
        *("", "## Not as the reference says", "", *drift),
        *("", "## Places that were never published", "", *new),
    ]
    return "\n".join(lines) + "\n"
