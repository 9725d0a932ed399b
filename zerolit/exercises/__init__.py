"""Exercises: questions, a judge for what readers write, skeletons and solutions.

`check("reduce-scatter", my_function)` says whether it is right, or what is wrong first. Rank
programs go to the prover; what is stored and sent is counted; nothing is timed.
"""

from .catalogue import NAMES, find
from .check import check
from .exercise import Exercise, Verdict, speak, spoken

__all__ = ["NAMES", "Exercise", "Verdict", "check", "find", "speak", "spoken"]
