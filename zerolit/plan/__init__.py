"""Formulas: how long a training step takes as cards are added."""

from . import memory as memory
from .step import Span, one_after_the_other, perfect, seconds, with_buckets
from .training import Overlap, Training

__all__ = [
    "Overlap",
    "Span",
    "Training",
    "one_after_the_other",
    "perfect",
    "seconds",
    "with_buckets",
]
