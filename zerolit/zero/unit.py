"""One rank's hold on one unit of the model: its parameters as a vector, and who borrows them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zerolit.comm import Chunks

from .adamw import FlatAdamW
from .layout import Layout, Packed
from .memory import Memory


class FlatUnit:
    """A unit's trainable parameters; frozen ones stay in the module, whole, on every rank.

    A parameter that two units share (tied weights) belongs to the first; the second borrows it, and
    lends it the gradient that it finds, so that the sum of both is reduced once.

    Attributes:
        layout: how the parameters lie in a vector, and which of it is whose.
        borrowed: (owner, which of its parameters) for each parameter of an earlier unit.
        lent: the gradients that borrowers found, by the parameter's index.
        names: of the parameters, in `model`.
        reached: for each parameter, whether this step's loss has a gradient for it.
        device: of the model.
        dtype: of the module's trained parameters.
        master_dtype: of the gradients' sum and the update.
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        model: nn.Module,
        rank: int,
        size: int,
        memory: Memory,
        cut: str = "flat",
        master_dtype: torch.dtype | None = None,
        earlier: Sequence["FlatUnit"] = (),
    ):
        self.name, self.module, self.rank, self.memory = name, module, rank, memory
        owners = {p: (unit, i) for unit in earlier for i, p in enumerate(unit.params)}
        trained = [p for p in module.parameters() if p.requires_grad]
        self.params: list[nn.Parameter] = [p for p in trained if p not in owners]
        self.borrowed = [owners[p] for p in trained if p in owners]
        self.frozen = [p for p in module.parameters() if not p.requires_grad]
        self.lent: dict[int, Tensor] = {}
        self.reached = [False] * len(self.params)
        names = {parameter: name for name, parameter in model.named_parameters()}
        self.names = [names[param] for param in self.params]
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        own = (p.dtype for p in (*self.params, *module.parameters()))
        self.dtype = next(own, torch.get_default_dtype())
        self.master_dtype = master_dtype or self.dtype
        self.layout = Layout([p.shape for p in self.params], size, cut)

    def zeros(self, n: int) -> Tensor:
        """A new vector in the dtype of sum and update."""
        return torch.zeros(n, dtype=self.master_dtype, device=self.device)

    def empty(self, n: int) -> Tensor:
        """A new vector in the dtype of the module, with no values yet."""
        return torch.empty(n, dtype=self.dtype, device=self.device)

    def flatten(self) -> Tensor:
        """A new vector `[padded]` with the parameters."""
        return self.layout.flatten(self.params, self.dtype)

    def shares(self, flat: Tensor) -> Chunks | Packed:
        """All ranks' shares of a vector `[padded]`, as the chunks of a ring."""
        return self.layout.shares(flat)

    def attach(self, flat: Tensor) -> None:
        """Let the module compute with a vector's values: its parameters become views."""
        for param, view in zip(self.params, self.layout.views(flat), strict=True):
            param.data = view

    def detach(self) -> None:
        """Leave the module without values."""
        for param in self.params:
            param.data = param.data.new_empty(0)

    def lend(self, index: int, gradient: Tensor) -> None:
        """Keep a borrower's gradient of one parameter until this unit's own backward pass."""
        if index in self.lent:
            self.lent[index] += gradient
        else:
            held = self.memory.hold("gradients", f"{self.name} lent {index}", gradient)
            self.lent[index] = held

    def take_lent(self, index: int) -> Tensor | None:
        """Give the kept gradient away, if there is one."""
        gradient = self.lent.pop(index, None)
        if gradient is not None:
            self.memory.release("gradients", f"{self.name} lent {index}")
        return gradient

    def hold(self, kind: str, tensor: Tensor) -> Tensor:
        """Keep a tensor of this unit in the rank's memory."""
        return self.memory.hold(kind, self.name, tensor)

    def release(self, kind: str) -> None:
        """Let it go."""
        self.memory.release(kind, self.name)

    def __getitem__(self, kind: str) -> Tensor:
        return self.memory.held[kind, self.name]

    def cut(self, flat: Tensor, n: int) -> Tensor:
        """A vector if it has `n` elements, else this rank's share of it."""
        return flat if len(flat) == n else self.shares(flat)[self.rank]

    def part(self, kind: str, n: int) -> Tensor:
        """What is held, cut to `n` elements."""
        return self.cut(self[kind], n)

    def write(self, kind: str, part: Tensor) -> None:
        """Put back what `part` gave, unless it is a view and there already."""
        flat = self[kind]
        if part.untyped_storage().data_ptr() == flat.untyped_storage().data_ptr():
            return
        if len(part) == len(flat):
            flat.copy_(part)
        else:
            self.shares(flat)[self.rank] = part

    def unreached(self, n: int) -> Tensor | None:
        """Which of the vector's elements no loss has reached, as a mask; None if there are none."""
        if all(self.reached):
            return None
        masks = [
            torch.full(p, not r, device=self.device)
            for p, r in zip(self.layout.shapes, self.reached, strict=True)
        ]
        return self.cut(self.layout.flatten(masks, torch.bool), n)

    def optimizer(self, n: int, lr: float, wd: float) -> FlatAdamW:
        """An AdamW for `n` of the unit's elements, entered in the rank's memory."""
        adamw = FlatAdamW(n, lr, wd, dtype=self.master_dtype, device=self.device)
        self.memory.hold("optimizer", f"{self.name} m", adamw.m)
        self.memory.hold("optimizer", f"{self.name} v", adamw.v)
        return adamw
