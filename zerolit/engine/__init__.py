"""The same rank programs on real processes: torch.distributed, with gloo on CPUs or NCCL."""

from .drive import all_gather, all_reduce, as_gloo_cuts, ddp_hook, drive, reduce_scatter
from .launch import is_rank_0, launch, under_torchrun, world_size
from .rank import tell
from .scale import AtScale, at_scale
from .trace import Exchange, trace
from .train import train
from .watch import EngineError

__all__ = [
    "AtScale",
    "EngineError",
    "Exchange",
    "all_gather",
    "all_reduce",
    "as_gloo_cuts",
    "at_scale",
    "ddp_hook",
    "drive",
    "is_rank_0",
    "launch",
    "reduce_scatter",
    "tell",
    "trace",
    "train",
    "under_torchrun",
    "world_size",
]
