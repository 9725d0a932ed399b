"""Who may know whom: the house's rooms, and the book's chapters, by what their files import."""

import ast
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

import zerolit
from zerolit.press.fences import read_fences

PACKAGE = Path(zerolit.__file__).parent
PAGES = Path(__file__).parents[1] / "docs" / "en"
CHAPTERS = {page.stem.replace("-", "_") for page in PAGES.rglob("*.md")}
BOOK = {path.stem for path in (PACKAGE / "book").glob("*.py")}

KNOWS = {  # and itself
    "comm": set(),
    "gpt": set(),
    "plan": {"comm"},
    "press": set(),
    "zero": {"comm", "gpt"},
    "engine": {"zero", "comm", "gpt"},
    "breaks": {"comm", "gpt", "zero"},
    "exercises": {"comm", "gpt", "plan", "zero", "engine"},
    "labs": {"exercises"},
    "book": {"comm", "gpt", "plan", "press", "zero", "engine", "exercises", "breaks"},
    "bench": {"comm", "gpt", "press", "zero", "engine"},
}
ABOVE = {"cli", "__main__", "__init__"}  # who start things may know all


def imports(code: str, package: str = "") -> Iterator[str]:
    """What is imported anywhere in the code, by full names, each as deep as it is written."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{module}.{name.name}" for name in node.names)


def of_zerolit(names: Iterator[str]) -> list[list[str]]:
    """The parts after `zerolit.`: room, module, name."""
    return [name.split(".")[1:] for name in names if name.startswith("zerolit.")]


def known_by(path: Path) -> list[list[str]]:
    package = ".".join(["zerolit", *path.relative_to(PACKAGE).parts[:-1]])
    return of_zerolit(imports(path.read_text(), package))


def test_imports_are_found_however_they_are_written():
    code = (
        "import zerolit.zero.train\ndef later():\n    from . import ring\n    from .. import gpt\n"
    )
    code += "from ..plan.training import Training\nimport torch\n"
    found = of_zerolit(imports(code, "zerolit.comm"))
    expected = {"zero.train", "comm.ring", "gpt", "plan.training.Training"}
    assert {".".join(parts) for parts in found} == expected


def test_every_room_is_known():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(KNOWS)
    assert {path.stem for path in PACKAGE.glob("*.py")} == ABOVE


@pytest.mark.parametrize("room", KNOWS)
def test_a_room_knows_only_whom_it_may(room):
    for path in (PACKAGE / room).rglob("*.py"):
        known = {parts[0] for parts in known_by(path)}
        assert known <= KNOWS[room] | {room}, path


def chapters(known: list[list[str]]) -> set[str]:
    """Those whose module in the book is imported."""
    return {parts[1] for parts in known if parts[0] == "book" and parts[1:]} & CHAPTERS


@pytest.mark.parametrize("module", sorted(BOOK))
def test_a_module_of_the_book_knows_no_chapters_but_its_own(module):
    assert chapters(known_by(PACKAGE / "book" / f"{module}.py")) <= {module}


@pytest.mark.parametrize("page", sorted(PAGES.rglob("*.md")), ids=lambda page: page.stem)
def test_a_pages_blocks_know_no_chapters_but_their_own(page):
    fences = read_fences(page.name, page.read_text())
    code = [fence.text for fence in fences if fence.runs]
    known = [parts for text in code for parts in of_zerolit(imports(text))]
    assert chapters(known) <= {page.stem.replace("-", "_")}
