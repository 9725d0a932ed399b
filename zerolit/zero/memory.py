"""What a rank stores, by kind, in elements: now, at its peak, and moment by moment."""

from collections import Counter

from torch import Tensor

KINDS = ("parameters", "gradients", "optimizer", "gathered")


class Memory:
    """The tensors that a rank holds; a storage counts once, with all its elements."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Tensor] = {}
        self.peak: Counter[str] = Counter()  # the moment with the largest total
        self.moments: list[tuple[str, Counter[str]]] = []

    def hold(self, kind: str, name: str, tensor: Tensor) -> Tensor:
        """Keep `tensor` under its kind and name."""
        self.held[kind, name] = tensor
        self._note(f"hold {name}")
        return tensor

    def release(self, kind: str, name: str) -> None:
        """Let a tensor go."""
        del self.held[kind, name]
        self._note(f"release {name}")

    @property
    def now(self) -> Counter[str]:
        """Elements by kind."""
        count: Counter[str] = Counter()
        seen: set[int] = set()
        for (kind, _), tensor in self.held.items():
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                count[kind] += storage.nbytes() // tensor.element_size()
        return count

    def _note(self, what: str) -> None:
        now = self.now
        self.moments.append((what, now))
        if now.total() > self.peak.total():
            self.peak = now
