"""Your own model, your own machines: the examples, run as a reader would run them."""

import subprocess
import sys
from functools import cache
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


@cache
def run_example(name: str) -> list[float]:
    """Run a program of `docs/examples` in a process of its own; the numbers that it prints.

    Raises:
        RuntimeError, TimeoutExpired: it fails, or takes more than five minutes.
    """
    command = [sys.executable, str(EXAMPLES / name)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if ran.returncode:
        raise RuntimeError(f"{name} exited with {ran.returncode}: {ran.stderr.strip()}")
    return [float(word) for word in ran.stdout.split()]
