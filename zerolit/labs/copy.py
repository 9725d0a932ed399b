"""Put a lab's notebook where the reader works, and open it."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from .lab import read_lab
from .notebook import notebook


def copy_lab(name: str, language: str, folder: Path) -> Path:
    """Write the notebook of a lab into a folder; returns where it is.

    Raises:
        ValueError: there is no such lab, or a file of that name is there already.
    """
    text, path = notebook(read_lab(name, language)), folder / f"{name}.ipynb"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ValueError(
            f"{path} is there already, with your work; it is not overwritten. To go on with it: "
            f"jupyter lab {path.name}"
        ) from None
    return path


def open_lab(path: Path) -> bool:
    """Open a notebook in JupyterLab, until that is closed; False where it is not installed."""
    if find_spec("jupyterlab") is None:
        return False
    subprocess.run([sys.executable, "-m", "jupyterlab", str(path)], check=False)
    return True
