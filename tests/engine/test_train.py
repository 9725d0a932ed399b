"""Training on real processes: the simulator's bits and traffic, its checkpoints, and faults."""

from functools import cache

import pytest
import torch

from tests.engine import jobs
from zerolit import zero
from zerolit.engine import EngineError, launch, train
from zerolit.engine.faults import train_and_die
from zerolit.zero import checkpoint

simulated = cache(zero.train)


@pytest.mark.parametrize("size", [2, 3, 4, 8])
@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("cut", ["flat", "rows"])
def test_real_processes_are_the_simulator_bit_for_bit_and_byte_for_byte(size, stage, cut):
    how = {"cut": cut, "clip": 0.5}
    real, ours = train(stage, size, 2, **how), simulated(stage, size, 2, **how)
    assert torch.equal(real.parameters, ours.parameters) and real.losses == ours.losses
    assert real.sent == ours.sent
    assert (real.stored, real.released, real.peaks) == (ours.stored, ours.released, ours.peaks)
    assert real.moments == ours.moments


@pytest.mark.parametrize("stage", range(4))
def test_what_is_sent_by_phase_is_what_dispatch_and_the_system_count(stage):
    """Token counts are int64, the loss float64; headers are below 64 bytes a message."""
    for sent, sends, after, before in launch(jobs.train_counted, 3, stage):
        widths = {"gradients": 4, "parameters": 4, "tokens": 8, "loss": 8}
        nbytes = sum(elements * widths[phase] for phase, elements in sent.items())
        assert sum(sends) == nbytes
        if before is not None:
            assert 0 <= after - before - nbytes < 4096 + 128 * len(sends)


@pytest.mark.parametrize("how", [{"accumulate": 2}, {"master_dtype": torch.float64}], ids=str)
def test_other_recipes_too(how):
    assert torch.equal(train(3, 3, 2, **how).parameters, simulated(3, 3, 2, **how).parameters)


def test_a_checkpoint_goes_from_one_to_the_other(tmp_path):
    whole = simulated(2, 3, 4).parameters
    train(3, 3, 2, save=tmp_path / "real")
    zero.train(0, 3, 2, save=tmp_path / "simulated")
    there = zero.train(1, 3, 4, resume=tmp_path / "real")
    back = train(2, 3, 4, resume=tmp_path / "simulated")
    for run in (there, back):
        assert torch.equal(run.parameters, whole) and run.continues == "bitwise"
    other = train(1, 2, 4, resume=tmp_path / "real")
    assert other.continues == "to rounding" and not torch.equal(other.parameters, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["real", "simulated"]


@pytest.mark.parametrize("where", ["forward", "collective", "optimizer", "saving"])
def test_a_rank_killed_while_training_and_a_restart_from_the_last_checkpoint(tmp_path, where):
    folder = tmp_path / "c"
    train(2, 3, 2, save=folder)
    with pytest.raises(EngineError, match=r"rank 1 was killed by SIGKILL") as caught:
        launch(train_and_die, 3, where, folder)
    if where == "collective":
        assert caught.value.phase == "gradients"
    if where == "saving":
        assert "(saving)" in str(caught.value)
    assert checkpoint.load(folder).step == 2  # the last one is whole
    checkpoint.sweep(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    rest = train(2, 3, 4, resume=folder)
    assert torch.equal(rest.parameters, simulated(2, 3, 4).parameters)


def test_progress_and_bad_arguments(tmp_path):
    steps = []
    train(0, 2, 3, on_step=lambda: steps.append(1))
    assert len(steps) == 3
    with pytest.raises(ValueError, match="stage is 4"):
        train(4, 2)
    with pytest.raises(ValueError, match=r"index.json is missing; .*none is not a checkpoint"):
        train(0, 2, 3, resume=tmp_path / "none")
    train(0, 2, 2, save=tmp_path / "c")
    with pytest.raises(ValueError, match=r"steps is 2; .*c has 2 already, so ask for more"):
        train(0, 2, 2, resume=tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / ".c-old")  # as a kill in the middle of a rename leaves it
    assert train(0, 2, 3, resume=tmp_path / "c").continues == "bitwise"
