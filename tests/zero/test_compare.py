"""Data parallelism beside one big batch."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from zerolit import zero
from zerolit.gpt import BASE_CONFIG
from zerolit.zero import estimate_noise, tiny_gpt
from zerolit.zero.compare import _sum_in
from zerolit.zero.stages import stage0
from zerolit.zero.train import share_out, task_worker
from zerolit.zero.train import step as take_step

bigger_batch = cache(zero.bigger_batch)
NO_BIAS = replace(BASE_CONFIG, qkv_bias=False)


def test_gradients_at_the_same_parameters_differ_by_rounding_only():
    for step in bigger_batch(steps=20):
        # Gradients here are below 1, sums of 3072 terms; float32 has 24 bits.
        assert 0 < step.gradient_gap < 2**-20
        assert step.mean_loss == pytest.approx(step.single_loss, abs=1e-5)


def test_one_rank_is_itself():
    for step in bigger_batch(size=1, steps=3):
        assert step.gradient_gap == step.parameter_gap == 0
        assert step.single_loss == step.mean_loss


def test_the_keys_bias_leads():
    gaps = bigger_batch(steps=20)[-1].gaps
    assert max(gaps, key=gaps.__getitem__).endswith("qkv.bias.key")


def test_no_gap_is_left_out():
    step = bigger_batch(steps=20)[-1]
    assert step.parameter_gap == max(step.gaps.values())
    # 2 embeddings, 2 blocks of 12 with the qkv bias as three, a norm and the head
    assert len(step.gaps) == 2 + 2 * (12 + 2) + 3


def test_without_the_biases_and_in_float64_the_runs_stay_together():
    steps = bigger_batch(steps=10, task=tiny_gpt(replace(NO_BIAS, dtype=torch.float64)))
    assert all(step.parameter_gap < 1e-12 for step in steps)


def test_adam_magnifies_what_sgd_does_not():
    adam, sgd = bigger_batch(steps=20), bigger_batch(steps=20, sgd=0.1)
    assert sgd[-1].parameter_gap < adam[-1].parameter_gap / 10


def test_threads_change_no_bit():
    assert zero.bigger_batch(steps=3, threads=3) == bigger_batch(steps=20)[:3]


def test_sums_in_float64_do_not_help_gradients_that_are_computed_in_float32():
    steps = bigger_batch(steps=3, master_dtype=torch.float64)
    assert all(0 < step.gradient_gap < 2**-20 for step in steps)


def test_gradients_are_compared_at_the_steps_that_are_told():
    some = zero.bigger_batch(steps=3, gradients=(0, 2))
    every = bigger_batch(steps=20)[:3]
    assert [step.gradient_gap for step in some] == [
        every[0].gradient_gap,
        None,
        every[2].gradient_gap,
    ]
    assert [step.gaps for step in some] == [step.gaps for step in every]


def test_only_the_sum_over_ranks_in_float64():
    """Neither float32 all along, nor float64 in the update; in a float64 model it is no change."""
    wide, narrow = torch.float64, bigger_batch(steps=20)[:3]
    ran = zero.bigger_batch(steps=3, sum_dtype=wide, gradients=())
    updated = zero.bigger_batch(steps=3, master_dtype=wide, gradients=())
    assert [step.gaps for step in ran] not in ([s.gaps for s in narrow], [s.gaps for s in updated])
    task = tiny_gpt(replace(BASE_CONFIG, dtype=wide))
    one, two = (
        zero.bigger_batch(steps=2, task=task, sum_dtype=sum_dtype) for sum_dtype in (None, wide)
    )
    assert one == two


def test_a_sum_in_float64_keeps_what_float32_loses():
    """Four ranks' gradients are 2²⁶, 1, −2²⁶ and 0: float32, with 24 bits, drops the 1."""
    x = 4 * torch.tensor([[2.0**26], [1.0], [-(2.0**26)], [0.0]])
    y = torch.ones(4, 1)  # the loss is divided by four tokens
    task = zero.Task(lambda: [nn.Linear(1, 1, bias=False)], lambda h, y: (h * y).sum(), iter)
    found = []
    for stage in (stage0, _sum_in(torch.float64)):
        workers = [task_worker(task, 0, rank, 4) for rank in range(4)]
        take_step(stage, workers, share_out(x, y, 4, 1))
        found.append({worker.units[0]["gradients"][0].item() for worker in workers})
    assert found == [{0.0}, {1.0}]


def test_elements_are_those_of_the_run():
    first, second = zero.elements(steps=2)
    for apart, step in zip((first, second), bigger_batch(steps=20), strict=False):
        assert {name: part.parameter_gap.max().item() for name, part in apart.items()} == step.gaps
    gap = max(part.gradient_gap.max().item() for part in first.values())
    assert gap == bigger_batch(steps=20)[0].gradient_gap  # both start at the same parameters
    assert sum(len(part.gradient) for part in first.values()) == 111_872


def test_the_first_update_magnifies_by_its_slope():
    """lr·g/(|g| + ε) has the slope lr·ε/(|g| + ε)²; to first order, so Δg is small beside both."""
    lr, eps = 3e-3, 1e-8
    for part in zero.elements(master_dtype=torch.float64)[0].values():
        predicted = lr * eps * part.gradient_gap / (part.gradient + eps) ** 2
        seen = part.parameter_gap > 1e-12  # below, the parameters' own rounding shows
        torch.testing.assert_close(part.parameter_gap[seen], predicted[seen], rtol=0.01, atol=0)


def test_two_runs_share_the_key_biases_noise_at_first_only():
    first, second = (step["1.attention.qkv.bias.key"] for step in zero.elements(steps=2))
    assert first.gradient_gap.max() < first.gradient.max() / 10
    assert second.gradient_gap.max() > second.gradient.max() / 10
    assert first.gradient.max() < 1e-9  # noise, far below ε


def test_fewer_sequences_than_ranks():
    with pytest.raises(ValueError, match="batch_size is 32; 33 ranks need at least 33 sequences"):
        zero.bigger_batch(size=33)


def test_the_noise_estimator_inverts_signal_plus_noise_over_batch():
    signal, noise = 0.25, 12.0
    scale = estimate_noise(8, signal + noise / 8, 32, signal + noise / 32)
    assert scale.signal == pytest.approx(signal) and scale.noise == pytest.approx(noise)
    assert scale.batch == pytest.approx(48)


def test_noise_needs_two_batches():
    with pytest.raises(ValueError, match="batches are 8 and 8; they must be above 0 and grow"):
        estimate_noise(8, 1.0, 8, 1.0)


def test_the_noise_of_the_tiny_model_is_positive_and_seeded():
    one, two = (zero.noise_scale(draws=5, trained=2) for _ in range(2))
    assert one == two and one.noise > 0
