"""All exercises, from easy to hard; those on tensors import torch when they are asked for."""

from importlib import import_module

from .exercise import Exercise

_WHERE = {
    "chunk-to-send": "ring.CHUNK_TO_SEND",
    "reduce-scatter": "ring.REDUCE_SCATTER",
    "all-gather": "ring.ALL_GATHER",
    "all-reduce": "ring.ALL_REDUCE",
    "broadcast": "trees.BROADCAST",
    "cost": "costs.COST",
    "wall": "costs.WALL",
    "mean-loss": "averages.MEAN_LOSS",
    "data-parallel": "averages.DATA_PARALLEL",
    "adamw-slice": "updates.ADAMW_SLICE",
    "zero1": "shards.ZERO1",
    "clip": "updates.CLIP",
    "zero2": "stages.ZERO2",
    "zero3": "stages.ZERO3",
    "two-level": "trees.TWO_LEVEL",
    "culprit": "culprits.CULPRIT",
}
NAMES = tuple(_WHERE)


def find(name: str) -> Exercise:
    """The exercise of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in _WHERE:
        raise ValueError(f"exercise is {name!r}; it must be one of {', '.join(NAMES)}")
    module, attribute = _WHERE[name].split(".")
    return getattr(import_module(f".{module}", __package__), attribute)
