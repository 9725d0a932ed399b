"""Chromium for the tests that look at built pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; without one the test is skipped, but fails in CI."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        reason = "no chromium on this machine (Debian: apt-get install chromium)"
        pytest.fail(reason) if os.environ.get("ZEROLIT_NO_SKIP") else pytest.skip(reason)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
