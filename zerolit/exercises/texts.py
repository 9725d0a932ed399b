"""The words of the exercises: title, question, prediction, hints and point, in both languages."""

import re
from dataclasses import dataclass
from importlib.resources import files

from .exercise import Exercise

_PARTS = ("question", "predict", "hint 1", "hint 2", "point")
_HEAD = re.compile(r"^## ([a-z0-9 ]+)\n", re.M)


@dataclass(frozen=True)
class Text:
    """What is told of an exercise, as Markdown.

    Attributes:
        predict: what to write down before the first line of code.
        hints: they open one after the other.
        point: what the solution shows, in one sentence.
    """

    title: str
    question: str
    predict: str
    hints: tuple[str, str]
    point: str


def text_of(exercise: Exercise, language: str) -> Text:
    """The words of an exercise in `"en"` or `"zh"`.

    Raises:
        ValueError: a part is missing, or there is one too many.
    """
    file = files(__package__) / "texts" / language / f"{exercise.name}.md"
    title, *rest = _HEAD.split(file.read_text(encoding="utf-8"))
    parts = dict(zip(rest[::2], map(str.strip, rest[1::2]), strict=True))
    if tuple(parts) != _PARTS:
        raise ValueError(f"{file.name} has {', '.join(parts)}; it must have {', '.join(_PARTS)}")
    question, predict, first, second, point = parts.values()
    return Text(title.removeprefix("# ").strip(), question, predict, (first, second), point)
