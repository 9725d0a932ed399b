"""A rank's chunks, and several of them as one message. What a chunk is, nobody here asks."""

from collections.abc import Iterator
from typing import Any


class Block(list):
    """Chunks that travel in one message: what `x[a:b]` gives. They are added chunk by chunk."""

    @property
    def shape(self) -> tuple:
        return tuple(tuple(part.shape) for part in self)

    @property
    def dtype(self) -> Any:
        return self[0].dtype if self else None

    def __add__(self, other: Any) -> "Block":
        return Block(mine + theirs for mine, theirs in zip(self, other, strict=True))

    def __iadd__(self, other: Any) -> "Block":  # type: ignore[misc]
        for index, (_, part) in enumerate(zip(self, other, strict=True)):
            self[index] += part
        return self

    def copy(self) -> "Block":
        return Block(copied(part) for part in self)


class ChunkList(list):
    """A list whose slices are blocks."""

    def __getitem__(self, index: Any) -> Any:
        got = list.__getitem__(self, index)
        return Block(got) if type(index) is slice else got


class Chunks(ChunkList):
    """A rank's chunks, as views of one array: assigning to a chunk writes into that array."""

    def __setitem__(self, index: Any, value: Any) -> None:
        here = list.__getitem__(self, index)
        pairs = zip(here, value, strict=True) if type(index) is slice else ((here, value),)
        for mine, theirs in pairs:
            if theirs is not mine:  # after `x[i] += …` the sum is in place already
                mine[...] = theirs


class Symbol:
    """What stands for a chunk where numbers do not matter; written in place, as arrays are.

    Args:
        value: anything that can be added.
    """

    shape, dtype, size = (), "symbol", 1

    def __init__(self, value: Any):
        self.value = value

    def __add__(self, other: "Symbol") -> "Symbol":
        return Symbol(self.value + other.value)

    def __iadd__(self, other: "Symbol") -> "Symbol":
        self.value = self.value + other.value
        return self

    def __setitem__(self, index: Any, other: "Symbol") -> None:
        self.value = other.value

    def copy(self) -> "Symbol":
        return Symbol(self.value)


def parts(payload: Any) -> Iterator[Any]:
    """The chunks of a message, one or several."""
    return iter(payload if isinstance(payload, Block) else (payload,))


def copied(payload: Any) -> Any:
    """What a wire hands over: a copy, of numpy arrays, torch tensors and blocks of them."""
    return payload.clone() if hasattr(payload, "clone") else payload.copy()
