"""In which order a program adds up: run on symbols instead of numbers."""

from collections.abc import Callable
from typing import Any

from .chunks import Chunks, Symbol
from .simulate import simulate
from .swap import ProofError, unbind


class Term:
    """A rank's share, or a sum of two terms, which remembers what was added to what."""

    def __init__(self, text: str):
        self.text = text

    def __add__(self, other: "Term") -> "Term":
        return Term(f"({self.text}+{other.text})")


def order_of_sum(program: Callable, size: int, chunk: int = 0, **options: Any) -> str:
    """How the sum of one chunk comes about, such as `0+(3+(2+1))`: numbers are ranks.

    Args:
        program: an all-reduce, marked by `collective`.
        options: passed on to it.

    Raises:
        ProofError: ranks whose sums of this chunk are of different orders, and so perhaps bits.
    """
    marked, options = unbind(program, options)
    pieces = marked.pieces(size)
    states = [Chunks(Symbol(Term(str(rank))) for _ in range(pieces)) for rank in range(size)]
    simulate(marked, states, **options)
    told = {state[chunk % pieces].value.text for state in states}
    if len(told) > 1:
        raise ProofError(f"ranks end with different sums: {', '.join(sorted(told))}")
    (text,) = told
    return text[1:-1] if text.startswith("(") else text
