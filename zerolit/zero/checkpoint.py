"""Checkpoints: each rank writes its slices, and an index says what belongs together.

Slices are stored as vectors cut by the number of ranks; they can be read back by any number of
ranks and into any stage. A checkpoint is written beside its place and renamed into it, so that one
that was there stays whole until the new one is.
"""

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from .stages import Worker
from .unit import FlatUnit

INDEX = "index.json"
VECTORS = ("parameters", "m", "v")


@dataclass(frozen=True)
class Checkpoint:
    """What was read: `vectors[unit][kind]` is a whole vector, padding left out.

    Attributes:
        step: how many steps had been taken.
        size: by how many ranks it was written.
    """

    step: int
    size: int
    vectors: dict[str, dict[str, Tensor]]


def save(folder: Path, workers: Sequence[Worker], step: int) -> None:
    """Write every rank's slices of the parameters, m and v after `step` steps to `folder`."""
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        digests = [_write_rank(aside, worker) for worker in workers]
        units = {unit.name: unit.length for unit in workers[0].units}
        index = {"step": step, "size": len(workers), "units": units, "sha256": digests}
        (aside / INDEX).write_text(json.dumps(index, indent=1))
        _put_in_place(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write_rank(folder: Path, worker: Worker) -> str:
    slices = {
        unit.name: {
            kind: _mine(unit, vector).clone()
            for kind, vector in zip(VECTORS, _vectors(worker, unit), strict=True)
        }
        for unit in worker.units
    }
    buffer = io.BytesIO()
    torch.save(slices, buffer)
    (folder / _name(worker.rank)).write_bytes(buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def _vectors(worker: Worker, unit: FlatUnit) -> tuple[Tensor, Tensor, Tensor]:
    adamw = worker.adamw[unit.name]
    return unit["parameters"], adamw.m, adamw.v


def _mine(unit: FlatUnit, vector: Tensor) -> Tensor:
    """This rank's slice of a vector that may be whole or that slice already."""
    return vector[unit.mine] if len(vector) == unit.padded else vector


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
    vectors = {
        unit: {kind: torch.cat([rank[unit][kind] for rank in ranks])[:length] for kind in VECTORS}
        for unit, length in index["units"].items()
    }
    return Checkpoint(index["step"], index["size"], vectors)


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
    """Put a checkpoint into the workers, whatever their number and stage.

    Raises:
        ValueError: the workers' units are not the checkpoint's.
    """
    units = {unit.name: unit.length for unit in workers[0].units}
    saved = {name: len(kinds["parameters"]) for name, kinds in checkpoint.vectors.items()}
    if units != saved:
        raise ValueError(f"the checkpoint has units {saved}; the model has {units}")
    for worker in workers:
        for unit in worker.units:
            for kind, vector in zip(VECTORS, _vectors(worker, unit), strict=True):
                _fill(unit, vector, checkpoint.vectors[unit.name][kind])
            worker.adamw[unit.name].steps = checkpoint.step


def _fill(unit: FlatUnit, vector: Tensor, whole: Tensor) -> None:
    padded = torch.zeros(unit.padded, dtype=whole.dtype)
    padded[: unit.length] = whole
    vector.copy_(padded if len(vector) == unit.padded else padded[unit.mine])
