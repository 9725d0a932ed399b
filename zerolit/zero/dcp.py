"""The format of torch.distributed.checkpoint: what DDP and FSDP2 save, and what they can load.

A checkpoint of ours becomes one of theirs and back, at any number of ranks on either side. Names
are those of `nn.Sequential(*units)`; the state of the optimizer is torch's AdamW's. Ours holds what
is trained, each tied weight once: who has more in a model, frozen parameters, buffers or a second
name, loads it with `DefaultLoadPlanner(allow_partial_load=True)`.
"""

import json
import pickle
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint import CheckpointException
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

Tensors = Mapping[str, Mapping[str, Tensor]]  # by kind, by name

STATE = {"m": "exp_avg", "v": "exp_avg_sq"}


def is_one(folder: Path) -> bool:
    """Whether a folder is a checkpoint in that format."""
    return (folder / ".metadata").is_file()


def write(folder: Path, step: int, about: dict[str, Any], tensors: Tensors) -> None:
    """Write what `zerolit.zero.checkpoint` read; PyTorch's own load it as model and optim."""
    names, count = list(tensors["parameters"]), torch.tensor(float(step))
    state = {
        name: {"step": count, **{theirs: tensors[ours][name] for ours, theirs in STATE.items()}}
        for name in names
    }
    optim = {"state": state, "param_groups": [_group(names, about["recipe"])]}
    whole = {"model": dict(tensors["parameters"]), "optim": optim, "zerolit": json.dumps(about)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that there is one process, as it was told
        dcp.save(whole, checkpoint_id=folder, no_dist=True)


def _group(names: list[str], recipe: Mapping[str, Any]) -> dict[str, Any]:
    """What torch's AdamW notes of its parameters, with their names in the place of numbers."""
    adamw = torch.optim.AdamW(
        [torch.empty(0)], recipe["lr"], (0.9, 0.95), weight_decay=recipe["wd"], foreach=False
    )
    return adamw.state_dict()["param_groups"][0] | {"params": names}


def read(folder: Path) -> tuple[int, dict[str, Any], dict[str, dict[str, Tensor]]]:
    """The steps taken, what is known of the run, and parameters, m and v by name.

    What was never updated, such as frozen parameters, has no m and v.

    Raises:
        ValueError: the checkpoint is damaged, or has no model and AdamW state, as `write` and
            `get_state_dict` name them.
    """
    whole = _read_whole(folder)
    try:
        model, state = whole["model"], whole["optim"]["state"]
        tensors = {ours: {n: s[theirs] for n, s in state.items()} for ours, theirs in STATE.items()}
        step = max((int(each["step"]) for each in state.values()), default=0)
    except KeyError as missing:
        raise ValueError(f"{folder} lacks {missing}; it must hold model and optim") from None
    return step, json.loads(whole.get("zerolit", "{}")), {"parameters": model, **tensors}


def _read_whole(folder: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as aside:
        try:
            dcp_to_torch_save(folder, Path(aside) / "whole.pt")
        except (CheckpointException, OSError, EOFError, pickle.UnpicklingError) as error:
            reason = str(error).strip().splitlines()[-1:]
            raise ValueError(f"{folder} is damaged: {' '.join(reason)}") from None
        return torch.load(Path(aside) / "whole.pt", weights_only=True)
