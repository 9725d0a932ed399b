"""What a lab's file says: prose, exercises, and cells of code, in their order."""

import re
from dataclasses import dataclass
from importlib.resources import files

from zerolit.exercises import Exercise, find

LABS = ("lab-ring", "lab-wall", "lab-zero", "lab-stages", "lab-processes", "lab-break")
_CELL = re.compile(
    r"^<!-- exercise: (?P<exercise>[\w-]+) -->$"
    r"|^```python (?P<id>[\w-]+)\n(?P<code>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Prose:
    """Markdown."""

    text: str


@dataclass(frozen=True)
class Code:
    """A cell that is the same in both languages; a notebook's `display` is a page's `print`."""

    id: str
    text: str


@dataclass(frozen=True)
class Task:
    """The place of an exercise."""

    exercise: Exercise


@dataclass(frozen=True)
class Lab:
    """One lab in one language."""

    name: str
    language: str
    cells: list[Prose | Code | Task]

    @property
    def title(self) -> str:
        """Its first heading, without the id."""
        return re.sub(r"^# | *\{.*?\}", "", self.front[1].split("\n")[0])

    @property
    def minutes(self) -> int:
        """About how long it takes."""
        return int(re.search(r"^minutes: (\d+)$", self.front[0], re.M)[1])  # type: ignore[index]

    @property
    def front(self) -> tuple[str, str]:
        """The front matter, and the text up to the first cell."""
        first = self.cells[0].text  # type: ignore[union-attr]
        _, meta, text = first.split("---\n", 2)
        return meta, text.strip()


def read_lab(name: str, language: str) -> Lab:
    """The lab of this name, one of `LABS`, in `"en"` or `"zh"`.

    Raises:
        ValueError: there is none.
    """
    if name not in LABS:
        raise ValueError(f"lab is {name!r}; it must be one of {', '.join(LABS)}")
    file = files(__package__) / language / f"{name}.md"
    return Lab(name, language, list(_cells(file.read_text(encoding="utf-8"))))


def _cells(text: str):
    start = text.index("</div>\n") + len("</div>\n")  # the summary is a cell of its own
    yield Prose(text[:start].strip())
    for match in _CELL.finditer(text):
        if prose := text[start : match.start()].strip():
            yield Prose(prose)
        start = match.end()
        if match["exercise"]:
            yield Task(find(match["exercise"]))
        else:
            yield Code(match["id"], match["code"].strip())
    if prose := text[start:].strip():
        yield Prose(prose)
