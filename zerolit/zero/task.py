"""What is trained, and on what: the tiny GPT, or a model of one's own."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from zerolit.gpt import (
    ALPHABET,
    BASE_CONFIG,
    CharTokenizer,
    Config,
    build_world,
    get_batch,
    loss_sum,
    make_model,
)

Batch = tuple[Tensor, Tensor]  # x and y, the batch in dimension 0


# --8<-- [start:task]
@dataclass(frozen=True)
class Task:
    """What is trained, and on what; every rank makes it for itself, to the same bits.

    Attributes:
        make_units: `() -> modules`, the model in a row: each takes one tensor, which it must not
            change in place, and gives one to the next.
        loss_sum: `(output of the last one, y) -> loss`, summed over the elements of y.
        draw_batches: `(steps, batch_size) -> that many (x, y)`, for all ranks together.
        about: what tells the task from another one when a checkpoint is read, such as its sizes and
            its text; without it a resumed run cannot say whether it goes on to the bit.
    """

    make_units: Callable[[], Sequence[nn.Module]]
    loss_sum: Callable[[Tensor, Tensor], Tensor]
    draw_batches: Callable[[int, int], Iterator[Batch]]
    about: dict[str, Any] = field(default_factory=dict, hash=False)


# --8<-- [end:task]


@cache
def tiny_gpt(config: Config = BASE_CONFIG, text: str | None = None) -> Task:
    """A GPT of characters (model seed 0, batch generator seed 1), of any size.

    Args:
        text: what it reads, with an alphabet of its own; None is the small world's text.

    Raises:
        ValueError: a width that the heads do not divide, or a text too short for one context.
    """
    if text is not None:
        config = replace(config, vocab=len(set(text)))
        if len(text) <= config.context:
            raise ValueError(
                f"the text has {len(text)} characters; context {config.context} needs "
                f"{config.context + 1} or more"
            )
    if config.width % config.heads:
        raise ValueError(f"width is {config.width}; it must be a multiple of heads, {config.heads}")
    draw = partial(draw_batches, context=config.context, text=text)
    about = {**vars(config), "text": text and hashlib.sha256(text.encode()).hexdigest()}
    return Task(partial(_units, config), loss_sum, draw, about)


def _units(config: Config) -> list[nn.Module]:
    return list(make_model(config).units)


def draw_batches(
    steps: int, batch_size: int, context: int, text: str | None = None
) -> Iterator[Batch]:
    """The batches of a run of `tiny_gpt`: stretches of its text, by a generator of seed 1."""
    world = build_world().train_text() if text is None else text
    alphabet = ALPHABET if text is None else "".join(sorted(set(text)))
    data = torch.tensor(CharTokenizer(alphabet).encode(world))
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        yield get_batch(data, batch_size, context, generator)


TINY_GPT = tiny_gpt()
