"""How tests are shared out among workers that run side by side."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker a core: more threads wait for one another

# What takes longest begins first: two builds on one worker, processes on another.
ORDER = ("test_two_builds", "tests/engine/", "test_pages.py", "test_web.py", "")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A file's tests share what they have trained, so one worker has them; and engine's cores."""
    items.sort(key=lambda item: next(i for i, part in enumerate(ORDER) if part in item.nodeid))
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            file = item.nodeid.split("::")[0]
            group = "engine" if "tests/engine/" in file else file
            item.add_marker(pytest.mark.xdist_group(group))
