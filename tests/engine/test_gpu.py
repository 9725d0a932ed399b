"""The same over NCCL, where there are GPUs enough: a GPU for each rank."""

from dataclasses import replace

import pytest
import torch

from zerolit import engine, zero
from zerolit.engine import stock
from zerolit.gpt import BASE_CONFIG
from zerolit.zero import tiny_gpt

EXACT = tiny_gpt(replace(BASE_CONFIG, qkv_bias=False, dtype=torch.float64))
FOUND = torch.cuda.device_count()


def needs(size):
    reason = f"NCCL needs a GPU for each of {size} ranks; torch finds {FOUND}"
    return pytest.param(size, marks=pytest.mark.skipif(size > FOUND, reason=reason))


SIZES = [needs(size) for size in (2, 4, 8)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("cut", ["flat", "rows"])
def test_our_programs_over_nccl(size, stage, cut):
    """What is counted is the simulator's; parameters are, too, to float64's rounding."""
    how = {"task": EXACT, "cut": cut, "clip": 0.5}
    real, ours = (
        engine.train(stage, size, 3, device="cuda", **how),
        zero.train(stage, size, 3, **how),
    )
    torch.testing.assert_close(real.parameters, ours.parameters, rtol=0, atol=1e-12)
    assert (real.sent, real.stored, real.peaks) == (ours.sent, ours.stored, ours.peaks)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("which", stock.STOCK)
def test_pytorchs_own_over_nccl(size, which):
    one = zero.train(0, 1, 3, task=EXACT).parameters
    for rank in stock.train(which, size, 3, EXACT, device="cuda"):
        torch.testing.assert_close(rank.parameters, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_a_checkpoint_leaves_the_gpus(size, tmp_path):
    engine.train(3, size, 2, task=EXACT, device="cuda", save=tmp_path / "c")
    rest = zero.train(1, 3, 4, task=EXACT, resume=tmp_path / "c")
    assert rest.continues == "to rounding"
    whole = zero.train(0, 1, 4, task=EXACT).parameters
    torch.testing.assert_close(rest.parameters, whole, rtol=0, atol=1e-12)
