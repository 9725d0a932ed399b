"""How the parameters of a unit lie in one long vector, and which part of it is whose.

ZeRO and FSDP flatten: the parameters of a unit lie one after the other in a vector, padded so that
the number of ranks divides it. Then every rank has a share of the same size, whatever the shapes
are, and one collective moves the whole unit.
"""

from collections.abc import Sequence

import torch
from torch import Size, Tensor

from zerolit.comm import Chunks

CUTS = ("flat", "rows")


class Packed:
    """Shares of several pieces `[size, k]`: packed into one message, unpacked where assigned."""

    def __init__(self, pieces: Sequence[Tensor]):
        self.pieces = pieces
        self.widths = [piece.shape[1] for piece in pieces]

    def __getitem__(self, rank: int) -> Tensor:
        """A copy: a change of it reaches the vector when the share is assigned."""
        return torch.cat([piece[rank] for piece in self.pieces])

    def __setitem__(self, rank: int, share: Tensor) -> None:
        for piece, part in zip(self.pieces, share.split(self.widths), strict=True):
            piece[rank] = part


class Layout:
    """Parameters of the given shapes in a vector, in one piece or in several.

    A piece is padded until `size` divides it, and rank r's share is the r-th part of every piece.
    Cut "flat", the whole unit is one piece (ZeRO, FSDP1). Cut by "rows", every parameter is a piece
    of its own, padded by whole rows of its dimension 0 (FSDP2): a share holds some rows of each.

    Attributes:
        length: the number of parameters.
        padded: the same with padding: the length of the vector.
        share: what each rank has of it.
    """

    def __init__(self, shapes: Sequence[Size], size: int, cut: str = "flat"):
        self.shapes, self.size = shapes, size
        lengths = [shape.numel() for shape in shapes]
        self.length = sum(lengths)
        if cut == "flat" or not shapes:
            self.pieces = [_up(self.length, size)]
            self.starts = _starts(lengths)
        else:
            rows = [max(shape[0], 1) if shape else 1 for shape in shapes]
            self.pieces = [n // r * _up(r, size) for n, r in zip(lengths, rows, strict=True)]
            self.starts = _starts(self.pieces)
        self.padded = sum(self.pieces)
        self.share = self.padded // size

    # --8<-- [start:flatten]
    def flatten(self, params: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
        """A new vector `[padded]` with the parameters; zeros pad it."""
        device = params[0].device if params else None
        flat = torch.zeros(self.padded, dtype=dtype, device=device)
        for view, param in zip(self.views(flat), params, strict=True):
            view.copy_(param.detach())
        return flat

    def views(self, flat: Tensor) -> list[Tensor]:
        """The parts of a vector `[padded]` in the parameters' shapes, as views."""
        return [
            flat[start : start + shape.numel()].view(shape)
            for start, shape in zip(self.starts, self.shapes, strict=True)
        ]

    def shares(self, flat: Tensor) -> Chunks | Packed:
        """The ranks' shares `[share]` of a vector `[padded]`, as a ring's chunks.

        Those of one piece are views; those of several are packed, so copies:
        assign to write.
        """
        pieces = flat.split(self.pieces)
        parts = [piece.view(self.size, len(piece) // self.size) for piece in pieces]
        return Chunks(parts[0].unbind(0)) if len(parts) == 1 else Packed(parts)

    # --8<-- [end:flatten]

    def join(self, shares: Sequence[Tensor]) -> Tensor:
        """A new vector `[length]`, padding left out, from every rank's share `[share]`."""
        flat = shares[0].new_empty(self.padded)
        chunks = self.shares(flat)
        for rank, share in enumerate(shares):
            chunks[rank] = share
        return torch.cat([view.reshape(-1) for view in self.views(flat)] or [flat])


def _up(n: int, size: int) -> int:
    """The next multiple of `size`."""
    return -(-n // size) * size


def _starts(lengths: Sequence[int]) -> list[int]:
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    return starts[:-1]
