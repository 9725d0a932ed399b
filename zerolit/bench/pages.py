"""The cold build, page by page; and the built pages, judged by Lighthouse."""

import json
import os
import shutil
import statistics
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from zerolit.press.build import build_into
from zerolit.press.serving import serving

from .measure import run_alone


def print_build(console: Console, root: Path) -> None:
    """The seconds of a cold build, and of each page's blocks.

    As multiples of `zerolit demo` in the same run. Pages run side by side, so that they add up to
    more than the whole.
    """
    demo = run_alone(["-m", "zerolit", "demo"]).seconds
    table = Table("what", "seconds", "× zerolit demo", caption=f"zerolit demo: {demo:.1f} s")
    with TemporaryDirectory() as folder, console.status("building"):
        start = time.perf_counter()
        built = build_into(root, Path(folder) / "site")
        whole = time.perf_counter() - start
    pages: dict[str, float] = defaultdict(float)
    for page, seconds in built.seconds.items():
        pages[page.partition("/")[2]] += seconds  # both languages
    for name, seconds in [("the whole", whole), *sorted(pages.items(), key=lambda p: -p[1])]:
        table.add_row(name, f"{seconds:.1f}", f"{seconds / demo:.2f}")
    console.print(table)


JUDGED = [f"{f}{page}.html" for page in ("index", "ring-all-reduce", "zero") for f in ("", "zh/")]


LIGHTHOUSE = "12.2.3"  # later ones want a newer Node


def print_pages(console: Console, site: Path) -> None:
    """Lighthouse's scores, of 100, of the built pages, sent compressed; its phone, its slow line.

    The first score measures time and is low on a busy machine; the medians are of three runs.

    Raises:
        ValueError: there is no site, no Chromium or no Lighthouse.
    """
    command = find_lighthouse(site)
    table = Table("page", "performance", "accessibility", "best practices", "SEO")
    with serving(site) as address:
        for page in JUDGED:
            with console.status(page):
                runs = [judge(command, address + page) for _ in range(3)]
            scores = (statistics.median(scores) for scores in zip(*runs, strict=True))
            table.add_row(page, *(f"{score:.0f}" for score in scores))
    console.print(table)


def find_lighthouse(site: Path) -> list[str]:
    """The command that runs it; raises as `print_pages`."""
    if not (site / "index.html").is_file():
        raise ValueError(f"no site in {site}; run `zerolit build` first")
    here = Path(__file__).resolve().parents[2] / ".ci" / "node_modules" / ".bin" / "lighthouse"
    command = shutil.which("lighthouse") or shutil.which(here)
    if command is None:
        install = "npm install --prefix .ci --no-save --no-package-lock --ignore-scripts"
        raise ValueError(f"no Lighthouse here; `{install} lighthouse@{LIGHTHOUSE}` fetches it")
    return [command]


def judge(command: list[str], address: str) -> list[float]:
    """One run's four scores.

    Raises:
        ValueError: Lighthouse fails; the message is what it says last.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or ""
    flags = ["--chrome-flags=--headless --no-sandbox", "--output=json", "--quiet"]
    run = subprocess.run(
        [*command, address, *flags],
        capture_output=True,
        text=True,
        env={**os.environ, "CHROME_PATH": chromium},
    )
    if run.returncode:
        raise ValueError(
            f"lighthouse {address}: {(run.stderr.strip() or 'no reason').splitlines()[-1]}"
        )
    return [100 * found["score"] for found in json.loads(run.stdout)["categories"].values()]
