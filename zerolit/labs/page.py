"""The site's page of a lab: its questions, and the solved cells folded behind them."""

from textwrap import indent

from zerolit.exercises import Exercise
from zerolit.exercises.programs import source
from zerolit.exercises.texts import text_of

from .lab import LABS, Code, Lab, Prose, Task, read_lab
from .words import say

_CHAPTERS = {  # as they are numbered
    "ring-all-reduce": "3.1",
    "traffic-and-time": "3.2",
    "bigger-batch": "3.3",
    "zero": "3.4",
    "when-a-rank-dies": "R.2",
    "order-of-the-sum": "R.3",
}
_HIDE = "  # markdown-exec: hide"


def page(language: str, name: str) -> str:
    """The Markdown of a lab's page, for the press to run and to render.

    Raises:
        ValueError: there is no such lab.
    """
    lab = read_lab(name, language)
    meta, text = lab.front
    facts = {"name": name, "n": LABS.index(name) + 1, "minutes": lab.minutes}
    opening = f"---\n{meta}---\n{text}\n\n{say('open', language, **facts)}"
    return "\n\n".join([opening, *(_cell(lab, cell) for cell in lab.cells[1:])]) + "\n"


def _cell(lab: Lab, cell: Prose | Code | Task) -> str:
    if isinstance(cell, Prose):
        return cell.text
    if isinstance(cell, Code):
        return _block(lab.name, cell.id, f"display = print{_HIDE}\n{cell.text}")
    return _task(lab, cell.exercise)


def _block(session: str, name: str, code: str) -> str:
    head = f'```python exec="true" id="{name}" session="{session}" source="above"'
    return f"{head}\n{code}\n```"


def _task(lab: Lab, exercise: Exercise) -> str:
    language, text = lab.language, text_of(exercise, lab.language)
    title = f"## {exercise.number}. {text.title} {{ #{exercise.name} }}"
    chapter = _CHAPTERS[exercise.place.split(".md")[0]]
    place = say("belongs", language, place=exercise.place, chapter=chapter)
    predict = say("predict", language) + text.predict
    code = f"{source(exercise, 'skeletons').strip()}\n\n{_asked(exercise)}"
    start = f"{say('start', language)}\n\n```python\n{code}\n```"
    hints = [
        _folded("tip", say("hint", language, n=n), hint) for n, hint in enumerate(text.hints, 1)
    ]
    solved = _folded("success", say("solution", language), _solved(lab, exercise, text.point))
    return "\n\n".join([title, text.question + place, predict, start, *hints, solved])


def _asked(exercise: Exercise) -> str:
    return f'check("{exercise.name}", {exercise.function})'


def _folded(kind: str, title: str, text: str) -> str:
    return f'??? {kind} "{title}"\n\n{indent(text, "    ")}'


def _solved(lab: Lab, exercise: Exercise, point: str) -> str:
    verdict = f'print(judged("{exercise.name}", {exercise.function})){_HIDE}'
    code = [source(exercise, "solutions").strip(), f"from zerolit.book.labs import judged{_HIDE}"]
    return (
        f"{_block(lab.name, f'{exercise.name}-solved', chr(10).join([*code, verdict]))}\n\n{point}"
    )
