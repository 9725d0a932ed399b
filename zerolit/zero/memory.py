"""What a rank stores, by kind, in elements: now, at its peak, and moment by moment."""

from collections import Counter

from torch import Tensor

KINDS = ("parameters", "gradients", "optimizer", "gathered")


class Memory:
    """The tensors that a rank holds; a storage counts once, with all its elements.

    Attributes:
        held: the tensors, by kind and name.
        peak: elements by kind at the moment with the largest total.
        moments: (what happened, elements by kind then), one after the other.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Tensor] = {}
        self.peak: Counter[str] = Counter()
        self.moments: list[tuple[str, Counter[str]]] = []
        self._now: Counter[str] = Counter()
        self._holders: dict[int, list[str]] = {}  # by storage, the kinds of what lives in it

    @property
    def now(self) -> Counter[str]:
        """A copy; kinds of which there is nothing are left out."""
        return +self._now

    def hold(self, kind: str, name: str, tensor: Tensor) -> Tensor:
        """Keep `tensor` under its kind and name, in the place of what was there."""
        if (kind, name) in self.held:
            self._leave(kind, self.held[kind, name])
        self.held[kind, name] = tensor
        self._enter(kind, tensor)
        self._note(f"hold {name}")
        return tensor

    def release(self, kind: str, name: str) -> None:
        """Let a tensor go."""
        self._leave(kind, self.held.pop((kind, name)))
        self._note(f"release {name}")

    def _enter(self, kind: str, tensor: Tensor) -> None:
        holders = self._holders.setdefault(tensor.untyped_storage().data_ptr(), [])
        if not holders:
            self._now[kind] += _elements(tensor)
        holders.append(kind)

    def _leave(self, kind: str, tensor: Tensor) -> None:
        address = tensor.untyped_storage().data_ptr()
        holders = self._holders[address]
        if len(holders) == 1:
            self._now[holders.pop()] -= _elements(tensor)
            del self._holders[address]
        else:
            holders.remove(kind)

    def _note(self, what: str) -> None:
        now = self.now
        self.moments.append((what, now))
        if now.total() > self.peak.total():
            self.peak = now


def _elements(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes() // tensor.element_size()
