"""Data parallelism beside one big batch."""

from dataclasses import replace
from functools import cache

import pytest
import torch

from zerolit import zero
from zerolit.gpt import BASE_CONFIG
from zerolit.zero import estimate_noise, tiny_gpt

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
