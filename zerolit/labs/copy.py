"""Put a lab's notebook where the reader works."""

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
        raise ValueError(f"{path} is there already; it is yours, and is not overwritten") from None
    return path
