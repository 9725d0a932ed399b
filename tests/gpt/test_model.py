"""The tiny GPT: sizes, seeds, causality, and that it learns."""

from dataclasses import replace

import pytest
import torch

from zerolit.gpt import (
    ALPHABET,
    BASE_CONFIG,
    CharTokenizer,
    build_world,
    get_batch,
    loss_sum,
    make_model,
)
from zerolit.gpt.hooks import flatten_parameters

TOKENS = torch.arange(96).remainder(44).repeat(2, 1)


def test_the_base_model_has_111872_parameters():
    # token 44·64, position 96·64, head 44·64, its norm 2·64: 186·64 in all.
    # Per block: qkv 3·64·(64+1), out 64·(64+1), up 256·(64+1), down 64·(256+1), two norms 4·64.
    block = 3 * 64 * 65 + 64 * 65 + 256 * 65 + 64 * 257 + 4 * 64
    assert flatten_parameters(make_model()).numel() == 186 * 64 + 2 * block == 111_872


def test_logits_have_a_place_per_character():
    assert make_model()(TOKENS).shape == (2, 96, 44)


def test_a_seed_settles_the_bits_whatever_ran_before():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one = flatten_parameters(make_model(seed=3))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(7)
    assert torch.equal(flatten_parameters(make_model(seed=3)), one)
    assert not torch.equal(flatten_parameters(make_model(seed=4)), one)


def test_no_position_sees_what_comes_after_it():
    model, changed = make_model(), TOKENS.clone()
    changed[:, 50] = 7
    one, other = model(TOKENS), model(changed)
    assert torch.equal(one[:, :50], other[:, :50])
    assert not torch.equal(one[:, 50:], other[:, 50:])


def test_tied_weights_are_one_parameter():
    model = make_model(replace(BASE_CONFIG, tied=True))
    assert model.units[-1].linear.weight is model.units[0].token.weight
    assert flatten_parameters(model).numel() == 111_872 - 44 * 64


def test_without_qkv_bias():
    model = make_model(replace(BASE_CONFIG, qkv_bias=False))
    assert flatten_parameters(model).numel() == 111_872 - 2 * 3 * 64


def test_float64():
    model = make_model(replace(BASE_CONFIG, dtype=torch.float64))
    assert {p.dtype for p in model.parameters()} == {torch.float64}


def test_a_width_that_the_heads_do_not_divide():
    with pytest.raises(ValueError, match="width is 63; it must be a multiple of heads, 4"):
        make_model(replace(BASE_CONFIG, width=63))


def test_the_key_bias_has_no_gradient_in_exact_arithmetic():
    model = make_model(replace(BASE_CONFIG, dtype=torch.float64))
    loss_sum(model(TOKENS), TOKENS.roll(-1, 1)).backward()
    for block in model.units[1:-1]:
        q, k, v = block.attention.qkv.bias.grad.split(64)
        assert k.abs().max() < 1e-9 * max(q.abs().max(), v.abs().max())


def test_the_loss_is_summed_over_tokens():
    logits = torch.zeros(2, 3, 44)
    assert loss_sum(logits, torch.zeros(2, 3, dtype=torch.int64)).item() == pytest.approx(
        6 * torch.tensor(44.0).log().item()
    )


def test_it_learns():
    """From ln 44 = 3.78 nats per character to far below what letter frequencies alone give."""
    text = build_world().train_text()
    data = torch.tensor(CharTokenizer(ALPHABET).encode(text))
    frequencies = torch.bincount(data).double() / len(data)
    entropy = -(frequencies * frequencies.log()).sum().item()
    model, generator = make_model(), torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(60):
        x, y = get_batch(data, 32, 96, generator)
        loss = loss_sum(model(x), y) / y.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(torch.tensor(44.0).log().item(), abs=0.1)
    assert losses[-1] < 0.8 * entropy
