"""Look into any `nn.Module` at work. Everything here cleans up after itself."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn


def flatten(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one new vector, in order."""
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def flatten_parameters(module: nn.Module) -> Tensor:
    """The module's parameters as one new vector; a shared one counts once."""
    return flatten(list(module.parameters()))


def flatten_gradients(module: nn.Module) -> Tensor:
    """The gradients as one new vector, in the parameters' order; zeros where there is none."""
    return flatten([_gradient(parameter) for parameter in module.parameters()])


def _gradient(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def write_parameters(module: nn.Module, vector: Tensor) -> None:
    """Copy a vector, as `flatten_parameters` returns it, back into the parameters.

    Raises:
        ValueError: a vector of another length.
    """
    parameters = list(module.parameters())
    with torch.no_grad():
        for parameter, part in zip(parameters, _parts(parameters, vector), strict=True):
            parameter.copy_(part)


def write_gradients(module: nn.Module, vector: Tensor) -> None:
    """Set the gradients from a vector, as `flatten_gradients` returns it.

    Raises:
        ValueError: a vector of another length.
    """
    parameters = list(module.parameters())
    for parameter, part in zip(parameters, _parts(parameters, vector), strict=True):
        parameter.grad = part.clone()


def _parts(parameters: Sequence[Tensor], vector: Tensor) -> list[Tensor]:
    sizes = [parameter.numel() for parameter in parameters]
    if vector.shape != (sum(sizes),):
        raise ValueError(
            f"the vector has shape {tuple(vector.shape)}; the parameters need ({sum(sizes)},)"
        )
    return [part.view(p.shape) for p, part in zip(parameters, vector.split(sizes), strict=True)]


@dataclass(frozen=True)
class Ready:
    """A gradient that has become ready: whose, how many elements, when."""

    name: str
    elements: int
    seconds: float  # since watching began


@contextmanager
def watch_gradients(module: nn.Module) -> Iterator[list[Ready]]:
    """Note each parameter's gradient as it becomes ready in the backward pass, in order."""
    ready: list[Ready] = []
    start = time.perf_counter()

    def note(name: str):
        def hook(parameter: Tensor) -> None:
            ready.append(Ready(name, parameter.numel(), time.perf_counter() - start))

        return hook

    handles = [
        parameter.register_post_accumulate_grad_hook(note(name))
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    ]
    try:
        yield ready
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def watch_units(units: Sequence[nn.Module]) -> Iterator[list[tuple[int, str, str]]]:
    """Note (unit, "forward" or "backward", "enter" or "leave") as each unit is gone through."""
    events: list[tuple[int, str, str]] = []

    def note(*event):
        return lambda *_: events.append(event)

    handles = []
    for i, unit in enumerate(units):
        handles += [
            unit.register_forward_pre_hook(note(i, "forward", "enter")),
            unit.register_forward_hook(note(i, "forward", "leave")),
            unit.register_full_backward_pre_hook(note(i, "backward", "enter")),
            unit.register_full_backward_hook(note(i, "backward", "leave")),
        ]
    try:
        yield events
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def count_activations(module: nn.Module) -> Iterator[list[int]]:
    """Count the bytes that autograd keeps for the backward pass, parameters left out.

    Yields a list with one number, complete when the forward pass is; a storage counts once.
    """
    owned = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    seen: dict[int, Tensor] = {}  # keeps the tensors alive, so that no address is used twice
    total = [0]

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in owned and storage.data_ptr() not in seen:
            seen[storage.data_ptr()] = tensor.detach()
            total[0] += storage.nbytes()
        return tensor

    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            yield total
    finally:
        seen.clear()
