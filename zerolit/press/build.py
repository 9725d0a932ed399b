"""Build the site aside and swap it in only when it is whole."""

import fcntl
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from . import ledger, places
from .ledger import Drift, Ledger
from .page import site

OnPage = Callable[[str], None]
DRAFT = "site-draft"  # never where the site is that gets published


class BuildFailed(Exception):
    """The site was not built; the message says which page, which block and why."""


@dataclass(frozen=True)
class Built:
    """What came of a build.

    Attributes:
        seconds: how long each page took.
        drift: the results that are not what the reference says.
        unpublished: places that the list of all that were ever published lacks.
        fresh: (page, block's id) of the blocks that ran: all, except in a draft.
        swapped: whether the new site is in its place.
    """

    seconds: dict[str, float]
    ledger: Ledger
    drift: list[Drift]
    unpublished: list[str]
    fresh: list[tuple[str, str]]
    swapped: bool = False

    @property
    def same(self) -> int:
        """How many results are as the reference says."""
        return len(self.ledger) - sum(drift.what != "vanished" for drift in self.drift)

    @property
    def differs(self) -> bool:
        """Whether a result or a place is not the reference's."""
        return bool(self.drift or self.unpublished)


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


def build_site(
    root: Path,
    on_page: OnPage | None = None,
    accept: bool = False,
    swap_on_drift: bool = True,
    url: str | None = None,
) -> Built:
    """Build both languages, strictly, and put them at `root/site`.

    Args:
        root: the folder of `mkdocs.yml`.
        on_page: called with each page's address as soon as its blocks have run.
        accept: make this build's results and places the reference.
        swap_on_drift: put a site in place even though some of its results or places are not the
            reference's.
        url: where the site will be, so that its pages name their addresses in both languages.

    Raises:
        BuildFailed: anything went wrong; `root/site` is what it was before.
    """
    with _scratch(root) as scratch:
        site.accept = accept
        built = build_into(root, scratch / "new", on_page, url)
        if built.differs and not (swap_on_drift or accept):
            return built
        try:
            _swap(scratch / "new", root / "site", scratch / "old")
        except OSError as error:
            raise BuildFailed(f"the new site could not be put in place: {error}") from error
        if accept:
            ledger.write_reference(root / ledger.REFERENCE, built.ledger)
            places.publish(root, built.unpublished)
        return replace(built, swapped=True)


def check_site(root: Path, on_page: OnPage | None = None) -> Built:
    """Run all blocks and compare, and leave `root/site` alone; raises as `build_site`."""
    with _scratch(root) as scratch:
        site.accept = False
        return build_into(root, scratch / "new", on_page)


@contextmanager
def _scratch(root: Path) -> Iterator[Path]:
    """A folder beside the site, for one build at a time; what a killed build left is put right."""
    descriptor = os.open(root, os.O_RDONLY)  # the lock goes with the process, however it ends
    if not _locked(descriptor):
        os.close(descriptor)
        raise BuildFailed(f"another build of {root} is running; wait until it has ended")
    try:
        _clean_up(root)
        scratch = Path(tempfile.mkdtemp(prefix=".site-", dir=root))
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise BuildFailed(f"the site could not be written: {error}") from error
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Take the lock; a killed build's worker may still hold it for the moment of its start."""
    end = time.monotonic() + 1
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() > end:
                return False
        time.sleep(0.02)


def _clean_up(root: Path) -> None:
    """Remove what a killed build left; if that was between the two renames, put the site back."""
    for left in root.glob(".site-*"):
        if (left / "old").exists() and not (root / "site").exists():
            (left / "old").rename(root / "site")
        shutil.rmtree(left, ignore_errors=True)


def build_draft(root: Path, on_page: OnPage | None = None) -> Built:
    """Build both languages at `root/site-draft`, running only what may have changed.

    Raises as `build_site`; `root/site` is left alone.
    """
    with _scratch(root) as scratch:
        site.accept = False
        built = build_into(root, scratch / "new", on_page, draft=True)
        _swap(scratch / "new", root / DRAFT, scratch / "old")
        return replace(built, swapped=True)


def build_into(
    root: Path,
    folder: Path,
    on_page: OnPage | None = None,
    url: str | None = None,
    draft: bool = False,
) -> Built:
    """Build both languages, strictly, into `folder`; raises as `build_site`."""
    site.draft = draft
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")  # Material's banner
    when = ledger.git(root, "log", "-1", "--format=%ct")
    if when:  # two builds of one commit are the same, whatever the day
        os.environ["SOURCE_DATE_EPOCH"] = when
    import jieba
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    jieba.setLogLevel("WARNING")  # it reports on its dictionary
    complaints = _Complaints()
    logger = logging.getLogger("mkdocs")
    logger.addHandler(complaints)
    try:
        file = str(root / "mkdocs.yml")
        config = load_config(file, strict=True, site_dir=str(folder), site_url=url)
        config.plugins.on_startup(command="build", dirty=False)
        site.on_page = on_page or (lambda _: None)
        build(config)
    except (Exception, SystemExit) as error:
        raise BuildFailed("\n".join([*complaints.lines, str(error)]).strip()) from error
    finally:
        site.draft = False
        logger.removeHandler(complaints)
    return Built(dict(site.seconds), site.ledger, site.drift or [], site.unpublished, site.fresh)


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
