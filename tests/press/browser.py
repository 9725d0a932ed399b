"""Chromium for the tests that look at built pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

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
