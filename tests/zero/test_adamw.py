"""AdamW on flat vectors: against torch's, by hand, and on slices of every length."""

import pytest
import torch

from zerolit.zero import FlatAdamW


def random(n, seed, dtype=torch.float32):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_it_is_torchs_adamw_bit_for_bit():
    ours, theirs = random(1000, 0), torch.nn.Parameter(random(1000, 0))
    adamw = FlatAdamW(1000)
    judge = torch.optim.AdamW(
        [theirs], lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95), eps=1e-8, foreach=False
    )
    for step in range(1, 20):
        theirs.grad = random(1000, step)
        adamw.step(ours, random(1000, step))
        judge.step()
    assert torch.equal(ours, theirs.detach())


def test_two_steps_by_hand():
    p = torch.tensor([1.0], dtype=torch.float64)
    adamw = FlatAdamW(1, lr=0.1, wd=0.5, betas=(0.5, 0.75), eps=0.0, dtype=torch.float64)
    adamw.step(p, torch.tensor([4.0], dtype=torch.float64))
    # decay to 0.95; m̂ = 4, v̂ = 16: p = 0.95 − 0.1
    assert p.item() == pytest.approx(0.85, rel=1e-12)
    adamw.step(p, torch.tensor([0.0], dtype=torch.float64))
    # m = 1, m̂ = 1/0.75; v = 3, v̂ = 3/0.4375
    expected = 0.85 * 0.95 - 0.1 * (1 / 0.75) / (3 / 0.4375) ** 0.5
    assert p.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("offset", [0, 1, 3, 7])
def test_a_slice_is_updated_to_the_same_bits_as_the_whole(offset):
    for length in range(1, 71):
        n = offset + length + 5
        whole, part = random(n, 1), random(n, 1)
        one, other = FlatAdamW(n), FlatAdamW(length)
        cut = slice(offset, offset + length)
        for step in range(2, 5):
            grads = random(n, step)
            one.step(whole, grads)
            other.step(part[cut], grads[cut])
        assert torch.equal(whole[cut], part[cut])
        assert torch.equal(part[:offset], random(n, 1)[:offset])  # the rest stays put


def test_vectors_of_another_length():
    with pytest.raises(ValueError, match=r"params have shape \(3,\), grads \(4,\); both must be"):
        FlatAdamW(4).step(torch.zeros(3), torch.zeros(4))
