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
from .watch import Watch, holds, told_error

MOST = 1000  # chunks for each rank; more would only fill the memory


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
    except (TypeError, ValueError) as error:
        return Verdict("signature", size, what={"error": told_error(error)})
    return _bad_pieces(program, size) or _bad_start(program, size, options)


def _bad_pieces(program: Any, size: int) -> Verdict | None:
    try:
        pieces: Any = program.pieces(size)
    except (Exception, SystemExit) as error:
        return Verdict("pieces", size, what={"got": told_error(error), "most": MOST * size})
    if type(pieces) is not int or not 1 <= pieces <= MOST * size:
        return Verdict("pieces", size, what={"got": told(pieces), "most": MOST * size})
    return None


def _bad_start(program: Any, size: int, options: dict[str, Any]) -> Verdict | None:
    """A root that is no rank, or chunks that are not with one rank each when a gather begins."""
    root = program.root
    if program.goal in ("broadcast", "reduce") and root not in range(size):
        return Verdict("root", size, what={"got": told(root)})
    if program.goal != "all_gather":
        return None
    try:
        held = [chunk for rank in range(size) for chunk in holds(program, rank, size, options)]
    except (Exception, SystemExit) as error:
        return Verdict("holds", size, what={"error": told_error(error)})
    for chunk in range(program.pieces(size)):
        if held.count(chunk) != 1:
            return Verdict("start", size, chunk=chunk, what={"count": held.count(chunk)})
    return None
