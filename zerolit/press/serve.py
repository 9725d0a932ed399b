"""`mkdocs serve` and `zerolit serve`: an edit is on screen in seconds.

After a change of pages alone, only those and their twins are rendered again, with what the last
whole build left on the desk. Search, the late pages and the check of links wait for the next whole
build: when anything else changes, or by `zerolit build --draft`.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_exec import markdown_config
from mkdocs.commands import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException

from .blocks import run_blocks
from .fences import PageError
from .page import site
from .source import LANGUAGES, Source, check_all_twins, read_source

log = logging.getLogger("mkdocs.zerolit")


@dataclass
class Desk:
    """What pages are rendered with: the navigation; and configuration, files and theme."""

    nav: dict[str, Any] = field(default_factory=dict)
    rendered: dict[str, tuple[Any, Any, Any]] = field(default_factory=dict)


desk = Desk()


class Rebuild:
    """What `serve` does after a change; failing, it says why and leaves the last good pages."""

    def __init__(self, builder: Callable, config: Any) -> None:
        self.builder, self.config = builder, config
        self.seen = _files(site.root)

    def __call__(self) -> None:
        now = _files(site.root)
        changed = {path for path in {**self.seen, **now} if self.seen.get(path) != now.get(path)}
        self.seen = now
        try:
            sources = only_prose(changed)
            if sources is None:
                self._build_all()
            else:
                render_again(sources)
            ran = ", ".join(map(" ".join, site.fresh)) or "none"
            log.info("%s rendered again; blocks that ran: %s", ", ".join(sources or ["all"]), ran)
        except (MkDocsException, PageError, OSError, SystemExit) as error:
            log.error("%s\nThe last good pages stay until this is mended.", error)

    def _build_all(self) -> None:
        """Build the site aside, and swap it in when it is whole."""
        place = Path(self.config.site_dir)
        aside = tempfile.mkdtemp(prefix="mkdocs_")
        try:
            config = load_config(self.config.config_file_path, site_dir=aside)
            config.site_url = self.config.site_url
            self.builder(config)
            shutil.rmtree(place)
            Path(aside).rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _files(root: Path) -> dict[Path, tuple[int, int]]:
    """What is looked at for changes, with time and size."""
    found = [root / "mkdocs.yml"]
    for folder in (root / "docs", root / "zerolit"):
        found += [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    states = {path: os.stat(path) for path in found if path.is_file()}
    return {path: (state.st_mtime_ns, state.st_size) for path, state in states.items()}


def only_prose(changed: Iterable[Path]) -> dict[str, Source] | None:
    """The pages to render again, both languages of each; None if that is not enough.

    It is not if anything but known pages changed, or what other pages show of one: its title, its
    front matter. Nor for a page with parts that are filled in late, or come from docstrings.

    Raises:
        PageError: a page that cannot be read.
    """
    uris = []
    for path in changed:
        uri = _page_at(path)
        if uri is None:
            return None
        uris.append(uri)
    pages = [(language, uri) for uri in dict.fromkeys(uris) for language in LANGUAGES]
    sources = {"/".join(page): read_source(site.root, *page) for page in pages}
    check_all_twins(sources)
    known = ((source, site.sources[name]) for name, source in sources.items())
    alike = all((new.title, new.meta) == (old.title, old.meta) for new, old in known)
    return sources if sources and alike else None


def _page_at(path: Path) -> str | None:
    """The page whose file this is, if it is known and can be rendered alone."""
    docs = site.root / "docs"
    if docs not in path.parents or not path.is_file():
        return None
    name = path.relative_to(docs).as_posix()
    if name not in site.sources:
        return None
    text = path.read_text()
    return None if "<!-- late:" in text or "\n::: " in text else site.sources[name].uri


def render_again(sources: dict[str, Source]) -> None:
    """Render these pages alone, and write them once all are.

    Raises:
        PageError, MkDocsException: a page that fails.
    """
    run_blocks(site, sources)
    site.sources |= sources
    for name, entry in list(site.ledger.items()):
        if f"en/{entry.page}" in sources:
            del site.ledger[name]
    for step in (_populate, _write):
        for source in sources.values():
            step(source)


def _populate(source: Source) -> None:
    config, files, _ = desk.rendered[source.language]
    markdown_config.save(config.markdown_extensions, config.mdx_configs)  # reset after a build
    try:
        page = files.get_file_from_path(source.uri).page
        mkdocs_build._populate_page(page, config, files)
    finally:
        markdown_config.reset()


def _write(source: Source) -> None:
    config, files, env = desk.rendered[source.language]
    page, nav = files.get_file_from_path(source.uri).page, desk.nav[source.language]
    mkdocs_build._build_page(page, config, files.documentation_pages(), nav, env)
