"""Judge a reader's solution of an exercise."""

from contextlib import nullcontext
from inspect import signature
from typing import Any

from .catalogue import find
from .exercise import Exercise, TooLong, Verdict, Wrong, line_in, time_limit

SECONDS = 20.0  # for all sizes together; on real processes the launcher has limits of its own
ENGINES = ("simulated", "torch")


def check(name: str, solution: Any, engine: str = "simulated", seconds: float = SECONDS) -> Verdict:
    """The verdict on `solution`: right, or the first thing that is wrong.

    Args:
        name: of the exercise, one of `NAMES`.
        solution: the reader's function.
        engine: "simulated" ranks, or "torch": real processes of this machine.
        seconds: how long simulated ranks may take.

    Raises:
        ValueError: an unknown exercise or engine, or "torch" for an exercise that has no ranks.
    """
    exercise = find(name)
    _refuse_engine(exercise, engine)
    if not callable(solution):
        what = {"got": repr(solution), "takes": exercise.takes}
        return Verdict(exercise, "no_function", what)
    if (got := _other_signature(exercise, solution)) is not None:
        return Verdict(exercise, "signature", {"got": got, "takes": exercise.takes})
    on = {"engine": engine} if exercise.engine else {}
    limited = time_limit(seconds) if engine == "simulated" else nullcontext()
    try:
        with limited:
            return Verdict(exercise, "right", exercise.judge(solution, **on))
    except Wrong as wrong:
        return Verdict(exercise, wrong.kind, wrong.what, wrong.prover)
    except TooLong as error:
        line = line_in(error, solution)
        return Verdict(exercise, "timeout", {"seconds": f"{seconds:g}", "line": line})
    except Exception as error:
        line = line_in(error, solution)
        if line is None:  # the judge's own
            raise
        told = f"{type(error).__name__}: {error}"
        kind = "generator" if "'generator' object" in told else "exception"
        return Verdict(exercise, kind, {"line": line, "error": told})


def _other_signature(exercise: Exercise, solution: Any) -> str | None:
    """What the solution takes, if it cannot be called as the exercise does."""
    try:
        takes = signature(solution)
        takes.bind(*exercise.arguments)
    except TypeError:
        return str(takes)
    except ValueError:  # one of C's, which does not say what it takes
        return None
    return None


def _refuse_engine(exercise: Exercise, engine: str) -> None:
    allowed = ENGINES if exercise.engine else ENGINES[:1]
    if engine not in allowed:
        told = " or ".join(map(repr, allowed))
        raise ValueError(f"engine is {engine!r}; for {exercise.name} it must be {told}")
