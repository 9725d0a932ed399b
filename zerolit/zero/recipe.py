"""How to train: everything but the stage and the number of ranks that the bits depend on."""

from dataclasses import dataclass

import torch

from .layout import CUTS

UNITS = ("block", "model")
DIVIDE = ("loss", "before", "after")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a run adds up, divides and updates.

    Attributes:
        accumulate: micro-batches per step, G.
        clip: the largest global norm of the gradient, or None.
        units: what is flattened into one vector: the embedding, each "block" and the head, or the
            whole "model". The ring cuts, and so adds up, differently.
        cut: how a vector is cut among the ranks, "flat" or by "rows"; see `Layout`.
        direction: of the ring: 1 to the right, -1 to the left, as gloo's runs.
        divide: where gradients are divided by the token count: in the "loss", "before" the sum over
            ranks (as DDP does) or "after" it (as FSDP2 does on gloo).
        master_dtype: of the gradients' sum and of the update, and so of m, v and the parameters
            that are updated; None is the model's own.
        lr: AdamW's learning rate, above 0.
        wd: its weight decay, 0 or more.

    Raises:
        ValueError: a value that is none of these.
    """

    accumulate: int = 1
    clip: float | None = None
    units: str = "block"
    cut: str = "flat"
    direction: int = 1
    divide: str = "loss"
    master_dtype: torch.dtype | None = None
    lr: float = 3e-3
    wd: float = 0.1

    def __post_init__(self) -> None:
        for name, allowed in (("units", UNITS), ("cut", CUTS), ("divide", DIVIDE)):
            if (given := getattr(self, name)) not in allowed:
                raise ValueError(f"{name} is {given!r}; it must be one of {', '.join(allowed)}")
        if self.direction not in (1, -1):
            raise ValueError(f"direction is {self.direction}; it must be 1 or -1")
        if self.accumulate < 1:
            raise ValueError(f"accumulate is {self.accumulate}; it must be at least 1")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip is {self.clip}; it must be above 0, or None")
        if not self.lr > 0:
            raise ValueError(f"lr is {self.lr}; it must be above 0")
        if not self.wd >= 0:
            raise ValueError(f"wd is {self.wd}; it must be 0 or more")


DEFAULT = Recipe()
