"""The four stages: the same bits, and exactly what the paper says is stored and sent."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
import torch

from zerolit.comm import ProtocolError, Swap, tap
from zerolit.gpt import ALPHABET, BASE_CONFIG, CharTokenizer, build_world, get_batch, make_model
from zerolit.gpt import loss_sum as summed
from zerolit.gpt.hooks import flatten_parameters
from zerolit.zero import STAGES, TINY_GPT, Recipe, tiny_gpt, train
from zerolit.zero.task import draw_batches
from zerolit.zero.train import one_thread, rank_step, share_out, task_worker
from zerolit.zero.train import step as train_step

PSI = 111_872
UNITS = [44 * 64 + 96 * 64, 49_984, 49_984, 128 + 44 * 64]  # embedding, two blocks, head
EXACT = replace(BASE_CONFIG, qkv_bias=False, dtype=torch.float64)
SMALL_TRAFFIC = {"tokens", "loss", "norm"}

run = cache(train)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_every_stage_is_plain_data_parallelism_bit_for_bit(size, clip, stage):
    plain, ours = (run(s, size=size, steps=3, clip=clip) for s in (0, stage))
    assert torch.equal(plain.parameters, ours.parameters)
    assert plain.losses == ours.losses


@pytest.mark.parametrize("clip", [None, 0.5])
def test_with_accumulation_the_stages_agree_in_pairs(clip):
    """0 and 1 add up, then reduce; 2 and 3 reduce, then add up: another order of summation."""
    runs = [run(stage, steps=3, accumulate=4, clip=clip) for stage in range(4)]
    assert torch.equal(runs[0].parameters, runs[1].parameters)
    assert torch.equal(runs[2].parameters, runs[3].parameters)
    gap = (runs[0].parameters - runs[2].parameters).abs().max().item()
    assert 0 < gap <= 3 * 2 * 3e-3  # a step moves a weight by lr, up or down where rounding decides


@pytest.mark.parametrize("stage", range(4))
def test_accumulation_is_the_same_step_in_exact_arithmetic(stage):
    once = run(0, steps=4, task=tiny_gpt(EXACT)).parameters
    torch.testing.assert_close(
        run(stage, steps=4, accumulate=4, task=tiny_gpt(EXACT)).parameters, once, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("divide", ["before", "after"])
def test_where_the_division_stands_changes_bits_but_not_the_stages_agreement(divide):
    runs = [run(stage, size=3, steps=3, divide=divide, clip=0.5) for stage in range(4)]
    assert all(torch.equal(ran.parameters, runs[0].parameters) for ran in runs)
    in_loss = run(0, size=3, steps=3, clip=0.5)
    assert not torch.equal(runs[0].parameters, in_loss.parameters)
    assert runs[0].losses == pytest.approx(in_loss.losses, abs=1e-5)


@pytest.mark.parametrize("divide", ["before", "after"])
def test_where_the_division_stands_is_the_same_in_exact_arithmetic(divide):
    one = run(0, size=1, steps=4, task=tiny_gpt(EXACT)).parameters
    many = run(2, size=3, steps=4, task=tiny_gpt(EXACT), divide=divide, accumulate=2).parameters
    torch.testing.assert_close(many, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(
    "recipe",
    [
        {"cut": "rows"},
        {"cut": "rows", "clip": 0.5, "divide": "after"},
        {"units": "model", "clip": 0.5},
        {"master_dtype": torch.float64, "clip": 0.5},
    ],
    ids=str,
)
def test_other_cuts_units_and_dtypes_are_the_same_in_every_stage(size, recipe):
    plain, *others = (run(stage, size=size, steps=2, **recipe) for stage in range(4))
    for ours in others:
        assert torch.equal(plain.parameters, ours.parameters)
        assert plain.losses == ours.losses


@pytest.mark.parametrize("recipe", [{"cut": "rows"}, {"units": "model"}], ids=str)
def test_other_cuts_and_units_change_bits_only(recipe):
    usual, other = run(0, size=3, steps=2), run(0, size=3, steps=2, **recipe)
    assert not torch.equal(usual.parameters, other.parameters)
    one = run(0, size=1, steps=4, task=tiny_gpt(EXACT)).parameters
    many = run(3, size=3, steps=4, task=tiny_gpt(EXACT), **recipe).parameters
    torch.testing.assert_close(many, one, rtol=0, atol=1e-12)


def test_two_ranks_add_up_in_one_order_only_however_they_are_cut():
    runs = [run(0, size=2, steps=3, **how) for how in ({}, {"cut": "rows"}, {"units": "model"})]
    assert all(torch.equal(ran.parameters, runs[0].parameters) for ran in runs)


def test_the_cut_by_rows_pads_every_parameter_by_its_rows():
    """On 3 ranks: 44 rows of 64 become 45, 64 numbers 66, 64 rows 66, 256 rows 258."""
    head_and_embedding = 45 * 64 + 96 * 64 + 2 * 66 + 45 * 64
    norms_and_biases = 4 * 66 + 192 + 66 + 258 + 66
    block = norms_and_biases + 192 * 64 + 66 * 64 + 258 * 64 + 66 * 256
    padded_by_rows = head_and_embedding + 2 * block
    for stage, halves in enumerate((2, 2, 2, 3)):
        ran = run(stage, size=3, steps=2, cut="rows")
        assert ran.padded == padded_by_rows
        assert [model_traffic(counts) for counts in ran.sent] == [
            halves * 2 * padded_by_rows // 3
        ] * 3


@pytest.mark.parametrize("stage", range(4))
def test_gradients_travel_in_the_master_dtype_and_parameters_in_the_models(stage):
    ((x, y),) = draw_batches(1, 32, 96)
    recipe = Recipe(master_dtype=torch.float64)
    workers = [task_worker(TINY_GPT, stage, rank, 4, recipe) for rank in range(4)]
    sent = set()

    def watched(worker, batches):
        program = STAGES[stage](worker, batches)
        return tap(program, look)

    def look(swap):
        if swap.to is not None:
            sent.add((swap.phase, swap.payload.dtype))

    train_step(watched, workers, share_out(x, y, 4, 1))
    assert ("gradients", torch.float64) in sent
    assert ("parameters", torch.float32) in sent or stage == 0
    assert not sent & {("gradients", torch.float32), ("parameters", torch.float64)}


@pytest.mark.parametrize("stage", range(4))
def test_with_a_master_dtype_one_rank_is_mixed_precision_by_hand(stage):
    """float32 passes; gradients summed and parameters updated in float64, then rounded."""
    model = make_model()
    masters = [p.detach().double() for p in model.parameters()]
    adamw = torch.optim.AdamW(masters, lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95), foreach=False)
    with one_thread():
        for x, y in draw_batches(3, 32, 96):
            (summed(model(x), y) / y.numel()).backward()
            for master, param in zip(masters, model.parameters(), strict=True):
                master.grad, param.grad = param.grad.double(), None
            adamw.step()
            with torch.no_grad():
                for master, param in zip(masters, model.parameters(), strict=True):
                    param.copy_(master)
    ours = run(stage, size=1, steps=3, master_dtype=torch.float64).parameters
    assert torch.equal(ours, flatten_parameters(model))


@pytest.mark.parametrize("stage", range(4))
def test_threads_change_no_bit(stage):
    one, many = run(stage, steps=2, clip=0.5), train(stage, steps=2, clip=0.5, threads=3)
    assert torch.equal(one.parameters, many.parameters) and one.losses == many.losses
    assert one.sent == many.sent and one.moments == many.moments


def test_clipping_clips():
    free, clipped = run(0, steps=3), run(0, steps=3, clip=0.5)
    assert not torch.equal(free.parameters, clipped.parameters)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_one_rank_is_ordinary_training_bit_for_bit(clip):
    data = torch.tensor(CharTokenizer(ALPHABET).encode(build_world().train_text()))
    model, generator = make_model(), torch.Generator().manual_seed(1)
    adamw = torch.optim.AdamW(
        model.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95), foreach=False
    )
    with one_thread():
        for _ in range(3):
            x, y = get_batch(data, 32, 96, generator)
            adamw.zero_grad()
            (summed(model(x), y) / y.numel()).backward()
            if clip:
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                assert norm > clip
            adamw.step()
    ours = run(3, size=1, steps=3, clip=clip).parameters
    if clip is None:
        assert torch.equal(ours, flatten_parameters(model))
    else:  # torch adds the norm up by parameters, we by units
        torch.testing.assert_close(ours, flatten_parameters(model), rtol=0, atol=2e-5)


@pytest.mark.parametrize("size", [2, 3, 4, 8])
@pytest.mark.parametrize("stage", [0, 3])
def test_in_float64_every_size_is_one_process(size, stage):
    one = run(0, size=1, steps=4, task=tiny_gpt(EXACT)).parameters
    many = run(stage, size=size, steps=4, task=tiny_gpt(EXACT)).parameters
    torch.testing.assert_close(many, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cut", ["flat", "rows"])
def test_padding_stays_out_of_the_sums_and_the_norm(cut):
    """7 ranks divide nothing here. What the padding holds, and its m and v, stays zero."""
    one, many = (run(2, size=n, steps=4, task=tiny_gpt(EXACT), clip=0.1, cut=cut) for n in (1, 7))
    torch.testing.assert_close(many.parameters, one.parameters, rtol=0, atol=1e-12)
    ((x, y),) = draw_batches(1, 32, 96)
    workers = [task_worker(TINY_GPT, 3, rank, 7, Recipe(cut=cut)) for rank in range(7)]
    train_step(STAGES[3], workers, share_out(x, y, 7, 1))
    for i, unit in enumerate(workers[0].units):
        ones = unit.layout.flatten(
            [torch.ones(shape) for shape in unit.layout.shapes], torch.float32
        )
        for worker in workers:
            adamw = worker.adamw[unit.name]
            padding = unit.shares(ones)[worker.rank] == 0
            held = worker.units[i]
            for vector in (held["parameters"], held["gradients"], adamw.m, adamw.v):
                assert not vector[padding].any()


def test_unequal_ranks_are_weighted_by_their_tokens():
    """3 ranks have 11, 11 and 10 of 32 sequences; a mean of their means would be off by far."""
    one, three = (run(0, size=size, steps=4, task=tiny_gpt(EXACT)) for size in (1, 3))
    assert three.losses == pytest.approx(one.losses, abs=1e-12)


def padded(size):
    return sum(-(-unit // size) * size for unit in UNITS)


def model_traffic(counts):
    return sum(n for phase, n in counts.items() if phase not in SMALL_TRAFFIC)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(("stage", "halves"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_every_rank_sends_what_the_paper_says(size, stage, halves):
    ran = run(stage, size=size, steps=3, clip=0.5)
    expected = Fraction(halves * (size - 1), size) * padded(size)
    assert [model_traffic(counts) for counts in ran.sent] == [expected] * size
    if size == 4:  # divides every unit: nothing is padded
        assert expected == Fraction(halves * 3, 4) * PSI


@pytest.mark.parametrize(("stage", "times"), [(0, 2), (1, 2), (2, 4 + 1), (3, 3 * 4)])
def test_accumulation_changes_the_traffic(stage, times):
    """With G = 4 micro-batches: 2, 2, G + 1 and 3G halves of an all-reduce."""
    ran = run(stage, steps=3, accumulate=4)
    assert [model_traffic(counts) for counts in ran.sent] == [times * 3 * PSI // 4] * 4


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
def test_every_rank_stores_what_the_paper_says(size):
    psi, share = padded(size), padded(size) // size
    wanted = [(psi, psi, 2 * psi), (psi, psi, 2 * share), (psi, share, 2 * share)]
    wanted.append((share, share, 2 * share))
    for stage, (parameters, gradients, optimizer) in enumerate(wanted):
        ran = run(stage, size=size, steps=3, clip=0.5)
        full = {"parameters": parameters, "gradients": gradients, "optimizer": optimizer}
        assert ran.stored == [full] * size
        del full["gradients"]
        assert ran.released == [full] * size


def test_on_four_ranks_that_is_4_and_two_and_a_half_and_one_and_three_quarters_and_1():
    totals = [run(stage, steps=3, clip=0.5).stored[0].total() for stage in range(4)]
    assert totals == [4 * PSI, 2.5 * PSI, 1.75 * PSI, PSI]


def test_stage_2_never_holds_more_than_its_slices_and_one_units_gradient():
    for rank in run(2, steps=3).moments:
        assert max(now["gradients"] for _, now in rank) == PSI // 4 + max(UNITS)


def test_stage_3_never_holds_more_than_its_slices_one_unit_and_that_units_gradient():
    ran = run(3, steps=3)
    for peak, rank in zip(ran.peaks, ran.moments, strict=True):
        assert peak.total() == PSI + 2 * max(UNITS)
        assert max(now["gathered"] for _, now in rank) == max(UNITS)


def test_stage_3_gathers_every_unit_exactly_twice_for_each_micro_batch():
    for rank in run(3, steps=3, accumulate=4).moments:
        releases = [what for what, now in rank if what.startswith("release unit")]
        # One more release each is that of its gradients, after the step.
        assert [releases.count(f"release unit {i}") for i in range(4)] == [2 * 4] * 4


def test_a_run_repeated_after_other_work_gives_the_same_bits():
    first = train(2, size=2, steps=2)
    torch.manual_seed(7)
    torch.rand(100)
    again = train(2, size=2, steps=2)
    assert torch.equal(first.parameters, again.parameters) and first.losses == again.losses


def test_the_number_of_threads_is_restored():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(0, size=1, steps=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_yield_with_gradients_switched_off_is_refused():
    def leaky(worker, batches):
        with torch.no_grad():
            yield Swap(torch.zeros(1), to=0)

    program = rank_step(leaky, task_worker(TINY_GPT, 0, 2, 3), [])
    with pytest.raises(ProtocolError, match="rank 2 yields with gradients switched off"):
        next(program)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"stage": 4}, "stage is 4; it must be 0, 1, 2 or 3"),
        ({"stage": 0, "size": 0}, "size is 0, steps 15; both must be at least 1"),
        ({"stage": 0, "steps": 0}, "size is 4, steps 0; both must be at least 1"),
        ({"stage": 0, "accumulate": 0}, "accumulate is 0; it must be at least 1"),
        ({"stage": 0, "clip": 0.0}, "clip is 0.0; it must be above 0, or None"),
        ({"stage": 0, "lr": 0.0}, "lr is 0.0; it must be above 0"),
        ({"stage": 0, "lr": float("nan")}, "lr is nan; it must be above 0"),
        ({"stage": 0, "wd": -0.1}, "wd is -0.1; it must be 0 or more"),
        ({"stage": 0, "cut": "columns"}, "cut is 'columns'; it must be one of flat, rows"),
        ({"stage": 0, "units": "layer"}, "units is 'layer'; it must be one of block, model"),
        ({"stage": 0, "threads": 0}, "threads is 0; it must be at least 1"),
        (
            {"stage": 0, "size": 5, "accumulate": 7},
            "batch_size is 32; 5 ranks with 7 micro-batches",
        ),
        (
            {"stage": 0, "divide": "twice"},
            "divide is 'twice'; it must be one of loss,",
        ),
    ],
)
def test_bad_arguments(arguments, told):
    with pytest.raises(ValueError, match=told):
        train(**arguments)
