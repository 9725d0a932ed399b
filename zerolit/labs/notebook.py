"""The notebook of a lab: the questions, the exercises' skeletons, and the cells that judge them.

The format is nbformat 4.5 (nbformat.readthedocs.io): JSON with an id for each cell. Ids are made of
the cells' text, so that two builds give the same bytes.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from zerolit.exercises import Exercise
from zerolit.exercises.programs import source
from zerolit.exercises.texts import text_of

from .lab import LABS, Code, Lab, Prose, read_lab
from .words import say

_ID = re.compile(r" *\{ *#[\w-]+ *\}")  # of a heading
_BOX = re.compile(r"<div [^>]*markdown>\n|^</div>\n?", re.M)
_FOLD = re.compile(r'^\?\?\? \w+ "(.*)"\n((?:\n| {4}.*\n?)+)', re.M)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)(\{[^}]*\})?")  # within the site


def notebooks(language: str) -> dict[str, str]:
    """All notebooks in one language, by the names of their files: the site offers them."""
    return {f"{name}.ipynb": notebook(read_lab(name, language)) for name in LABS}


def notebook(lab: Lab, kind: str = "skeletons") -> str:
    """The notebook as JSON, to start from (`"skeletons"`) or solved (`"solutions"`)."""
    cells = [_code(f'from zerolit.exercises import check, speak\n\nspeak("{lab.language}")')]
    cells = [_prose(lab.front[1]), *cells]
    for cell in lab.cells[1:]:
        if isinstance(cell, Prose):
            cells.append(_prose(cell.text))
        elif isinstance(cell, Code):
            cells.append(_code(cell.text))
        else:
            cells += _task(lab.language, cell.exercise, kind)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    told = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(_with_ids(told), ensure_ascii=False, indent=1) + "\n"


def _task(language: str, exercise: Exercise, kind: str) -> Iterator[dict[str, Any]]:
    text = text_of(exercise, language)
    predict = say("predict", language) + text.predict
    yield _prose(f"## {exercise.number}. {text.title}\n\n{text.question}\n\n{predict}")
    yield _code(source(exercise, kind).strip())
    yield _code(f'check("{exercise.name}", {exercise.function})')
    folded = [_folded(say("hint", language, n=n), hint) for n, hint in enumerate(text.hints, 1)]
    solution = f"```python\n{source(exercise, 'solutions').strip()}\n```\n\n{text.point}"
    yield _prose("\n\n".join([*folded, _folded(say("solution", language), solution)]))


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _prose(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": _plain(text)}


def _plain(text: str) -> str:
    """Markdown as Jupyter knows it: without ids, the site's links, boxes and folds."""
    text = _FOLD.sub(lambda fold: _folded(fold[1], dedent(fold[2]).strip()) + "\n\n", text)
    return _BOX.sub("", _LINK.sub(r"\1", _ID.sub("", text)))


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text,
    }


def _with_ids(told: dict[str, Any]) -> dict[str, Any]:
    for number, cell in enumerate(told["cells"]):
        text = f"{number} {cell['source']}"
        cell["id"] = hashlib.sha256(text.encode()).hexdigest()[:12]
    return told
