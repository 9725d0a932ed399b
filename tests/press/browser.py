"""Chromium for the tests that look at built pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

PATIENCE = 180_000  # ms: a busy machine is slow, and only a page that is wrong waits in vain

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def lacks(reason: str) -> None:
    """Skip the test that needs what this machine lacks; in CI, fail it."""
    pytest.fail(reason) if os.environ.get("ZEROLIT_NO_SKIP") else pytest.skip(reason)


def web_tool(path: str) -> Path:
    """A file of the npm packages in `.ci/package.json`."""
    found = Path(__file__).resolve().parents[2] / ".ci" / "node_modules" / path
    if not found.is_file():
        lacks(f"no {path}: npm install --prefix .ci --no-package-lock --ignore-scripts")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; without one the test is skipped, but fails in CI."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        lacks("no chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A reader who comes for the first time."""
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    context.set_default_timeout(PATIENCE)
    return context


# Scripts and fonts are there, Material has chosen the scheme, and everything that it adds is added.
READY = """
() => document.readyState === "complete" && document.fonts.status === "loaded"
  && "mdColorMedia" in document.body.dataset && !("mdColorSwitching" in document.body.dataset)
  && [...document.querySelectorAll("pre > code")].every(
    (code) => code.parentElement.querySelector(".md-code__nav"))
  && [...document.querySelectorAll("article table:not([class])")].every(
    (table) => table.closest(".md-typeset__scrollwrap"))
"""


def open_page(page: Page, address: str) -> None:
    """Go there, and wait until a reader has all of it."""
    page.goto(address)
    page.wait_for_function(READY)
