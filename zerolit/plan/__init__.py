"""Formulas: how long a training step takes as cards are added."""

from .training import Overlap, Training

__all__ = ["Overlap", "Training"]
