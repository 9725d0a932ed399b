"""Models that are not the plain tiny GPT: tied, partly frozen, with parameters that nobody uses."""

import re
from dataclasses import replace
from functools import cache
from itertools import islice

import pytest
import torch
from torch import nn

from zerolit.gpt import BASE_CONFIG, make_model
from zerolit.gpt import loss_sum as summed
from zerolit.gpt.hooks import flatten_parameters
from zerolit.zero import STAGES, Recipe, Task, tiny_gpt, train
from zerolit.zero.task import draw_batches
from zerolit.zero.train import make_worker, one_thread, share_out, step

TIED = replace(BASE_CONFIG, tied=True)
EMBEDDING, BLOCK, HEAD = 44 * 64 + 96 * 64, 49_984, 128  # a tied head owns its norm only
PSI = EMBEDDING + 2 * BLOCK + HEAD

run = cache(train)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("cut", ["flat", "rows"])
def test_tied_every_stage_is_plain_data_parallelism_bit_for_bit(size, cut):
    plain, *others = (
        run(s, size=size, steps=3, task=tiny_gpt(TIED), clip=0.5, cut=cut) for s in range(4)
    )
    assert len(plain.parameters) == PSI
    assert all(torch.equal(ours.parameters, plain.parameters) for ours in others)


@pytest.mark.parametrize("stage", [0, 3])
def test_tied_one_rank_is_ordinary_training_bit_for_bit(stage):
    model = make_model(TIED)
    adamw = torch.optim.AdamW(
        model.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95), foreach=False
    )
    with one_thread():
        for x, y in draw_batches(3, 32, 96):
            adamw.zero_grad()
            (summed(model(x), y) / y.numel()).backward()
            adamw.step()
    ours = run(stage, size=1, steps=3, task=tiny_gpt(TIED)).parameters
    assert torch.equal(ours, flatten_parameters(model))


@pytest.mark.parametrize("units", ["block", "model"])
def test_tied_many_ranks_are_one_in_exact_arithmetic(units):
    exact = replace(TIED, qkv_bias=False, dtype=torch.float64)
    one = run(0, size=1, steps=4, task=tiny_gpt(exact)).parameters
    many = run(3, size=3, steps=4, task=tiny_gpt(exact), accumulate=2, units=units).parameters
    torch.testing.assert_close(many, one, rtol=0, atol=1e-12)


def test_a_tied_gradient_is_reduced_once_and_its_owner_gathered_twice_more():
    """The head computes with the embedding's weights: ZeRO-3 gathers that unit for it as well."""
    for stage, sent in enumerate((2 * PSI, 2 * PSI, 2 * PSI, 3 * PSI + 2 * EMBEDDING)):
        (counts, *_) = run(stage, steps=2, task=tiny_gpt(TIED)).sent
        assert counts["gradients"] + counts["parameters"] == sent * 3 // 4
        assert counts["gradients"] == (2 * PSI if stage == 0 else PSI) * 3 // 4


def test_a_tied_gradient_waits_for_its_owner_in_whole():
    """ZeRO-2 keeps what the head found for the embedding through the backward pass."""
    held = [now["gradients"] for _, now in run(2, steps=2, task=tiny_gpt(TIED)).moments[0]]
    assert max(held) == PSI // 4 + 44 * 64 + BLOCK


# A model that is not a GPT: 3 → 5 → 4 → 2, with a parameter that nobody uses, and a frozen unit.


class Odd(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.linear, self.unused = nn.Linear(n, m), nn.Linear(m, 2)

    def forward(self, h):
        return self.linear(h).tanh()


def odd_modules(frozen=()):
    torch.manual_seed(3)
    modules = [Odd(3, 5), Odd(5, 4), nn.Sequential(nn.Tanh()), nn.Linear(4, 2)]
    for i in frozen:
        modules[i].requires_grad_(False)
    return modules


def squares(output, y):
    return (output - y).square().sum()


def batch(i):
    random = torch.Generator().manual_seed(i)
    return torch.randn(7, 3, generator=random), torch.randn(7, 2, generator=random)


def train_odd(stage, size, frozen=(), cut="flat"):
    workers = [
        make_worker(stage, rank, size, odd_modules(frozen), squares, Recipe(cut=cut, clip=0.1))
        for rank in range(size)
    ]
    for i in range(3):
        step(STAGES[stage], workers, share_out(*batch(i), size, 1))
        for worker in workers:
            for unit in worker.units:
                unit.release("gradients")
    layouts = [unit.layout for unit in workers[0].units]
    return [
        layout.join([w.units[i].part("parameters", layout.share) for w in workers])
        for i, layout in enumerate(layouts)
    ]


def judge_odd(frozen=()):
    """The same with torch's own optimizer and clipping."""
    model = nn.Sequential(*odd_modules(frozen))
    trained = [p for p in model.parameters() if p.requires_grad]
    adamw = torch.optim.AdamW(trained, lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95), foreach=False)
    for i in range(3):
        x, y = batch(i)
        adamw.zero_grad()
        (squares(model(x), y) / y.numel()).backward()
        nn.utils.clip_grad_norm_(trained, 0.1)
        adamw.step()
    return [
        torch.cat(
            [p.detach().flatten() for p in part.parameters() if p.requires_grad] or [x[:0, 0]]
        )
        for part in model
    ]


@pytest.mark.parametrize("frozen", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("cut", ["flat", "rows"])
@pytest.mark.parametrize("stage", range(4))
def test_what_has_no_gradient_stays_put(stage, frozen, cut):
    """Unused parameters do not even decay: torch's optimizer leaves what has no .grad."""
    ours, judge = train_odd(stage, 3, frozen, cut), judge_odd(frozen)
    for mine, theirs in zip(ours, judge, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5)
    if 0 not in frozen:
        at_first = odd_modules()[0].unused.weight.detach().flatten()
        assert torch.equal(ours[0][20 : 20 + 10], at_first)  # after 15 weights and 5 biases


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_odd_models_are_the_same_in_every_stage(stage):
    plain, ours = train_odd(0, 3, (1,)), train_odd(stage, 3, (1,))
    assert all(torch.equal(a, b) for a, b in zip(plain, ours, strict=True))


class Sometimes(nn.Module):
    """Uses its weight on positive inputs only."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, h):
        return h * self.weight if h.max() > 0 else h


@pytest.mark.parametrize("stage", range(4))
def test_a_parameter_that_one_rank_alone_reaches_is_updated_on_all(stage):
    workers = [make_worker(stage, r, 2, [Sometimes()], squares) for r in range(2)]
    x = torch.tensor([[1.0, 2.0], [-1.0, -2.0]])  # rank 0's sequence, and rank 1's
    step(STAGES[stage], workers, share_out(x, torch.zeros(2, 2), 2, 1))
    # AdamW's first step, whatever the gradient: decay, then lr against its sign.
    expected = 1 * (1 - 3e-3 * 0.1) - 3e-3
    shares = [worker.units[0].part("parameters", 1) for worker in workers]
    assert torch.cat(shares).tolist() == pytest.approx([expected] * 2, abs=1e-6)


@pytest.mark.parametrize("stage", range(4))
def test_a_parameter_that_a_later_step_does_not_reach_stays_put_in_it(stage):
    workers = [make_worker(stage, r, 2, [Sometimes()], squares) for r in range(2)]
    x = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
    kept = []
    for sign in (1, -1):
        step(STAGES[stage], workers, share_out(sign * x, torch.zeros(2, 2), 2, 1))
        unit = workers[0].units[0]
        unit.release("gradients")
        workers[1].units[0].release("gradients")
        kept.append((unit.part("parameters", 1).clone(), workers[0].adamw[unit.name].m.clone()))
    (first, m), (second, same_m) = kept
    assert torch.equal(first, second) and torch.equal(m, same_m) and m.any()


def test_a_frozen_part_may_have_a_dtype_of_its_own():
    """bf16, not trained, before float32, which is."""
    frozen = nn.Linear(3, 4, dtype=torch.bfloat16).requires_grad_(False)
    trained = nn.Linear(4, 2)
    workers = [make_worker(1, r, 2, [frozen, Widen(), trained], squares) for r in range(2)]
    x = torch.ones(2, 3, dtype=torch.bfloat16)
    step(STAGES[1], workers, share_out(x, torch.zeros(2, 2), 2, 1))
    assert workers[0].units[-1]["parameters"].dtype == torch.float32


class Widen(nn.Module):
    def forward(self, x):
        return x.float()


@pytest.mark.parametrize("varies", [nn.Dropout(0.5), nn.BatchNorm1d(4)], ids=str)
def test_what_varies_is_refused(varies):
    told = f"the model contains {varies}, whose output is not the same each time"
    with pytest.raises(ValueError, match=re.escape(told)):
        make_worker(0, 0, 2, [nn.Linear(4, 4), nn.Sequential(varies)], squares)
    make_worker(0, 0, 2, [nn.Linear(4, 4), varies.eval(), nn.Dropout(0.0)], squares)
    with pytest.raises(ValueError, match="make_units gave no modules"):
        make_worker(0, 0, 2, [], squares)


def linear_units():
    return [nn.Linear(4, 2)]


def batches_without_end(steps, batch_size):
    while True:
        yield torch.ones(batch_size, 4), torch.zeros(batch_size, 2)


def two_batches(steps, batch_size):
    return islice(batches_without_end(steps, batch_size), 2)


def test_batches_without_end_end_with_the_run_and_too_few_are_told(tmp_path):
    assert len(train(1, 2, 3, task=Task(linear_units, squares, batches_without_end)).losses) == 3
    few = Task(linear_units, squares, two_batches)
    with pytest.raises(ValueError, match="draw_batches gave 2 batches; it must give as many as st"):
        train(1, 2, 3, task=few, save=tmp_path / "c")
    assert not (tmp_path / "c").exists()
    train(1, 2, 2, task=few, save=tmp_path / "c")
    with pytest.raises(ValueError, match="draw_batches gave 2 batches"):
        train(1, 2, 4, task=few, resume=tmp_path / "c")


def test_a_task_that_does_not_say_what_it_is_goes_on_somehow(tmp_path):
    plain = Task(linear_units, squares, batches_without_end)
    train(1, 2, 1, task=plain, save=tmp_path / "c")
    assert train(1, 2, 2, task=plain, resume=tmp_path / "c").continues == "unknown"
    told = Task(linear_units, squares, batches_without_end, {"what": "linear"})
    train(1, 2, 1, task=told, save=tmp_path / "c")
    assert train(1, 2, 2, task=told, resume=tmp_path / "c").continues == "bitwise"


def test_frozen_parameters_are_counted_on_every_rank():
    for stage in range(4):
        worker = make_worker(stage, 0, 2, odd_modules((1,)), squares)
        frozen = 5 * 4 + 4 + 4 * 2 + 2
        lengths = [unit.layout.share if stage == 3 else unit.layout.padded for unit in worker.units]
        assert worker.memory.now["parameters"] == frozen + sum(lengths)
