"""Faults of blocks and of the machine, injected: each is named, and the last good site is whole."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.press.test_gate import fails
from zerolit.cli import main
from zerolit.press.build import BuildFailed, build_site, check_site
from zerolit.press.ledger import REFERENCE
from zerolit.press.places import PUBLISHED

IMPORTS = """from zerolit.book.table import Column, Table
from zerolit.book.words import Words
caption, step = Words("Steps", "步"), Column("step", "d", "step", "步")
"""
TABLE = IMPORTS + "table = Table('ring-proofs', caption, [step], [(1,)])"
BLOCKS = {
    "hangs": ("while True: pass", "block 'b': PageTimeout: the page takes longer than 2 s"),
    "hangs and catches everything": (
        "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except Exception: pass",
        "block 'b': PageTimeout: the page takes longer than 2 s, the limit for a page",
    ),
    "prints no table": (
        TABLE + "\nfrom zerolit.book import result\nresult('b.n', 1)",
        "en/index.md: a block makes 'ring-proofs' and prints nothing of it",
    ),
    "does nothing": ("x = 1", "block 'b': PageError: it shows no source, prints nothing and names"),
    "names what another page has": (
        "from zerolit.book import result\nresult('two.n', 1)",
        "'two.n' is a result of index.md already",
    ),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that(tiny, name):
    code, told = BLOCKS[name]
    block = f'```python exec="true" id="b"\n{code}\n```\n'
    tiny.add(block)
    if name.startswith("names"):
        tiny.write(f"# Two {{ #two }}\n\n{block}", "two.md")
    if name.startswith("hangs"):
        only(tiny, block)
        tiny.limit(2)
    fails(tiny, told)


def test_a_block_that_leaves_python(tiny):
    tiny.add('```python exec="true" id="b"\nimport os\nos._exit(0)\n```')
    fails(tiny, "block 'b': SystemExit: 0")


def test_a_block_that_waits_for_a_thread_that_hangs(tiny):
    code = "import time\nfrom concurrent.futures import ThreadPoolExecutor"
    code += "\nwith ThreadPoolExecutor(1) as pool:\n    pool.submit(time.sleep, 120)"
    only(tiny, f'```python exec="true" id="b"\n{code}\n```')
    tiny.limit(2)
    start = time.monotonic()
    fails(tiny, "block 'b': PageTimeout: the page takes longer than 2 s")
    assert time.monotonic() - start < 90  # so the thread was still hanging


def only(tiny, block):
    """A page without another block, which might be the one that a busy machine is slow with."""
    tiny.write(f"# Home {{ #home }}\n\n{block}\n")


def test_a_result_that_only_english_gives(tiny):
    code = "from zerolit.press.page import current, result"
    code += "\nif current().language == 'en':\n    result('tiny.n', 1)\nprint(1)"
    tiny.add(f'```python exec="true" id="b"\n{code}\n```')
    fails(tiny, "zh/index.md: 'tiny.n' is not given when run again, for Chinese")


LATE = {
    "book.reproduce.statsu": "index.html: <!-- late: .*statsu --> cannot be filled in: .*'statsu'",
    "nobook.status": "cannot be filled in: No module named 'zerolit.nobook'",
    "book.reproduce.results nopage.md": "results of index.md are listed nowhere",
}


@pytest.mark.parametrize("due", LATE)
def test_a_late_comment_that_nobody_knows(tiny, due):
    tiny.add(f"<!-- late: zerolit.{due} -->")
    fails(tiny, LATE[due])


@pytest.mark.parametrize("code", ["1 / 0", "while True: pass", "raise SystemExit(0)"])
def test_the_command_says_so_and_exits_with_1(tiny, monkeypatch, capsys, code):
    build_site(tiny.root)
    only(tiny, f'```python exec="true" id="b"\n{code}\n```')
    tiny.limit(2)
    monkeypatch.chdir(tiny.root)
    assert main(["build"]) == 1
    told = capsys.readouterr().err
    assert "zerolit build: failed, the last site is untouched" in told and "block 'b'" in told
    assert "The sum is 2." in tiny.page()


def test_a_check_that_fails_reports_why(tiny, monkeypatch):
    tiny.add('```python exec="true" id="b"\n1 / 0\n```')
    monkeypatch.chdir(tiny.root)
    assert main(["check", "--report", "r.md"]) == 1
    assert "block 'b': ZeroDivisionError" in (tiny.root / "r.md").read_text()
    assert main(["check", "--report", "nowhere/r.md"]) == 2


def test_a_block_that_gives_another_result_when_it_is_run_again(tiny):
    code = "import builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1"
    code += "\nfrom zerolit.book import result\nresult('tiny.runs', builtins.runs)"
    tiny.add(f'```python exec="true" id="b"\n{code}\n```')
    fails(
        tiny,
        r"zh/index.md:\d+, block 'b': .*'tiny.runs' is \d+ when run again, for Chinese; it was",
    )


def test_a_cell_that_is_another_when_it_is_run_again(tiny):
    code = IMPORTS + "import random"
    code += "\nprint(Table('ring-proofs', caption, [step], [(random.getrandbits(60),)]))"
    tiny.add(f'```python exec="true" id="b"\n{code}\n```')
    fails(tiny, r"zh/index.md:\d+, block 'b': .*'ring-proofs.step' is .* when run again")


def test_a_page_that_loses_an_id(tiny):
    build_site(tiny.root, accept=True)
    tiny.write(Path(tiny.root / "docs/en/index.md").read_text().replace("#home", "#house"))
    with pytest.raises(BuildFailed, match=r"index.html#home: published once, gone now"):
        build_site(tiny.root)
    assert 'id="home"' in tiny.page() and not list(tiny.root.glob(".site-*"))


def test_a_table_that_is_gone_has_lost_its_id(tiny):
    block = '```python exec="true" id="b"\n' + TABLE + "\nprint(table)\n```"
    tiny.add(block)
    build_site(tiny.root, accept=True)
    tiny.add("")
    with pytest.raises(BuildFailed, match=r"index.html#ring-proofs: published once, gone now"):
        build_site(tiny.root)


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("mkdocs.utils.write_file", "No space left on device"),  # a page
        ("zerolit.press.ledger.write_build", "No space left on device"),
        ("tempfile.mkdtemp", "the site could not be written: .*No space left on device"),
    ],
)
def test_a_full_disk(tiny, monkeypatch, what, told):
    monkeypatch.setattr(what, full_disk)
    fails(tiny, told)


def test_a_full_disk_during_the_swap(tiny, monkeypatch):
    rename = Path.rename

    def fill_up(path, target):
        return full_disk() if path.name == "new" else rename(path, target)

    monkeypatch.setattr(Path, "rename", fill_up)
    fails(tiny, "the new site could not be put in place: .*No space left on device")


def test_two_builds_at_once(tiny):
    refused = []

    def build_another(_):
        with pytest.raises(BuildFailed, match=r"another build of .* is running; wait until"):
            check_site(tiny.root)
        refused.append(True)

    build_site(tiny.root, build_another)
    assert len(refused) == 2 and "The sum is 2." in tiny.page()
    build_site(tiny.root)  # the lock is gone with the first


def test_a_killed_build(tiny):
    """SIGKILL: nothing can be tidied up. The next build does it."""
    build_site(tiny.root)
    code = "import os, time\ntime.sleep(120 * ('HANG' in os.environ))\nprint(1)"
    tiny.add(f'```python exec="true" id="b"\n{code}\n```')
    command, hang = [sys.executable, "-m", "zerolit", "build"], {**os.environ, "HANG": "1"}
    killed = subprocess.Popen(command, cwd=tiny.root, env=hang, stderr=subprocess.DEVNULL)
    wait_for(lambda: list(tiny.root.glob(".site-*")))
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert "The sum is 2." in tiny.page()  # the last good site is whole
    assert list(tiny.root.glob(".site-*"))
    build_site(tiny.root)
    assert not list(tiny.root.glob(".site-*"))


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_build_killed_between_its_two_renames(tiny):
    build_site(tiny.root)
    left = tiny.root / ".site-left"
    left.mkdir()
    (tiny.root / "site").rename(left / "old")
    tiny.add("[there](nowhere.md)")
    with pytest.raises(BuildFailed, match="nowhere"):
        build_site(tiny.root)
    assert "The sum is 2." in tiny.page() and not left.exists()


def test_a_reference_that_is_no_ledger(tiny):
    (tiny.root / REFERENCE).write_text("{")
    fails(tiny, "ledger.json is not a ledger")


def test_the_reference_is_kept_when_accepting_fails(tiny, monkeypatch):
    build_site(tiny.root, accept=True)
    before = [(tiny.root / path).read_text() for path in (PUBLISHED, REFERENCE)]
    tiny.add("## More { #more }")
    rename = Path.rename

    def fill_up(path, target):
        return full_disk() if path.name == "new" else rename(path, target)

    monkeypatch.setattr(Path, "rename", fill_up)
    with pytest.raises(BuildFailed):
        build_site(tiny.root, accept=True)
    assert [(tiny.root / path).read_text() for path in (PUBLISHED, REFERENCE)] == before
