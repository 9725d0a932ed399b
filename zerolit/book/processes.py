"""Trainings on real processes that several pages show, kept while the process lives; see `runs`."""

from functools import cache

from zerolit import engine
from zerolit.engine import stock
from zerolit.zero import Run

TIMEOUT = 30.0  # seconds that a rank may wait for another


@cache
def real(stage: int, size: int, steps: int, **recipe) -> Run:
    """Train by one of our stages."""
    return engine.train(stage, size, steps, timeout=TIMEOUT, **recipe)


@cache
def pytorch(which: str, size: int, steps: int) -> list[stock.Trained]:
    """Train by PyTorch's own; `which` is its name in `zerolit.engine.stock.STOCK`."""
    return stock.train(which, size, steps, timeout=TIMEOUT)
