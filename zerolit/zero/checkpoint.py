"""Checkpoints: each rank writes its shares, and an index says what belongs together.

They can be read back by any number of ranks, into any stage, units and cut; the index also tells
in which order the run added up, since a run goes on to the bit only in the same order. A checkpoint
is written beside its place and renamed into it, so that one that was there stays whole until the
new one is.
"""

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import torch
from torch import Size, Tensor

from .layout import Layout
from .recipe import Recipe
from .stages import Worker
from .unit import FlatUnit

INDEX = "index.json"
VECTORS = ("parameters", "m", "v")


@dataclass(frozen=True)
class Checkpoint:
    """What was read.

    Attributes:
        step: how many steps had been taken.
        order: what the order of summation depended on; see `order`.
        shapes: of the parameters, in order.
        vectors: the parameters, m and v, each a vector of the whole model, padding left out.
    """

    step: int
    order: dict[str, Any]
    shapes: list[list[int]]
    vectors: dict[str, Tensor]


def order(stage: int, size: int, recipe: Recipe) -> dict[str, Any]:
    """What the order of summation, and with it the last bits, depends on.

    With one micro-batch all stages add up alike; with more, stages 0 and 1 add up micro-batches
    first, 2 and 3 ranks first.
    """
    return {
        "size": size,
        "units": recipe.units,
        "cut": recipe.cut,
        "divide": recipe.divide,
        "master_dtype": str(recipe.master_dtype),
        "accumulate": recipe.accumulate,
        "ranks first": recipe.accumulate > 1 and stage >= 2,
    }


def save(folder: Path, workers: Sequence[Worker], step: int, order: dict[str, Any]) -> None:
    """Write every rank's shares of the parameters, m and v after `step` steps to `folder`."""
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        digests = [_write_rank(aside, worker) for worker in workers]
        shapes = {unit.name: [list(s) for s in unit.layout.shapes] for unit in workers[0].units}
        index = {"step": step, "order": order, "units": shapes, "sha256": digests}
        (aside / INDEX).write_text(json.dumps(index, indent=1))
        _put_in_place(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write_rank(folder: Path, worker: Worker) -> str:
    shares = {
        unit.name: {
            kind: _share(unit, vector).clone()
            for kind, vector in zip(VECTORS, _vectors(worker, unit), strict=True)
        }
        for unit in worker.units
    }
    buffer = io.BytesIO()
    torch.save(shares, buffer)
    (folder / _name(worker.rank)).write_bytes(buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def _vectors(worker: Worker, unit: FlatUnit) -> tuple[Tensor, Tensor, Tensor]:
    adamw = worker.adamw[unit.name]
    return worker.masters.get(unit.name, unit["parameters"]), adamw.m, adamw.v


def _share(unit: FlatUnit, vector: Tensor) -> Tensor:
    """This rank's share of a vector that may be whole or that share already."""
    whole = len(vector) == unit.layout.padded
    return unit.shares(vector)[unit.rank] if whole else vector


def _name(rank: int) -> str:
    return f"rank-{rank:05d}.pt"


def _put_in_place(aside: Path, folder: Path) -> None:
    old = aside.with_name(aside.name + "-old")
    if folder.exists():
        folder.rename(old)
    aside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> Checkpoint:
    """Read a checkpoint back.

    Raises:
        ValueError: a file that is missing, damaged or of another checkpoint; names it.
    """
    index = _read_index(folder)
    ranks = [_read_rank(folder / _name(r), digest) for r, digest in enumerate(index["sha256"])]
    units, cut = index["units"], index["order"]["cut"]
    layouts = {name: Layout([Size(s) for s in units[name]], len(ranks), cut) for name in units}
    vectors = {
        kind: torch.cat(
            [layouts[name].join([rank[name][kind] for rank in ranks]) for name in units]
        )
        for kind in VECTORS
    }
    shapes = list(chain.from_iterable(units.values()))
    return Checkpoint(index["step"], index["order"], shapes, vectors)


def _read_index(folder: Path) -> dict:
    path = folder / INDEX
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"{path} is missing; {folder} is not a checkpoint") from None
    except json.JSONDecodeError:
        raise ValueError(f"{path} is damaged: it is not JSON") from None


def _read_rank(path: Path, digest: str) -> dict[str, dict[str, Tensor]]:
    if not path.is_file():
        raise ValueError(f"{path} is missing from its checkpoint")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(
            f"{path} is damaged, or of another checkpoint: its SHA-256 is not {digest}"
        )
    return torch.load(io.BytesIO(content), weights_only=True)


def restore(checkpoint: Checkpoint, workers: Sequence[Worker]) -> None:
    """Put a checkpoint into the workers, whatever their number, stage, units and cut.

    Raises:
        ValueError: the workers' parameters are not the checkpoint's.
    """
    shapes = [list(shape) for unit in workers[0].units for shape in unit.layout.shapes]
    for i, (saved, wanted) in enumerate(zip_longest(checkpoint.shapes, shapes)):
        if saved != wanted:
            raise ValueError(
                f"parameter {i} has shape {saved} in the checkpoint, {wanted} in the model"
            )
    for worker in workers:
        lengths = [unit.layout.length for unit in worker.units]
        for kind, vector in checkpoint.vectors.items():
            for unit, part in zip(worker.units, vector.split(lengths), strict=True):
                _restore_unit(worker, unit, kind, part)
        for adamw in worker.adamw.values():
            adamw.steps = checkpoint.step


def _restore_unit(worker: Worker, unit: FlatUnit, kind: str, part: Tensor) -> None:
    targets = dict(zip(VECTORS, _vectors(worker, unit), strict=True))
    flat = unit.layout.spread(part)
    for target in (targets[kind], *([unit["parameters"]] if kind == "parameters" else [])):
        target.copy_(flat if len(target) == unit.layout.padded else _share(unit, flat))
