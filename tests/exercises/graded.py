"""What readers write, and what each of them must be told."""

from dataclasses import dataclass

from zerolit.exercises import check, find, programs


@dataclass(frozen=True)
class Answer:
    """A wrong solution.

    Attributes:
        exercise: of which exercise.
        title: what is wrong, in a few words, for the test's name.
        text: the whole solution, or None where `old` and `new` say how it differs from ours.
        en, zh: the exact sentence that it gets.
    """

    exercise: str
    title: str
    en: str
    zh: str
    old: str = ""
    new: str = ""
    text: str | None = None

    def __str__(self) -> str:
        return f"{self.exercise}: {self.title}"

    @property
    def source(self) -> str:
        if self.text is not None:
            return self.text
        ours = programs.source(find(self.exercise), "solutions")
        assert ours.count(self.old) == 1, f"{self.old!r} is not once in the solution"
        return ours.replace(self.old, self.new)


def judged(exercise: str, text: str, engine: str = "simulated"):
    """The verdict on a text."""
    return check(exercise, programs.load(find(exercise), text), engine)


def skeleton(exercise: str) -> str:
    """What the reader starts from: it runs, and is wrong."""
    return programs.source(find(exercise), "skeletons")


def solution(exercise: str) -> str:
    """Ours."""
    return programs.source(find(exercise), "solutions")
