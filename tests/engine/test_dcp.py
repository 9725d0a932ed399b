"""torch.distributed.checkpoint's format: ours into DDP and FSDP2 and back, at other sizes."""

from dataclasses import replace
from functools import cache

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch import nn

from zerolit import engine, zero
from zerolit.engine import EngineError
from zerolit.engine.stock import train
from zerolit.gpt import BASE_CONFIG
from zerolit.zero import TINY_GPT, Task, checkpoint, tiny_gpt

EXACT = tiny_gpt(replace(BASE_CONFIG, qkv_bias=False, dtype=torch.float64))
AS_FSDP2 = {"cut": "rows", "direction": -1}
simulated = cache(zero.train)


def stock(which, size, steps, task=TINY_GPT, **folders):
    return train(which, size, steps, task, **folders)[0].parameters


def test_fsdp2_goes_on_from_ours_to_the_bit(tmp_path):
    """Saved by real processes of ours, exported, loaded by FSDP2."""
    engine.train(3, 4, 2, save=tmp_path / "ours", **AS_FSDP2)
    checkpoint.export(tmp_path / "ours", tmp_path / "dcp")
    gone_on = stock("fsdp2", 4, 4, resume=tmp_path / "dcp")
    assert torch.equal(gone_on, simulated(3, 4, 4, **AS_FSDP2).parameters)


def test_ours_goes_on_from_fsdp2_to_the_bit(tmp_path):
    stock("fsdp2", 4, 2, save=tmp_path / "dcp")
    rest = zero.train(3, 4, 4, resume=tmp_path / "dcp", **AS_FSDP2)
    assert rest.continues == "unknown"  # nobody wrote down how it was trained
    assert torch.equal(rest.parameters, simulated(3, 4, 4, **AS_FSDP2).parameters)


@pytest.mark.parametrize("which", ["ddp", "fsdp2", "hsdp"])
def test_there_and_back_at_other_sizes(tmp_path, which):
    """Two steps of ours on 3 ranks, two of PyTorch's on 2, two of ours on 5, as one of six."""
    zero.train(1, 3, 2, task=EXACT, save=tmp_path / "ours")
    checkpoint.export(tmp_path / "ours", tmp_path / "there")
    stock(which, 2, 4, EXACT, resume=tmp_path / "there", save=tmp_path / "back")
    rest = zero.train(2, 5, 6, task=EXACT, resume=tmp_path / "back").parameters
    whole = simulated(0, 1, 6, task=EXACT).parameters
    torch.testing.assert_close(rest, whole, rtol=0, atol=1e-12)


def test_an_exported_checkpoint_is_still_ours(tmp_path):
    """It says how it was trained, and gives back the same bits."""
    zero.train(2, 3, 2, save=tmp_path / "ours", cut="rows")
    checkpoint.export(tmp_path / "ours", tmp_path / "dcp")
    ours, theirs = (checkpoint.load(tmp_path / name) for name in ("ours", "dcp"))
    assert (theirs.step, theirs.about) == (2, ours.about)
    for kind, tensors in ours.tensors.items():
        assert list(tensors) == list(theirs.tensors[kind])
        assert all(torch.equal(t, theirs.tensors[kind][name]) for name, t in tensors.items())
    rest = zero.train(2, 3, 4, resume=tmp_path / "dcp", cut="rows")
    assert rest.continues == "bitwise"
    assert torch.equal(rest.parameters, simulated(2, 3, 4, cut="rows").parameters)


def odd_units():
    """A frozen parameter, a buffer, and a tied weight."""
    torch.manual_seed(0)
    first, last = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    last.weight = first.weight
    return [first, Odd(), last]


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = nn.Parameter(torch.rand(4), requires_grad=False)
        self.scale = nn.Parameter(torch.rand(4))
        self.register_buffer("constant", torch.ones(4))

    def forward(self, x):
        return x * self.scale + self.frozen * self.constant


def squares(output, y):
    return (output - y).square().sum()


def odd_batches(steps, batch_size):
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        yield torch.rand(batch_size, 4, generator=generator), torch.ones(batch_size, 4)


def test_a_model_with_more_than_what_is_trained(tmp_path):
    """Ours, exported, on DDP; and what DDP saves on ours: as one run of ours."""
    odd = Task(odd_units, squares, odd_batches)
    zero.train(1, 2, 2, task=odd, save=tmp_path / "ours")
    checkpoint.export(tmp_path / "ours", tmp_path / "there")
    own = train("ddp", 2, 4, odd, resume=tmp_path / "there", save=f"{tmp_path}/back")
    rest = zero.train(3, 2, 6, task=odd, resume=tmp_path / "back").parameters
    torch.testing.assert_close(rest, zero.train(0, 1, 6, task=odd).parameters)
    assert own[0].stored["parameters"] == 16 + 2 * 4


def more_units():
    return [*odd_units(), nn.Linear(4, 4)]


def test_pytorchs_own_refuse_a_checkpoint_that_lacks_what_is_trained(tmp_path):
    train("ddp", 2, 1, Task(odd_units, squares, odd_batches), save=tmp_path / "c")
    with pytest.raises(EngineError, match=r"lacks model.3.weight, which is trained here"):
        train("ddp", 2, 2, Task(more_units, squares, odd_batches), resume=tmp_path / "c")


def test_damage_is_told(tmp_path):
    stock("fsdp2", 2, 1, save=tmp_path / "dcp")
    for path in (tmp_path / "dcp").glob("*.distcp"):
        path.unlink()
    with pytest.raises(ValueError, match="dcp is damaged: "):
        checkpoint.load(tmp_path / "dcp")


def test_the_wrong_format_is_told(tmp_path):
    zero.train(0, 1, 1, save=tmp_path / "ours")
    for resume in (tmp_path / "ours", tmp_path / "nothing"):
        with pytest.raises(ValueError, match=f"{resume.name} is no checkpoint in PyTorch's format"):
            stock("ddp", 2, 2, resume=resume)
    checkpoint.export(tmp_path / "ours", tmp_path / "dcp")
    with pytest.raises(ValueError, match="dcp is in that format already"):
        checkpoint.export(tmp_path / "dcp", tmp_path / "again")
    with pytest.raises(ValueError, match="dcp exists; choose another place"):
        checkpoint.export(tmp_path / "ours", tmp_path / "dcp")


def test_a_checkpoint_of_something_else(tmp_path):
    dcp.save({"weights": torch.ones(3)}, checkpoint_id=tmp_path / "dcp", no_dist=True)
    with pytest.raises(ValueError, match="dcp lacks 'model'; it must hold model and optim"):
        checkpoint.load(tmp_path / "dcp")


def test_another_model_is_refused(tmp_path):
    stock("fsdp2", 2, 1, save=tmp_path / "dcp")
    wide = tiny_gpt(replace(BASE_CONFIG, width=32))
    with pytest.raises(ValueError, match=r"0.token.weight has shape \[44, 64\] in the checkpoint"):
        zero.train(3, 2, 2, task=wide, resume=tmp_path / "dcp")
