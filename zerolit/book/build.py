"""Build the site aside and swap it in only when it is whole."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .page import site


class BuildFailed(Exception):
    """The site was not built; the message says which page, which block and why."""


def find_root(start: Path) -> Path:
    """The folder with the site's `mkdocs.yml`: `start`, one above it, or the package's own.

    Raises:
        BuildFailed: there is none.
    """
    for folder in (start, *start.parents, Path(__file__).resolve().parents[2]):
        if (folder / "mkdocs.yml").is_file() and (folder / "docs" / "mkdocs.zh.yml").is_file():
            return folder
    raise BuildFailed(f"no mkdocs.yml in {start} or above; run this in a checkout of zerolit")


def count_pages(root: Path) -> int:
    """How many pages both languages have."""
    return sum(1 for language in ("en", "zh") for _ in (root / "docs" / language).rglob("*.md"))


def build_site(root: Path, on_page: Callable[[str], None] | None = None) -> dict[str, float]:
    """Build both languages, strictly, and put them at `root/site`.

    Args:
        root: the folder of `mkdocs.yml`.
        on_page: called with each page's address as soon as its blocks have run.

    Returns:
        the seconds that each page took.

    Raises:
        BuildFailed: anything went wrong; `root/site` is what it was before.
    """
    scratch = Path(tempfile.mkdtemp(prefix=".site-", dir=root))
    try:
        seconds = build_into(root, scratch / "new", on_page)
        _swap(scratch / "new", root / "site", scratch / "old")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return seconds


def build_into(
    root: Path, folder: Path, on_page: Callable[[str], None] | None = None
) -> dict[str, float]:
    """Build both languages, strictly, into `folder`; otherwise as `build_site`."""
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")  # Material's banner
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    complaints = _Complaints()
    logger = logging.getLogger("mkdocs")
    logger.addHandler(complaints)
    try:
        config = load_config(str(root / "mkdocs.yml"), site_dir=str(folder), strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        site.on_page = on_page or site.on_page
        build(config)
    except (Exception, SystemExit) as error:
        raise BuildFailed("\n".join([*complaints.lines, str(error)]).strip()) from error
    finally:
        logger.removeHandler(complaints)
    return dict(site.seconds)


class _Complaints(logging.Handler):
    """Collects the warnings that make a strict build fail."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if (line := record.getMessage()) not in self.lines:
            self.lines.append(line)


def _swap(new: Path, site: Path, old: Path) -> None:
    """Two renames on one disk: there is no moment at which a half-written site can be seen."""
    if site.exists():
        site.rename(old)
    try:
        new.rename(site)
    except OSError:
        if old.exists():
            old.rename(site)
        raise
