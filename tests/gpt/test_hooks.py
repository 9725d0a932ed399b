"""The hooks: what they see, on models small enough to know it by hand, and that they leave."""

import pytest
import torch
from torch import nn

from zerolit.gpt import loss_sum, make_model
from zerolit.gpt.hooks import (
    count_activations,
    flatten_gradients,
    flatten_parameters,
    watch_gradients,
    watch_units,
    write_gradients,
    write_parameters,
)

X = torch.arange(20).reshape(2, 10)


def linear() -> nn.Linear:
    module = nn.Linear(2, 1)
    write_parameters(module, torch.tensor([1.0, 2.0, 3.0]))
    return module


def test_parameters_flat_and_back():
    module = linear()
    assert module.weight.tolist() == [[1, 2]] and module.bias.tolist() == [3]
    vector = flatten_parameters(module)
    assert vector.tolist() == [1, 2, 3]
    vector.zero_()
    assert module.bias.item() == 3  # a copy, not a view


def test_gradients_flat_and_back():
    module = linear()
    assert flatten_gradients(module).tolist() == [0, 0, 0]
    write_gradients(module, torch.tensor([4.0, 5.0, 6.0]))
    assert module.weight.grad.tolist() == [[4, 5]] and module.bias.grad.tolist() == [6]
    assert flatten_gradients(module).tolist() == [4, 5, 6]


@pytest.mark.parametrize("write", [write_parameters, write_gradients])
def test_a_vector_of_another_length(write):
    with pytest.raises(
        ValueError, match=r"the vector has shape \(4,\); the parameters need \(3,\)"
    ):
        write(linear(), torch.zeros(4))


def test_gradients_become_ready_from_the_last_unit_to_the_first():
    model = make_model()
    with watch_gradients(model) as ready:
        loss_sum(model(X), X).backward()
    units = [int(r.name.split(".")[1]) for r in ready]
    assert units == sorted(units, reverse=True) and set(units) == {0, 1, 2, 3}
    assert sum(r.elements for r in ready) == 111_872
    assert [r.seconds for r in ready] == sorted(r.seconds for r in ready)


def test_units_are_entered_and_left_in_order():
    model = make_model()
    with watch_units(model.units[1:]) as events:  # the embedding's input has no gradient
        loss_sum(model(X), X).backward()
    forward = [(i, "forward", way) for i in range(3) for way in ("enter", "leave")]
    backward = [(i, "backward", way) for i in (2, 1, 0) for way in ("enter", "leave")]
    assert events == forward + backward


def test_activations_are_counted_once_and_parameters_not():
    module = nn.Sequential(nn.Linear(3, 5, bias=False), nn.Tanh())
    x = torch.ones(7, 3)
    with count_activations(module) as total:
        module(x)
    # The linear layer keeps its input, 7·3 floats; tanh keeps its output, 7·5.
    assert total == [4 * (7 * 3 + 7 * 5)]


def test_nothing_stays_behind():
    model = make_model()
    with (
        pytest.raises(RuntimeError, match="stop"),
        watch_gradients(model),
        watch_units(model.units),
    ):
        raise RuntimeError("stop")
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())
    for unit in model.units:
        hooks = (unit._forward_pre_hooks, unit._forward_hooks)
        assert not any(hooks) and not unit._backward_hooks and not unit._backward_pre_hooks
