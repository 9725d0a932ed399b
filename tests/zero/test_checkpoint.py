"""Checkpoints: stopping and going on changes no bit, and a bad file is refused by name."""

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from zerolit import engine, zero
from zerolit.gpt import ALPHABET, BASE_CONFIG
from zerolit.zero import checkpoint, tiny_gpt
from zerolit.zero.train import task_worker

train = cache(zero.train)
DOUBLE = replace(BASE_CONFIG, dtype=torch.float64)
EXACT = replace(BASE_CONFIG, qkv_bias=False, dtype=torch.float64)


@pytest.fixture
def saved(tmp_path):
    zero.train(2, size=3, steps=2, save=tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_run_that_stops_and_goes_on_is_one_run(tmp_path, stage, stop):
    first = zero.train(stage, size=3, steps=stop, save=tmp_path / "c")
    rest = zero.train(stage, size=3, steps=4, resume=tmp_path / "c")
    whole = train(stage, size=3, steps=4)
    assert torch.equal(rest.parameters, whole.parameters)
    assert first.losses + rest.losses == whole.losses


@pytest.mark.parametrize("stage", range(4))
def test_any_stage_goes_on_from_any_other_to_the_bit(saved, stage):
    whole = train(0, size=3, steps=4)
    assert torch.equal(
        zero.train(stage, size=3, steps=4, resume=saved).parameters, whole.parameters
    )


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_another_number_of_ranks_goes_on_in_exact_arithmetic(tmp_path, size):
    zero.train(3, size=3, steps=2, task=tiny_gpt(EXACT), save=tmp_path / "c")
    gone_on = zero.train(
        1, size=size, steps=4, task=tiny_gpt(EXACT), resume=tmp_path / "c"
    ).parameters
    whole = train(0, size=1, steps=4, task=tiny_gpt(EXACT)).parameters
    torch.testing.assert_close(gone_on, whole, rtol=0, atol=1e-12)


def test_padding_is_not_saved(saved):
    tensors = checkpoint.load(saved).tensors
    assert {kind: sum(t.numel() for t in named.values()) for kind, named in tensors.items()} == {
        kind: 111_872 for kind in ("parameters", "m", "v")
    }


def test_a_checkpoint_replaces_the_one_before_and_leaves_nothing_else(saved):
    zero.train(0, size=1, steps=3, save=saved)
    assert checkpoint.load(saved).step == 3
    assert [path.name for path in saved.parent.iterdir()] == ["checkpoint"]
    assert sorted(path.name for path in saved.iterdir()) == ["index.json", "rank-00000.pt"]


def test_a_save_that_fails_leaves_the_one_before_whole(saved, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.torch, "save", full)
    with pytest.raises(OSError, match="No space left"):
        zero.train(0, size=1, steps=3, save=saved)
    assert checkpoint.load(saved).step == 2
    assert [path.name for path in saved.parent.iterdir()] == ["checkpoint"]


def test_a_rename_that_fails_leaves_the_one_before_whole(saved, monkeypatch):
    rename, calls = Path.rename, []

    def second_fails(path, target):
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(OSError, match="No space left"):
        zero.train(0, size=1, steps=3, save=saved)
    assert checkpoint.load(saved).step == 2
    assert [path.name for path in saved.parent.iterdir()] == ["checkpoint"]


def test_killed_between_the_renames(saved):
    saved.rename(saved.with_name(".checkpoint-old"))
    assert checkpoint.load(saved).step == 2
    assert [path.name for path in saved.parent.iterdir()] == ["checkpoint"]


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda c: (c / "rank-00001.pt").unlink(), "rank-00001.pt is missing from its checkpoint"),
        (lambda c: damage(c / "rank-00002.pt"), "rank-00002.pt is damaged, or of another"),
        (
            lambda c: (c / "rank-00000.pt").write_bytes((c / "rank-00001.pt").read_bytes()),
            "rank-00000.pt is damaged, or of another checkpoint",
        ),
        (lambda c: (c / "index.json").unlink(), "index.json is missing; .* is not a checkpoint"),
        (lambda c: (c / "index.json").write_text("{"), "index.json is damaged: it is not the"),
        (lambda c: (c / "index.json").write_text("[]"), "index.json is damaged: it is not the"),
        (lambda c: (c / "index.json").write_bytes(b"\xff"), "index.json is damaged: it is not the"),
        (
            lambda c: (c / "index.json").write_text(
                (c / "index.json").read_text().replace('"step": 2', '"step": 1')
            ),
            "index.json is damaged: its content has another digest",
        ),
    ],
)
def test_a_bad_file_is_refused_by_name(saved, harm, told):
    harm(saved)
    with pytest.raises(ValueError, match=told):
        checkpoint.load(saved)


def test_another_model_is_refused(saved):
    with pytest.raises(ValueError, match="layers is 2 in the checkpoint, 1 here"):
        zero.train(0, size=1, steps=3, task=tiny_gpt(replace(BASE_CONFIG, layers=1)), resume=saved)
    with pytest.raises(ValueError, match=r"text is None in the checkpoint, [0-9a-f]{64} here"):
        other = tiny_gpt(BASE_CONFIG, "".join(reversed(ALPHABET)) * 9)  # as many characters
        zero.train(0, size=1, steps=3, task=other, resume=saved)
    with pytest.raises(ValueError, match="heads is 4 in the checkpoint, 2 here"):  # same shapes
        zero.train(0, size=1, steps=3, task=tiny_gpt(replace(BASE_CONFIG, heads=2)), resume=saved)


def test_parameters_of_other_shapes_are_refused(saved):
    read = checkpoint.load(saved)
    worker = task_worker(tiny_gpt(replace(BASE_CONFIG, layers=1)), 0, 0, 1)
    told = r"parameter 2.norm.weight has shape None in the checkpoint, \[64\] in the model"
    with pytest.raises(ValueError, match=told):
        checkpoint.restore(read, [worker])


def test_what_was_never_updated_has_no_m_and_v_and_starts_from_zeros(saved):
    read, worker = checkpoint.load(saved), task_worker(zero.TINY_GPT, 0, 0, 1)
    for kind in ("m", "v"):
        del read.tensors[kind]["0.token.weight"]
    worker.adamw["unit 0"].m.fill_(1)
    checkpoint.restore(read, [worker])
    m = worker.adamw["unit 0"].m
    assert not m[: 44 * 64].any() and m[44 * 64 :].any()


def test_another_runs_leftovers_stay(tmp_path):
    """The only copy of run-2, killed in the middle of its rename, while run is saved."""
    zero.train(0, size=1, steps=1, save=tmp_path / "run-2")
    (tmp_path / "run-2").rename(tmp_path / ".run-2-old")
    zero.train(0, size=1, steps=1, save=tmp_path / "run")
    assert checkpoint.load(tmp_path / "run-2").step == 1


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("folder", "folder exists and is not a checkpoint; choose another place"),
        ("folder/thesis.txt", "thesis.txt exists and is not a checkpoint; choose another place"),
        ("no/such", "such cannot be saved to: .*no is not a folder"),
        ("site", "index.json is damaged: it is not the index of a checkpoint"),
        ("c", "notes.md is no part of a checkpoint; choose another place"),
    ],
)
def test_what_is_no_checkpoint_is_not_replaced(tmp_path, place, told):
    for folder in ("folder", "site"):
        (tmp_path / folder).mkdir()
    (tmp_path / "folder/thesis.txt").write_text("x")
    (tmp_path / "site/index.json").write_text("{}")
    zero.train(0, size=1, steps=1, save=tmp_path / "c")
    zero.train(0, size=1, steps=1, save=tmp_path / "c")  # a checkpoint is
    (tmp_path / "c/notes.md").write_text("x")
    for train_there in (zero.train, engine.train):
        with pytest.raises(ValueError, match=told):
            train_there(0, size=1, steps=1, save=tmp_path / place)
    assert (tmp_path / "folder/thesis.txt").read_text() == "x"


def test_places_may_be_strings(tmp_path):
    zero.train(1, size=2, steps=1, save=f"{tmp_path}/c")
    for train_there in (zero.train, engine.train):
        rest = train_there(1, size=2, steps=2, resume=f"{tmp_path}/c")
        assert torch.equal(rest.parameters, train(1, size=2, steps=2).parameters)
    engine.train(1, size=2, steps=2, save=f"{tmp_path}/c")  # in its place
    assert checkpoint.load(tmp_path / "c").step == 2
    checkpoint.export(f"{tmp_path}/c", f"{tmp_path}/dcp")
    with pytest.raises(ValueError, match=r"none cannot be saved to: .* is not a folder"):
        zero.train(1, size=2, steps=1, save=f"{tmp_path}/no/none")
    with pytest.raises(ValueError, match=r"index.json is missing; .*none is not a checkpoint"):
        zero.train(1, size=2, steps=1, resume=f"{tmp_path}/none")


def test_a_run_that_is_over_already(saved):
    with pytest.raises(ValueError, match=r"steps is 2; .* has 2 already, so ask for more"):
        zero.train(0, size=1, steps=2, resume=saved)


def test_the_index_can_be_read_by_people(saved):
    index = json.loads((saved / "index.json").read_text())
    assert index["step"] == 2 and index["about"]["order"]["size"] == 3 and len(index["sha256"]) == 3
    shapes = [shape for unit in index["units"].values() for shape in unit.values()]
    assert sum(math.prod(shape) for shape in shapes) == 111_872


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        ({"stage": 0}, {"stage": 3}, "bitwise"),
        ({"stage": 0}, {"stage": 0, "size": 2}, "to rounding"),
        ({"stage": 2}, {"stage": 2, "cut": "rows"}, "to rounding"),
        ({"stage": 2}, {"stage": 2, "units": "model"}, "to rounding"),
        ({"stage": 1}, {"stage": 1, "divide": "after"}, "to rounding"),
        ({"stage": 1}, {"stage": 1, "master_dtype": torch.float64}, "to rounding"),
        ({"stage": 0, "accumulate": 2}, {"stage": 1, "accumulate": 2}, "bitwise"),
        ({"stage": 0, "accumulate": 2}, {"stage": 2, "accumulate": 2}, "to rounding"),
        ({"stage": 3, "accumulate": 2}, {"stage": 2, "accumulate": 2}, "bitwise"),
        ({"stage": 1, "size": 4}, {"stage": 1, "size": 4, "direction": -1}, "to rounding"),
        ({"stage": 1}, {"stage": 1, "clip": 0.01}, "with another recipe"),
        ({"stage": 1}, {"stage": 1, "lr": 0.1}, "with another recipe"),
        ({"stage": 1}, {"stage": 1, "batch_size": 16}, "with another recipe"),
        ({"stage": 1}, {"stage": 1, "task": tiny_gpt(DOUBLE)}, "to rounding"),
    ],
)
def test_a_run_says_how_it_continues_and_means_it(tmp_path, first, then, told):
    """What it says is compared with a run of the first kind that was never stopped."""
    first = {"size": 3, "steps": 1, **first}
    zero.train(**first, save=tmp_path / "c")
    rest = zero.train(**{**first, **then, "steps": 3}, resume=tmp_path / "c")
    whole = train(**{**first, "steps": 3}).parameters
    assert rest.continues == told
    assert torch.equal(rest.parameters.float(), whole) == (told == "bitwise")
    assert train(**first).continues is None


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("recipe", [{"cut": "rows"}, {"master_dtype": torch.float64}])
def test_every_recipe_goes_on_to_the_bit(tmp_path, stage, recipe):
    zero.train(stage, size=3, steps=2, save=tmp_path / "c", **recipe)
    rest = zero.train(3 - stage, size=3, steps=4, resume=tmp_path / "c", **recipe)
    assert torch.equal(rest.parameters, train(0, size=3, steps=4, **recipe).parameters)
