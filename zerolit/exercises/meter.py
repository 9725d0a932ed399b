"""Measure what a rank holds: every tensor that its program made and that is still alive.

Nothing need be declared, so that nothing can be left out. A storage counts once, with all its
elements, however many views of it there are: a view of a whole gradient keeps the whole.
"""

import weakref
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Meter(TorchDispatchMode):
    """The elements of one rank's tensors, while its program runs under this mode.

    Attributes:
        moments: how many elements were alive, after each tensor that came or went.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moments = [0]
        self._known: set[int] = set()

    def note(self, tensor: Tensor) -> None:
        """Count a tensor, as long as its storage lives."""
        storage = tensor.untyped_storage()
        if storage._cdata in self._known:
            return
        elements = storage.nbytes() // tensor.element_size()
        self._known.add(storage._cdata)
        weakref.finalize(storage, self._gone, storage._cdata, elements)
        self.moments.append(self.moments[-1] + elements)

    def _gone(self, key: int, elements: int) -> None:
        self._known.discard(key)
        self.moments.append(self.moments[-1] - elements)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor):
                self.note(leaf)
        return made
