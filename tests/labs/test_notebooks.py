"""Notebooks run where a reader opens them: from the wheel, outside the checkout, without mkdocs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from zerolit.exercises import NAMES
from zerolit.labs import LABS, copy_lab, notebook, read_lab
from zerolit.labs.lab import Task

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds a cell; only one that hangs takes them
RIGHT = {"en": "right: ", "zh": "正确："}


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """The wheel's contents in a folder, beside stubs that refuse what only the site needs."""
    source, folder = (tmp_path_factory.mktemp(name) for name in ("source", "installed"))
    shutil.copytree(ROOT / "zerolit", source / "zerolit")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(source), str(source)]
    subprocess.run([*pip, *wheel], check=True)
    (made,) = source.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder), made], check=True)
    for name in ("mkdocs", "material", "markdown_exec", "markdown"):
        (folder / f"{name}.py").write_text("raise ImportError('a reader has not installed this')\n")
    return folder


@pytest.fixture
def run(installed, tmp_path, monkeypatch):
    """Run a notebook in an empty folder; returns it with its outputs."""
    monkeypatch.setenv("PYTHONPATH", str(installed))

    def execute(text: str) -> nbformat.NotebookNode:
        book = nbformat.reads(text, as_version=4)
        nbformat.validate(book)
        where = nbformat.v4.new_code_cell("import zerolit; print(zerolit.__file__)")
        book.cells.insert(0, where)
        metadata = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(book, timeout=PATIENCE, resources=metadata).execute()
        assert _said(book.cells.pop(0)).startswith(str(installed))
        return book

    return execute


def _said(cell: nbformat.NotebookNode) -> str:
    """All that a cell printed or displayed."""
    parts = []
    for output in cell.outputs:
        parts += [output.text] if "text" in output else map(str, output.get("data", {}).values())
    return "\n".join(parts)


def _verdicts(book: nbformat.NotebookNode) -> list[str]:
    cells = (cell for cell in book.cells if cell.cell_type == "code")
    return [_said(cell) for cell in cells if cell.source.startswith("check(")]


def _exercises(name: str) -> list[str]:
    return [c.exercise.name for c in read_lab(name, "en").cells if isinstance(c, Task)]


@pytest.mark.parametrize("name", LABS)
def test_a_skeleton_runs_and_is_told_what_is_wrong(name, run):
    told = _verdicts(run(notebook(read_lab(name, "en"))))
    assert len(told) == len(_exercises(name))
    assert not any(RIGHT["en"] in verdict for verdict in told)


@pytest.mark.parametrize("name", LABS)
def test_the_solved_notebook_is_all_right(name, run):
    told = _verdicts(run(notebook(read_lab(name, "zh"), "solutions")))
    assert len(told) == len(_exercises(name))
    assert all(RIGHT["zh"] in verdict for verdict in told), told


def test_the_labs_have_every_exercise_once():
    assert sorted(name for lab in LABS for name in _exercises(lab)) == sorted(NAMES)


@pytest.mark.parametrize("name", LABS)
def test_both_languages_have_the_same_code_but_for_the_language(name):
    code = [
        [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        for text in (notebook(read_lab(name, language)) for language in ("en", "zh"))
    ]
    assert code[0][0].replace('speak("en")', 'speak("zh")') == code[1][0]
    assert code[0][1:] == code[1][1:]


@pytest.mark.parametrize("name", LABS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_of_the_sites_markup_is_left(name, language):
    cells = json.loads(notebook(read_lab(name, language)))["cells"]
    text = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    for mark in ("???", "{ #", "markdown>", "](", "{{", "<!--"):
        assert mark not in text.replace("](https://", ""), mark


def test_two_builds_give_the_same_bytes():
    lab = read_lab("lab-ring", "en")
    assert notebook(lab) == notebook(lab)


def test_a_lab_is_copied_once(tmp_path):
    path = copy_lab("lab-ring", "zh", tmp_path)
    assert path == tmp_path / "lab-ring.ipynb"
    assert path.read_text(encoding="utf-8") == notebook(read_lab("lab-ring", "zh"))
    path.write_text("my work")
    with pytest.raises(ValueError, match=r"lab-ring\.ipynb is there already, with your work"):
        copy_lab("lab-ring", "zh", tmp_path)
    assert path.read_text() == "my work"


def test_an_unknown_lab(tmp_path):
    with pytest.raises(ValueError, match="lab is 'lab-moon'; it must be one of lab-ring, "):
        copy_lab("lab-moon", "en", tmp_path)
