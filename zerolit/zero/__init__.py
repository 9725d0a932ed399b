"""Data parallelism and ZeRO-1, 2, 3 as rank programs; what a rank stores and sends, counted."""

from .adamw import FlatAdamW
from .compare import Apart, NoiseScale, Step, bigger_batch, elements, estimate_noise, noise_scale
from .memory import Memory
from .recipe import Recipe
from .run import Run
from .settings import Settings
from .stages import STAGES, Worker
from .task import TINY_GPT, Task, tiny_gpt
from .train import train
from .unit import FlatUnit

__all__ = [
    "STAGES",
    "TINY_GPT",
    "Apart",
    "FlatAdamW",
    "FlatUnit",
    "Memory",
    "NoiseScale",
    "Recipe",
    "Run",
    "Settings",
    "Step",
    "Task",
    "Worker",
    "bigger_batch",
    "elements",
    "estimate_noise",
    "noise_scale",
    "tiny_gpt",
    "train",
]
