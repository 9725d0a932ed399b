"""Prove a collective for a given number of ranks: run it on who contributed, not on numbers.

A chunk becomes the ranks whose share is in it, each once or more. A sum that holds a rank twice, or
a finished array that lacks one, shows whatever the numbers are. (Values that carry their
provenance: srush/LLM-Training-Puzzles. Here a rank may be in twice, so that counting twice fails.)
Whether a program is right is decided by what its ranks hold at the end; where it first went wrong,
by what was noted on the way.
"""

import inspect
from collections.abc import Callable
from typing import Any

from .shares import told
from .swap import ProofError, unbind
from .verdict import Proof, Verdict
from .watch import Watch


def prove(program: Callable, size: int, budget: int | None = None, **options: Any) -> Proof:
    """Show that `program` does what it promises on `size` ranks, whatever the numbers are.

    Args:
        program: a rank program marked by `collective`.
        size: the number of ranks.
        budget: how many messages it may send in all; by default 2·p²·(chunks + 8), several times
            what it takes to send every chunk from every rank to every other.
        options: passed on to the program.

    Raises:
        ProofError: the program breaks a rule or misses its goal; `verdict` says what is wrong and
            where, as data.
        ValueError: a size below 1.
    """
    verdict = examine(program, size, budget, **options)
    if verdict.proof is None:
        raise ProofError(verdict)
    return verdict.proof


def examine(program: Any, size: int, budget: int | None = None, **options: Any) -> Verdict:
    """The same as data: the verdict on `program`, right or wrong, never an error of its own.

    Code that computes for ever cannot be stopped from inside; `judge` can.

    Raises:
        ValueError: a size below 1.
    """
    if size < 1:
        raise ValueError(f"a proof for {size} ranks was asked for; size must be at least 1")
    marked, options = unbind(program, options)
    return flaw(marked, size, options) or Watch(marked, size, options, budget).run()


def flaw(program: Any, size: int, options: dict[str, Any]) -> Verdict | None:
    """What is wrong before anything runs."""
    if not callable(program) or not hasattr(program, "goal"):
        return Verdict("unmarked", size, what={"got": told(program)})
    try:
        inspect.signature(program, follow_wrapped=False).bind(0, size, None, **options)
    except TypeError as error:
        return Verdict("signature", size, what={"error": str(error)})
    try:
        pieces: Any = program.pieces(size)
    except Exception as error:
        pieces = error
    if type(pieces) is not int or pieces < 1:
        return Verdict("pieces", size, what={"got": told(pieces)})
    return None
