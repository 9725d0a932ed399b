"""Drafts: what runs again after which change, what is never taken over, and `serve`."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.press.conftest import ROOT
from zerolit.press import run, store
from zerolit.press.build import build_draft, build_site
from zerolit.press.fences import read_fences
from zerolit.press.reach import Reach

PAGE = """
# {title} {{ #{id} }}

```python exec="true" id="{id}-first" session="s"
from zerolit.press import result
n = result("{id}.first", {n})
```

```python exec="true" id="{id}-second" session="s"
result("{id}.second", n + 1)
```

```python exec="true" id="{id}-plan" session="plan"
from zerolit.plan import Training
from zerolit.press import result
result("{id}.tokens", Training().tokens)
```

Prose of {title}: {{{{ {id}.first }}}}, {{{{ {id}.second }}}}.
"""


@pytest.fixture
def draft(tiny):
    """Two pages, built once; call it for the blocks that another draft runs, in English."""
    write(tiny, "one", "One", 1)
    write(tiny, "two", "Two", 10)

    def build():
        built = build_draft(tiny.root)
        english = {block for page, block in built.fresh if page.startswith("en/")}
        assert len(built.fresh) == 2 * len(english)  # in both languages, or in none
        return english

    assert len(build()) == 7
    assert build() == set()
    return build


def write(tiny, id, title, n, prose=""):
    tiny.write(PAGE.format(title=title, id=id, n=n) + prose, f"{id}.md")


def shown(tiny, name="one.html", folder="site-draft"):
    return (tiny.root / folder / name).read_text()


def test_after_a_change_of_prose_nothing_runs(tiny, draft):
    write(tiny, "one", "One", 1, "Another sentence.")
    assert draft() == set()
    assert "Another sentence." in shown(tiny) and "Prose of One: 1, 2." in shown(tiny)


def test_after_a_change_of_a_block_its_session_runs(tiny, draft):
    write(tiny, "one", "One", 5)
    assert draft() == {"one-first", "one-second"}  # which goes on with the first one's n
    assert "Prose of One: 5, 6." in shown(tiny)


def test_after_a_change_in_the_package_what_reaches_it_runs(tiny, draft, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "zerolit", copy / "zerolit", ignore=shutil.ignore_patterns("__pyc*"))
    for module in (run, store):
        monkeypatch.setattr(module, "PACKAGE", copy)
    assert draft() == set()  # the same texts elsewhere
    training = copy / "zerolit" / "plan" / "training.py"
    training.write_text(training.read_text().replace("tokens: float = 1e6", "tokens: float = 7"))
    assert draft() == {"one-plan", "two-plan"}
    assert build_draft(tiny.root).ledger["one.tokens"].value == 7


def test_after_a_change_of_versions_all_run(draft, monkeypatch):
    monkeypatch.setattr(store, "_versions", lambda: "another numpy")
    assert len(draft()) == 7


def entries(tiny):
    return sorted((tiny.root / store.FOLDER).glob("*.json"))


DAMAGE = {
    "half": lambda path: path.write_text(path.read_text()[:30]),
    "empty": lambda path: path.write_text(""),
    "binary": lambda path: path.write_bytes(b"\x80\x04\x95"),
    "a list": lambda path: path.write_text("[]"),
    "of another key": lambda path: path.write_text(
        path.read_text().replace('"key": "', '"key": "0')
    ),
    "without output": lambda path: path.write_text(path.read_text().replace('"output"', '"input"')),
    "of other types": lambda path: path.write_text(
        path.read_text().replace('"output": "', '"output": 3, "made": ["')
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_computed_anew(tiny, draft, damage):
    before = [path.read_text() for path in entries(tiny)]
    assert len(before) == 14
    for path in entries(tiny):
        DAMAGE[damage](path)
    assert len(draft()) == 7
    assert [path.read_text() for path in entries(tiny)] == before


def poison(tiny):
    for path in entries(tiny):
        content = json.loads(path.read_text())
        content["results"] = {name: "666" for name in content["results"]}
        content["records"] = [[name, 666, *rest] for name, _, *rest in content["records"]]
        path.write_text(json.dumps(content))


def test_a_poisoned_store_never_reaches_what_is_published(tiny, draft):
    poison(tiny)
    assert draft() == set() and "Prose of One: 666, 666." in shown(tiny)  # a draft believes it
    built = build_site(tiny.root)
    assert len(built.fresh) == 14 and built.ledger["one.first"].value == 1
    assert "Prose of One: 1, 2." in shown(tiny, folder="site")
    poison(tiny)
    assert "666" not in shown(tiny, folder="site")


def test_a_draft_says_so_on_each_page_and_stays_beside_the_site(tiny, draft):
    assert not (tiny.root / "site").exists()
    build_site(tiny.root)
    for name in ("index.html", "one.html", "zh/two.html"):
        assert 'class="zl-draft"' in shown(tiny, name)
        assert "zl-draft" not in shown(tiny, name, "site").split("</head>")[1]


def test_the_store_is_bounded(tiny, draft):
    sizes = [path.stat().st_size for path in entries(tiny)]
    keeper = store.Store(tiny.root, limit=sum(sizes) // 2)
    keeper._drop()
    kept = [path.stat().st_size for path in entries(tiny)]
    assert 0 < sum(kept) <= sum(sizes) // 2
    assert len(draft()) > 0  # what was dropped


# Reach


@pytest.fixture
def package(tmp_path):
    files = {
        "p/__init__.py": "",
        "p/a.py": "from .b import x",
        "p/b.py": "def later():\n    import p.c",
        "p/c.py": "",
        "p/d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .c import y",
        "p/room/__init__.py": "",
        "p/room/e.py": "from .. import c\nfrom . import f",
        "p/room/f.py": "",
        "examples/run.py": "import p.d",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("code", "reached"),
    [
        ("import os", ""),
        ("import p", "p/__init__"),
        ("import p.a", "p/__init__ p/a p/b p/c"),
        ("from p.d import x", "p/__init__ p/d"),
        ("def f():\n    from p import d", "p/__init__ p/d"),
        ("from p.room import e", "p/__init__ p/room/__init__ p/room/e p/c p/room/f"),
        ("go('run.py')", "examples/run p/__init__ p/d"),
        ("go('../run.py')", ""),
    ],
)
def test_what_code_reaches(package, code, reached):
    found = Reach(package / "p", package / "examples").of(code)
    assert {path.relative_to(package).with_suffix("").as_posix() for path in found} == set(
        reached.split()
    )


@pytest.fixture(scope="module")
def reached():
    """Which files of the package the blocks of each real page reach."""
    reach = Reach(ROOT / "zerolit", ROOT / "docs/examples")
    found = {}
    for path in (ROOT / "docs" / "en").glob("*.md"):
        blocks = [fence.text for fence in read_fences(path.name, path.read_text()) if fence.runs]
        files = {file for block in blocks for file in reach.of(block)}
        found[path.stem] = {file.relative_to(ROOT).as_posix() for file in files}
    return found


@pytest.mark.parametrize(
    ("file", "pages"),
    [
        ("engine/watch.py", "order-of-the-sum real-processes when-a-rank-dies your-own"),
        ("plan/training.py", "index traffic-and-time zero"),  # home and 3.4 use its memory
        ("book/traffic_and_time.py", "traffic-and-time"),
        ("book/zero.py", "zero"),
        ("press/gate.py", ""),
    ],
)
def test_what_a_change_in_the_package_runs(reached, file, pages):
    assert {page for page in reached if f"zerolit/{file}" in reached[page]} == set(pages.split())


# Serve


class Served:
    """`mkdocs serve` of a tiny site, in a process of its own."""

    def __init__(self, root: Path, log: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{self.port}"]
        self.log = log
        self.process = subprocess.Popen(command, cwd=root, stderr=log.open("w"))

    def get(self, name: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{name}", timeout=60) as page:
            return page.read().decode()

    def wait(self, condition, seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except OSError:
                pass  # not yet there
            assert self.process.poll() is None and time.monotonic() < end, self.log.read_text()
            time.sleep(0.1)

    def last(self) -> str:
        """The last line about what was rendered again."""
        lines = [line for line in self.log.read_text().splitlines() if "rendered again" in line]
        return lines[-1].split("rendered again; ")[1] if lines else ""


@pytest.fixture
def served(tiny, tmp_path):
    write(tiny, "one", "One", 1)
    served = Served(tiny.root, tmp_path / "log")
    served.wait(lambda: "Prose of One: 1, 2." in served.get("one.html"))
    yield served
    served.process.terminate()
    served.process.wait()


def test_serve_shows_an_edit_and_runs_only_what_it_changes(tiny, served):
    assert 'class="zl-draft"' in served.get("one.html")
    write(tiny, "one", "One", 1, "More.")
    served.wait(lambda: "More." in served.get("one.html") and "More." in served.get("zh/one.html"))
    served.wait(lambda: served.last() == "blocks that ran: none")
    assert "en/one.md, zh/one.md rendered again" in served.log.read_text()
    write(tiny, "one", "One", 5, "More.")
    served.wait(lambda: "Prose of One: 5, 6." in served.get("zh/one.html"))
    ran = "en/one.md one-first, en/one.md one-second, zh/one.md one-first, zh/one.md one-second"
    served.wait(lambda: served.last() == f"blocks that ran: {ran}")


def test_serve_tells_an_error_and_keeps_the_last_good_pages(tiny, served):
    good = served.get("one.html").split("livereload(")[0]
    write(tiny, "one", "One", "1 / 0")
    told = "en/one.md:6, block 'one-first': ZeroDivisionError"
    served.wait(lambda: told in served.log.read_text())
    assert served.get("one.html").split("livereload(")[0] == good
    (tiny.root / "mkdocs.yml").write_text((tiny.root / "mkdocs.yml").read_text() + "\n# touched\n")
    served.wait(lambda: served.log.read_text().count(told) >= 2)  # the whole build fails, too
    assert served.get("one.html").split("livereload(")[0] == good
    write(tiny, "one", "One", 7)
    served.wait(lambda: "Prose of One: 7, 8." in served.get("one.html"))


def test_serve_builds_all_where_a_title_changes(tiny, served):
    write(tiny, "one", "Uno", 1)
    served.wait(lambda: "Uno" in served.get("index.html"))  # in the navigation
    served.wait(lambda: served.last() == "blocks that ran: none")
