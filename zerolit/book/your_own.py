"""R.4: the examples, run as a reader would run them; and what a wrong factor does."""

import math
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from runpy import run_path

import torch
from torch import nn

from zerolit.zero.train import one_thread

from .runs import LOSS
from .table import Column, Table
from .words import Words, choose

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


@cache
def run_example(name: str) -> list[float]:
    """Run a program of `docs/examples` in a process of its own; the numbers that it prints.

    Raises:
        RuntimeError, TimeoutExpired: it fails, or takes more than five minutes.
    """
    command = [sys.executable, str(EXAMPLES / name)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if ran.returncode:
        raise RuntimeError(f"{name} exited with {ran.returncode}: {ran.stderr.strip()}")
    return [float(word) for word in ran.stdout.split()]


# Gradients that are p times too large

_OPTIMIZERS: dict[str, Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]] = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=3e-3, foreach=False),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, foreach=False),
}


@cache
def losses(optimizer: str, factor: int, steps: int) -> list[float]:
    """Train the example's model on one process, its gradients multiplied by `factor`."""
    example = run_path(str(EXAMPLES / "own_model.py"))
    model, found = nn.Sequential(*example["make_units"]()), list[float]()
    updater = _OPTIMIZERS[optimizer](model.parameters())
    with one_thread():
        for x, y in example["draw_batches"](steps, 32):
            updater.zero_grad()
            loss = example["squared_error"](model(x), y) / len(y)
            (factor * loss).backward()
            updater.step()
            found.append(loss.item())
    return found


_ROWS = {
    "adamw 1": ("AdamW", "AdamW"),
    "adamw 4": ("AdamW, gradients × 4", "AdamW，梯度 × 4"),
    "sgd 1": ("SGD", "SGD"),
    "sgd 4": ("SGD, gradients × 4", "SGD，梯度 × 4"),
}


def factor_table(steps: int) -> Table:
    """Losses of AdamW and of SGD, with gradients that are right and that are 4 times too large."""
    caption = Words(
        "The model above on one process. A dash: the loss is no number any more.",
        "上面的模型，单进程训练。横线表示损失已不是数。",
    )
    moments = {1: LOSS, 5: LOSS, steps: "rel 0.01"}  # rounding has longer to grow
    columns = [Column("training", "s", "trained by", "训练方式")]
    for n, tolerance in moments.items():
        head = f"loss in step {n}", f"第 {n} 步的损失"
        columns.append(Column(f"loss {n}", ",.2f", *head, tolerance=tolerance))
    rows = []
    for name in _ROWS:
        optimizer, factor = name.split()
        found = losses(optimizer, int(factor), steps)
        cells = [found[n - 1] for n in moments]
        rows.append((choose(name, _ROWS), *(x if math.isfinite(x) else None for x in cells)))
    return Table("own-factor", caption, columns, rows)
