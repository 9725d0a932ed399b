"""The real site, built once; and a tiny one in two languages, to inject failures into."""

import pickle
import textwrap
from pathlib import Path

import pytest
from filelock import FileLock

from tests.press.browser import chromium
from zerolit.press.build import Built, build_into

ROOT = Path(__file__).resolve().parents[2]

PAGES = [
    "index",
    "ring-all-reduce",
    "traffic-and-time",
    "bigger-batch",
    "zero",
    "real-processes",
    "when-a-rank-dies",
    "order-of-the-sum",
    "your-own",
    "break-it",
    "lab-ring",
    "lab-wall",
    "lab-zero",
    "lab-stages",
    "lab-processes",
    "lab-break",
    "glossary",
    "where-next",
    "reproduce",
    "links",
    "reference",
]
ALL = [f"{folder}{page}.html" for page in PAGES for folder in ("", "zh/")]

ENGLISH = f"""
site_name: tiny
docs_dir: docs/en
site_dir: site
use_directory_urls: false
extra: {{seconds_per_page: 300}}
theme: {{name: material, language: en, font: false}}
hooks: ["{ROOT}/zerolit/press/hook.py"]
plugins:
  search: {{}}
  markdown-exec: {{}}
markdown_extensions:
  attr_list: {{}}
  pymdownx.snippets: {{check_paths: true}}
  pymdownx.superfences: {{}}
validation:
  links: {{anchors: warn, not_found: warn, absolute_links: warn, unrecognized_links: warn}}
"""
CHINESE = "INHERIT: ../mkdocs.yml\ndocs_dir: zh\nsite_dir: ../site/zh\ntheme: {language: zh}\n"
GOOD = """
# Home { #home }

```python exec="true" id="sum" session="s"
from zerolit.book import result
print(f"**{result('tiny.sum', 1 + 1)}**")
```

The sum is {{ tiny.sum }}.
"""


class TinySite:
    """A folder with a site of one page; `write` changes or adds pages in both languages."""

    def __init__(self, root: Path):
        self.root = root
        (root / "docs").mkdir()
        (root / "mkdocs.yml").write_text(ENGLISH)
        (root / "docs" / "mkdocs.zh.yml").write_text(CHINESE)
        self.write(GOOD)

    def write(self, text: str, name: str = "index.md", languages=("en", "zh")) -> None:
        for language in languages:
            folder = self.root / "docs" / language
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(textwrap.dedent(text))

    def add(self, text: str) -> None:
        """Add to the good page, in both languages."""
        self.write(GOOD + "\n" + textwrap.dedent(text))

    def limit(self, seconds: int) -> None:
        """Let a page take no longer than this."""
        config = self.root / "mkdocs.yml"
        config.write_text(config.read_text().replace("page: 300", f"page: {seconds}"))

    def page(self, language: str = "en", name: str = "index.html") -> str:
        folder = self.root / "site" / ("zh" if language == "zh" else "")
        return (folder / name).read_text()


@pytest.fixture
def tiny(tmp_path: Path) -> TinySite:
    return TinySite(tmp_path)


@pytest.fixture(scope="session")
def built(tmp_path_factory, worker_id) -> tuple[Path, Built]:
    """The real site, built once for all workers, and what came of it."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent
    folder, told = shared / "built" / "site", shared / "built.pickle"
    with FileLock(shared / "built.lock"):
        if not told.exists():
            told.write_bytes(pickle.dumps(build_into(ROOT, folder)))
    return folder, pickle.loads(told.read_bytes())


@pytest.fixture(scope="session")
def site(built) -> Path:
    """Its folder."""
    return built[0]


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser
