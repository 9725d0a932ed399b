"""What an exercise is, and what its judge says of a solution."""

import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from zerolit import comm

LANGUAGES = ("en", "zh")

# By kind: English, Chinese. What stands in braces is the verdict's `what`.
COMMON = {
    "prover": ("{prover}{advice}", "{prover}{advice}"),
    "alone": ("with 1 card: {prover}{advice}", "只有 1 张卡时：{prover}{advice}"),
    "no_function": (
        "{got} cannot be called; an exercise asks for a function, {takes}",
        "{got} 不能调用；练习要的是函数 {takes}",
    ),
    "signature": (
        "your function takes {got}; the exercise calls {takes}",
        "你的函数的参数是 {got}；练习调用的是 {takes}",
    ),
    "exception": ("line {line}: {error}", "第 {line} 行：{error}"),
    "generator": (
        "line {line}: {error}; is `yield from` missing before a call?",
        "第 {line} 行：{error}；调用前是否漏了 `yield from`？",
    ),
    "no_yield": (
        "the function returned {got}; a rank program says `yield from` or `yield` where it talks",
        "函数返回了 {got}；rank 程序在通信处要写 `yield from` 或 `yield`",
    ),
    "process": ("on real processes: {error}", "在真实进程上：{error}"),
    "below": (
        "the result is right, but on {size} ranks only {sent} numbers were sent, and {bound} is "
        "the least: something arrived that no message brought",
        "结果正确，但 {size} 个 rank 总共只发送了 {sent} 个数，而下界是 {bound}："
        "有内容不是由消息送来的",
    ),
    "timeout": (
        "stopped after {seconds} s, at line {line}: it computes on and on",
        "运行 {seconds} 秒后在第 {line} 行被停止：它一直在计算",
    ),
}


class Wrong(Exception):
    """What a judge found first.

    Args:
        kind: a key of the exercise's sentences.
        prover: what the prover said, where that is what is wrong.
        what: what the sentence says, by name.
    """

    def __init__(self, kind: str, prover: comm.Verdict | None = None, **what: Any):
        super().__init__(kind)
        self.kind, self.prover, self.what = kind, prover, what


@dataclass(frozen=True)
class Exercise:
    """A question with a judge.

    Attributes:
        number: 1 is the easiest.
        name: words joined by hyphens; with underscores, the name of the reader's function.
        takes: how that function is called.
        place: the paragraph that it belongs to, `page.md#section`.
        judge: raises `Wrong` with what is wrong first; returns what the praise says, by name.
        sentences: by kind, in English and in Chinese; "right" is the praise.
        advice: by the prover's kind, what follows its sentence.
        needs: the exercises whose functions it calls.
        engine: whether the solution runs on real processes, too.
    """

    number: int
    name: str
    takes: str
    place: str
    judge: Callable[..., dict[str, Any]]
    sentences: dict[str, tuple[str, str]]
    advice: dict[str, tuple[str, str]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    engine: bool = False

    @property
    def arguments(self) -> list[str]:
        """What the reader's function is called with."""
        return self.takes.rstrip(")").split("(")[1].split(", ")

    @property
    def function(self) -> str:
        """The name of the reader's function."""
        return self.name.replace("-", "_")


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a solution, or that it is right.

    Attributes:
        exercise: which one.
        kind: `"right"`, or what is wrong.
        what: what the sentence says, by name.
        prover: what the prover said, where that is what is wrong.
    """

    exercise: Exercise
    kind: str
    what: dict[str, Any] = field(default_factory=dict)
    prover: comm.Verdict | None = None

    @property
    def right(self) -> bool:
        """Whether the solution does what the exercise asks for."""
        return self.kind == "right"

    def sentence(self, language: str | None = None) -> str:
        """The verdict in one sentence, `"en"` or `"zh"`; by default in that of `speak`.

        Raises:
            ValueError: another language.
        """
        index = _index(language or _spoken)
        template = (COMMON | self.exercise.sentences)[self.kind][index]
        what = {
            name: value[index] if isinstance(value, tuple) else value
            for name, value in self.what.items()
        }
        return template.format_map(what | self._of_the_prover(index))

    def _of_the_prover(self, index: int) -> dict[str, str]:
        if self.prover is None:
            return {}
        advice = self.exercise.advice.get(self.prover.kind, ("", ""))[index]
        joined = advice and (": ", "：")[index] + advice
        return {"prover": self.prover.sentence(LANGUAGES[index]), "advice": joined}

    def __str__(self) -> str:
        return self.sentence()

    __repr__ = __str__  # what a notebook shows of its last line


_spoken = "en"


def speak(language: str) -> None:
    """Let verdicts be told in `"en"` or `"zh"` from now on.

    Raises:
        ValueError: another language.
    """
    global _spoken
    _index(language)
    _spoken = language


def spoken() -> str:
    """The language in which verdicts are told."""
    return _spoken


def _index(language: str) -> int:
    if language not in LANGUAGES:
        raise ValueError(f"language is {language!r}; it must be one of {', '.join(LANGUAGES)}")
    return LANGUAGES.index(language)


class TooLong(BaseException):
    """The time of a solution is over; no `except Exception` of its own can hold it up."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooLong` where the program stands when its time is over.

    It takes a signal, so it holds in a main thread; elsewhere nothing stops the program.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again: what is raised in a callback of the garbage collector goes no further.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def line_in(error: BaseException, solution: Callable) -> int | None:
    """The last line of the solution's file that the error came through."""
    code = getattr(solution, "__code__", None)
    steps = traceback.extract_tb(error.__traceback__)
    lines = [step.lineno for step in steps if code and step.filename == code.co_filename]
    return lines[-1] if lines else None
