"""Characters to numbers and back, and batches of them."""

from collections.abc import Iterable

import torch
from torch import Tensor


class CharTokenizer:
    """One token per character of an alphabet."""

    def __init__(self, alphabet: str):
        self.alphabet = alphabet
        self._index = {character: i for i, character in enumerate(alphabet)}

    def encode(self, text: str) -> list[int]:
        """The tokens of `text`.

        Raises:
            ValueError: a character that the alphabet lacks; names it and its position.
        """
        try:
            return [self._index[character] for character in text]
        except KeyError:
            at = next(i for i, character in enumerate(text) if character not in self._index)
            raise ValueError(
                f"character {text[at]!r} at position {at} is not in the alphabet {self.alphabet!r}"
            ) from None

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of `tokens`."""
        return "".join(self.alphabet[token] for token in tokens)


def get_batch(
    data: Tensor, batch_size: int, context: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw `batch_size` stretches of `data` at random; y is x one character later.

    Args:
        data: all tokens, int64 `[length]`.
        batch_size: how many stretches.
        context: how long each is.
        generator: where the positions come from.

    Returns:
        x and y, int64 `[batch_size, context]` each.

    Raises:
        ValueError: data too short for one stretch and its successor.
    """
    if len(data) <= context:
        raise ValueError(f"data has {len(data)} tokens; context {context} needs {context + 1}")
    starts = torch.randint(len(data) - context, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + context] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + context] for i in starts])
    return x, y
