"""Formulas: how long a training step takes as cards are added."""

from .training import Training

__all__ = ["Training"]
