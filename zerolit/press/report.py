"""The outcome of a check on one page, for a bug report."""

from pathlib import Path

from .build import Built
from .ledger import environment


def report(root: Path, built: Built | None, error: str = "") -> str:
    """Markdown: the environment, and what is not as the reference says, or why the check failed."""
    facts = [f"- {name}: {version}" for name, version in environment(root).items()]
    outcome = _outcome(built) if built else ["The check failed:", "", "```", error, "```"]
    return "\n".join(["# zerolit: report of a check", "", *facts, "", *outcome]) + "\n"


def _outcome(built: Built) -> list[str]:
    drift = [f"- {drift}" for drift in built.drift] or ["- nothing"]
    new = [f"- {address}" for address in built.unpublished] or ["- none"]
    return [
        f"{built.same} of {len(built.ledger)} results are as the reference says.",
        *("", "## Not as the reference says", "", *drift),
        *("", "## Places that were never published", "", *new),
    ]
