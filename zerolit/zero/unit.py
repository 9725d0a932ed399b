"""A unit of the model as one long vector, cut among the ranks.

ZeRO and FSDP flatten: the parameters of a unit lie one after the other in a vector, padded so that
the number of ranks divides it. Then rank r's share is one slice, whatever the shapes are, and one
collective moves the whole unit.
"""

import torch
from torch import Tensor, nn

from zerolit.comm import Chunks

from .adamw import FlatAdamW
from .memory import Memory


class FlatUnit:
    """One rank's hold on one unit.

    Attributes:
        length: the number of its parameters.
        padded: the same, rounded up to a multiple of the number of ranks.
        mine: the slice of the padded vector that this rank updates.
    """

    def __init__(self, name: str, module: nn.Module, rank: int, size: int, memory: Memory):
        self.name, self.module, self.size, self.memory = name, module, size, memory
        self.params = [p for p in module.parameters() if p.requires_grad]
        self.shapes = [p.shape for p in self.params]
        self.length = sum(shape.numel() for shape in self.shapes)
        share = -(-self.length // size)
        self.padded = share * size
        self.mine = slice(rank * share, (rank + 1) * share)

    # --8<-- [start:flatten]
    def flatten(self) -> Tensor:
        """A new vector `[padded]` with the parameters, zeros at its end."""
        flat = torch.zeros(self.padded, dtype=self.params[0].dtype)
        for view, param in zip(self.views(flat), self.params, strict=True):
            view.copy_(param.detach())
        return flat

    def views(self, flat: Tensor) -> list[Tensor]:
        """The parts of a vector `[padded]` in the parameters' shapes; nothing is copied."""
        sizes = [shape.numel() for shape in self.shapes]
        parts = flat[: self.length].split(sizes)
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    # --8<-- [end:flatten]

    def chunks(self, flat: Tensor) -> Chunks:
        """A vector `[padded]` as the chunks of a ring, one per rank."""
        return Chunks(flat.view(self.size, -1).unbind(0))

    def attach(self, flat: Tensor) -> None:
        """Let the module compute with a vector's values: its parameters become views."""
        for param, view in zip(self.params, self.views(flat), strict=True):
            param.data = view

    def detach(self) -> None:
        """Leave the module without values."""
        for param in self.params:
            param.data = param.data.new_empty(0)

    def hold(self, kind: str, tensor: Tensor) -> Tensor:
        """Keep a tensor of this unit in the rank's memory."""
        return self.memory.hold(kind, self.name, tensor)

    def release(self, kind: str) -> None:
        """Let it go."""
        self.memory.release(kind, self.name)

    def __getitem__(self, kind: str) -> Tensor:
        return self.memory.held[kind, self.name]

    def optimizer(self, n: int, **settings) -> FlatAdamW:
        """An AdamW for `n` of the unit's elements, entered in the rank's memory."""
        adamw = FlatAdamW(n, dtype=self.params[0].dtype, **settings)
        self.memory.hold("optimizer", f"{self.name} m", adamw.m)
        self.memory.hold("optimizer", f"{self.name} v", adamw.v)
        return adamw
