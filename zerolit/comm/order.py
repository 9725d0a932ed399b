"""In which order a program adds up: run on symbols instead of numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .simulate import Chunks, simulate
from .swap import ProofError


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
    pieces = program.pieces(size)  # type: ignore[attr-defined]
    states = [Chunks([_symbol(rank) for _ in range(pieces)]) for rank in range(size)]
    simulate(partial(program, **options), states)
    told = {state[chunk % pieces][0].text for state in states}
    if len(told) > 1:
        raise ProofError(f"ranks end with different sums: {', '.join(sorted(told))}")
    (text,) = told
    return text[1:-1] if text.startswith("(") else text


def _symbol(rank: int) -> np.ndarray:
    symbol = np.empty(1, dtype=object)
    symbol[0] = Term(str(rank))
    return symbol
