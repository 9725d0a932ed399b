"""The settings of a training run, the same for simulated ranks, for processes, and PyTorch's own.

They are what `train` takes beside what is to be trained by: `train(3, 8, cut="rows")` trains by
ZeRO-3 with `Settings(8, cut="rows")`.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from . import checkpoint
from .recipe import Recipe
from .stages import STAGES
from .task import TINY_GPT, Task


@dataclass(frozen=True)
class Settings(Recipe):
    """How long to train what, on how many ranks; and, by name alone, the fields of `Recipe`.

    Attributes:
        size: how many ranks.
        steps: how many in all; a run that goes on from a checkpoint counts those before it.
        task: the model and its batches; see `tiny_gpt`.
        batch_size: sequences per step on all ranks together.
        save: the folder for a checkpoint after the last step, or None.
        resume: a checkpoint to go on from, or None.
        device: where the tensors are, "cpu" or "cuda".

    Raises:
        ValueError: no ranks, no steps, fewer sequences than micro-batches, a GPU that is not there,
            a recipe that cannot be, or a place where no checkpoint can be saved.
    """

    size: int = 4
    steps: int = 15
    task: Task = TINY_GPT
    batch_size: int = 32
    save: Path | None = None  # or a string, which becomes one; so does `resume`
    resume: Path | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1 or self.steps < 1:
            raise ValueError(f"size is {self.size}, steps {self.steps}; both must be at least 1")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("device is 'cuda', but torch finds no GPU on this machine")
        self._refuse_too_few_sequences()
        for name in ("save", "resume"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, Path(given))
        if self.save:
            checkpoint.refuse_place(self.save)

    def _refuse_too_few_sequences(self) -> None:
        needed, who = self.size * self.accumulate, f"{self.size} ranks"
        if self.accumulate > 1:
            who += f" with {self.accumulate} micro-batches each"
        if self.batch_size < needed:
            raise ValueError(
                f"batch_size is {self.batch_size}; {who} need at least {needed} sequences"
            )

    @property
    def recipe(self) -> Recipe:
        """What a rank's program reads of them."""
        return Recipe(**{field.name: getattr(self, field.name) for field in fields(Recipe)})

    def about(self, stage: int) -> dict[str, Any]:
        """What the bits of a run by `stage` depend on, for its checkpoint."""
        how = {**vars(self.recipe), "batch_size": self.batch_size}
        return checkpoint.describe(stage, self.size, self.device, how, self.task.about)


def refuse_stage(stage: int) -> None:
    """Raise a ValueError if there is no such stage."""
    if stage not in range(len(STAGES)):
        raise ValueError(f"stage is {stage}; it must be 0, 1, 2 or 3")
