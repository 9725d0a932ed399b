"""The small world of text, its tokenizer and batches, the tiny GPT and its hooks."""

from .model import BASE_CONFIG, GPT, Config, loss_sum, make_model
from .text import CharTokenizer, get_batch
from .world import ALPHABET, Person, World, build_world

__all__ = [
    "ALPHABET",
    "BASE_CONFIG",
    "GPT",
    "CharTokenizer",
    "Config",
    "Person",
    "World",
    "build_world",
    "get_batch",
    "loss_sum",
    "make_model",
]
