"""The labs: what the judge says of a solution, and what a program's messages look like."""

from collections.abc import Callable
from typing import Any

from zerolit.exercises import Verdict, check
from zerolit.press import current, result


def judged(name: str, solution: Callable) -> str:
    """The verdict on an exercise's solution, as a quotation in the page's language."""
    verdict = check(name, solution)
    result(f"{name}.verdict", verdict.kind)
    return f"> {verdict.sentence(current().language)}"


def shown(value: Any) -> str:
    """What a notebook would show of a cell's last expression, for a page."""
    if isinstance(value, Verdict):
        return f"> {value.sentence(current().language)}"
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    return f"```text\n{value}\n```"
