"""The same program under other names of its ranks and chunks."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from .chunks import Block
from .swap import RankProgram, Swap, tap

Name = Callable[[int], int]


class Renamed:
    """A rank's chunks `x`, of which chunk c is called by another name: `x[name(c)]`."""

    def __init__(self, x: Any, name: Name):
        self.x, self.name = x, name

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Block(self[c] for c in range(len(self))[index])
        return self.x[self.name(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self.x[self.name(index)] = value
            return
        for c, part in zip(range(len(self))[index], value, strict=True):
            self[c] = part


def renamed(program: RankProgram, ranks: Name, chunks: Name) -> RankProgram:
    """Run `program`, which works on `Renamed` chunks, with its messages readdressed.

    Args:
        ranks: what a rank of the program is called outside.
        chunks: the same for a chunk; a chunk that the program returns is renamed as well.
    """

    def readdress(swap: Swap) -> None:
        swap.to = None if swap.to is None else ranks(swap.to)
        swap.frm = None if swap.frm is None else ranks(swap.frm)
        swap.chunk = chunks(swap.chunk) if isinstance(swap.chunk, int) else None

    returned = yield from tap(program, readdress)
    return None if returned is None else chunks(returned)


def turnable(program: Callable) -> Callable:
    """Let a textbook ring run the other way, or end with another chunk on each rank.

    Under the names -r for rank r and 1 - c + owner for chunk c, the ring to the right is the ring
    to the left, hop for hop; `owner` is the chunk with which rank 0 ends, rank 1 with the next.

    Raises:
        ValueError: a direction that is neither 1 nor -1.
    """

    @wraps(program)
    def turned(rank: int, size: int, x: Any, direction: int = 1, owner: int = 1) -> RankProgram:
        if direction not in (1, -1):
            raise ValueError(f"direction is {direction}; it must be 1 or -1")
        if direction == owner == 1:
            return program(rank, size, x)

        def name(r: int) -> int:
            return direction * r % size

        def chunk(c: int) -> int:
            return (owner + direction * (c - 1)) % size

        return renamed(program(name(rank), size, Renamed(x, chunk)), name, chunk)

    return turned
