"""Checkpoints: each rank writes its shares, and an index says what belongs together.

They can be read back by any number of ranks, into any stage, units and cut; the index also tells
how the run was trained, since one goes on to the bit only in the same order of sums. A checkpoint
is written beside its place and renamed into it, so that one that was there stays whole until the
new one is.
"""

import hashlib
import io
import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Size, Tensor

from . import dcp
from .layout import Layout
from .stages import Worker
from .unit import FlatUnit

INDEX = "index.json"
VECTORS = ("parameters", "m", "v")
_PARTS = re.compile(r"index\.json|rank-\d{5}\.pt|\.metadata|.*\.distcp")  # a checkpoint's files
ORDER = ("accumulate", "units", "cut", "direction", "divide", "master_dtype")  # of a recipe


@dataclass(frozen=True)
class Checkpoint:
    """What was read.

    Attributes:
        step: how many steps had been taken.
        about: what the run's bits depended on; see `describe`.
        tensors: the parameters, m and v, each by the parameters' names in `nn.Sequential(*units)`.
    """

    step: int
    about: dict[str, Any]
    tensors: dict[str, dict[str, Tensor]]


def describe(
    stage: int, size: int, device: str, how: Mapping[str, Any], model: Mapping[str, Any]
) -> dict[str, Any]:
    """What the bits of a run depend on, in three parts: the model, the recipe, the order of sums.

    With one micro-batch all stages add up alike; with more, stages 0 and 1 add up micro-batches
    first, 2 and 3 ranks first.
    """
    recipe, about = ({name: _word(value) for name, value in d.items()} for d in (how, model))
    order = {name: recipe.pop(name) for name in ORDER} | {"size": size, "device": device}
    order["dtype"] = about.pop("dtype", None)
    order["ranks first"] = order["accumulate"] > 1 and stage >= 2
    return {"model": about, "recipe": recipe, "order": order}


def _word(value: Any) -> Any:
    return str(value) if isinstance(value, torch.dtype) else value


def how_it_continues(saved: dict[str, Any], now: dict[str, Any]) -> str:
    """Whether a run that goes on from a checkpoint is one run with it, and how exactly.

    Raises:
        ValueError: the checkpoint is of another model.
    """
    if not saved or not now["model"]:
        return "unknown"  # PyTorch's own do not say how they were trained, nor tasks what they are
    for name, value in now["model"].items():
        there = saved["model"].get(name)
        if there != value:
            raise ValueError(f"{name} is {there} in the checkpoint, {value} here")
    if saved["recipe"] != now["recipe"]:
        return "with another recipe"
    return "bitwise" if saved["order"] == now["order"] else "to rounding"


def refuse_place(folder: Path) -> None:
    """Raise a ValueError if a checkpoint could not be saved to `folder`, or would replace another
    thing than a checkpoint."""
    if not folder.parent.is_dir():
        raise ValueError(f"{folder} cannot be saved to: {folder.parent} is not a folder")
    if not folder.exists():
        return
    if not folder.is_dir() or not (dcp.is_one(folder) or (folder / INDEX).is_file()):
        raise ValueError(f"{folder} exists and is not a checkpoint; choose another place")
    for file in folder.iterdir():
        if not _PARTS.fullmatch(file.name):
            raise ValueError(f"{file} is no part of a checkpoint; choose another place")
    if not dcp.is_one(folder):
        _read_index(folder)


def find(folder: Path, steps: int) -> None:
    """Raise a ValueError if `folder` is no checkpoint of ours of fewer than `steps` steps.

    One of torch.distributed.checkpoint's is left to whoever loads it.
    """
    _put_back(folder)
    if not dcp.is_one(folder):
        refuse_over(folder, _read_index(folder)["step"], steps)


def refuse_over(folder: Path, done: int, steps: int) -> None:
    """Raise a ValueError if all `steps` have been taken."""
    if not done < steps:
        raise ValueError(f"steps is {steps}; {folder} has {done} already, so ask for more")


def export(folder: Path | str, target: Path | str) -> None:
    """Write a checkpoint anew in torch.distributed.checkpoint's format, for DDP or FSDP2."""
    folder, target = Path(folder), Path(target)
    if dcp.is_one(folder):
        raise ValueError(f"{folder} is in that format already")
    if target.exists():
        raise ValueError(f"{target} exists; choose another place")
    saved = load(folder)
    dcp.write(target, saved.step, saved.about, saved.tensors)


def save(folder: Path, workers: Sequence[Worker], step: int, about: dict[str, Any]) -> None:
    """Write every rank's shares of the parameters, m and v after `step` steps to `folder`."""
    aside = make_aside(folder)
    try:
        digests = [write_rank(aside, worker) for worker in workers]
        commit(aside, folder, workers[0], step, about, digests)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def make_aside(folder: Path) -> Path:
    """A new folder beside `folder`, to write to until all is written; earlier ones go."""
    sweep(folder)
    return Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))


def sweep(folder: Path) -> None:
    """Remove what ranks that were killed while saving left beside `folder`."""
    _put_back(folder)
    aside = re.compile(rf"\.{re.escape(folder.name)}-[a-z0-9_]{{8}}")  # as mkdtemp makes names
    for beside in folder.parent.iterdir():
        if aside.fullmatch(beside.name):
            shutil.rmtree(beside)


def commit(
    aside: Path,
    folder: Path,
    worker: Worker,
    step: int,
    about: dict[str, Any],
    digests: Sequence[str],
) -> None:
    """Write the index beside the ranks' files, and rename it all into its place."""
    shapes = {
        unit.name: dict(zip(unit.names, map(list, unit.layout.shapes), strict=True))
        for unit in worker.units
    }
    index = {"step": step, "about": about, "units": shapes, "sha256": list(digests)}
    index["digest"] = _digest(index)
    (aside / INDEX).write_text(json.dumps(index, indent=1))
    _put_in_place(aside, folder)


def write_rank(folder: Path, worker: Worker) -> str:
    """Write one rank's shares; returns the SHA-256 of its file."""
    shares = {
        unit.name: {
            kind: unit.cut(vector, unit.layout.share).to("cpu", copy=True)
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


def _name(rank: int) -> str:
    return f"rank-{rank:05d}.pt"


def _put_in_place(aside: Path, folder: Path) -> None:
    old = _old(folder)
    if folder.exists():
        folder.rename(old)
    try:
        aside.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _old(folder: Path) -> Path:
    """Where a checkpoint is for the moment in which the next one takes its place."""
    return folder.with_name(f".{folder.name}-old")


def _put_back(folder: Path) -> None:
    """After a process was killed in that moment: the old one is whole and counts.

    Several ranks may do so at once; whoever comes second finds it done.
    """
    if folder.exists():
        shutil.rmtree(_old(folder), ignore_errors=True)
    else:
        with suppress(FileNotFoundError):
            _old(folder).rename(folder)


def load(folder: Path) -> Checkpoint:
    """Read a checkpoint back, ours or torch.distributed.checkpoint's.

    Raises:
        ValueError: a file that is missing, damaged or of another checkpoint; names it.
    """
    _put_back(folder)
    if dcp.is_one(folder):
        return Checkpoint(*dcp.read(folder))
    index = _read_index(folder)
    ranks = [_read_rank(folder / _name(r), digest) for r, digest in enumerate(index["sha256"])]
    tensors: dict[str, dict[str, Tensor]] = {kind: {} for kind in VECTORS}
    for unit, shapes in index["units"].items():
        sizes, cut = [Size(s) for s in shapes.values()], index["about"]["order"]["cut"]
        layout = Layout(sizes, len(ranks), cut)
        for kind in VECTORS:
            joined = layout.join([rank[unit][kind] for rank in ranks])
            parts = joined.split([size.numel() for size in sizes])
            for name, part, size in zip(shapes, parts, sizes, strict=True):
                tensors[kind][name] = part.view(size)
    return Checkpoint(index["step"], index["about"], tensors)


def _read_index(folder: Path) -> dict:
    path = folder / INDEX
    try:
        index = json.loads(path.read_text())
        digest = index.pop("digest")
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{path} is missing; {folder} is not a checkpoint") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is damaged: it is not the index of a checkpoint") from None
    if digest != _digest(index):
        raise ValueError(f"{path} is damaged: its content has another digest")
    return index


def _digest(index: dict) -> str:
    return hashlib.sha256(json.dumps(index, sort_keys=True).encode()).hexdigest()


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
    _refuse_another_model(checkpoint, workers[0].units)
    parameters = checkpoint.tensors["parameters"]
    zeros = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    known = {kind: zeros | tensors for kind, tensors in checkpoint.tensors.items()}
    for worker in workers:
        for kind, tensors in known.items():  # who has no m and v was never updated
            for unit in worker.units:
                _restore_unit(worker, unit, kind, [tensors[name] for name in unit.names])
        for adamw in worker.adamw.values():
            adamw.steps = checkpoint.step


def _refuse_another_model(saved: Checkpoint, units: Sequence[FlatUnit]) -> None:
    """PyTorch's own may also hold what is not trained: frozen parameters, buffers, second names."""
    here = {
        name: list(shape)
        for unit in units
        for name, shape in zip(unit.names, unit.layout.shapes, strict=True)
    }
    there = {
        name: list(tensor.shape)
        for name, tensor in saved.tensors["parameters"].items()
        if name in here or name in saved.tensors["m"]
    }
    for name in {**here, **there}:
        if there.get(name) != here.get(name):
            raise ValueError(
                f"parameter {name} has shape {there.get(name)} in the checkpoint, "
                f"{here.get(name)} in the model"
            )


def _restore_unit(worker: Worker, unit: FlatUnit, kind: str, tensors: Sequence[Tensor]) -> None:
    targets = dict(zip(VECTORS, _vectors(worker, unit), strict=True))
    flat = unit.layout.flatten(tensors, targets[kind].dtype)
    for target in (targets[kind], *([unit["parameters"]] if kind == "parameters" else [])):
        target.copy_(unit.cut(flat, len(target)))
