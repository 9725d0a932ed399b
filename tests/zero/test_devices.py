"""All tensors of a step are where the model is.

The device that has no values, meta, stands for a GPU: an operation that mixes it with the CPU
fails there, too. Only what must be read, the number of tokens and the loss, is put aside.
"""

from dataclasses import replace

import pytest
import torch

from zerolit import zero
from zerolit.gpt import BASE_CONFIG
from zerolit.zero import STAGES, Recipe, checkpoint, stages, tiny_gpt
from zerolit.zero.train import share_out, step, task_worker

TIED = tiny_gpt(replace(BASE_CONFIG, tied=True))
RECIPES = [
    Recipe(clip=1.0, accumulate=2),
    Recipe(cut="rows", divide="after"),
    Recipe(master_dtype=torch.float64, divide="before", units="model"),
]


@pytest.fixture
def unread(monkeypatch):
    """Nobody looks at values."""

    def count_tokens(worker, batches):
        return 100
        yield

    def sum_loss(worker, loss):
        assert loss.device == worker.device
        flags = [float(reached) for unit in worker.units for reached in unit.reached]
        counts = torch.cat([loss, loss.new_tensor(flags)])
        yield from stages.sum_over_ranks(worker, counts, "loss")
        return 0.0

    monkeypatch.setattr(stages, "count_tokens", count_tokens)
    monkeypatch.setattr(stages, "sum_loss", sum_loss)


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("recipe", RECIPES, ids=["clip", "rows", "masters"])
def test_no_operation_mixes_devices(unread, stage, recipe):
    workers = [task_worker(TIED, stage, rank, 2, recipe, "meta") for rank in range(2)]
    x = torch.zeros(8, 96, dtype=torch.int64, device="meta")
    step(STAGES[stage], workers, share_out(x, x, 2, recipe.accumulate))
    for worker in workers:
        assert {t.device.type for t in worker.memory.held.values()} == {"meta"}
        for unit in worker.units:  # nothing of which was reached, now
            assert unit.unreached(unit.layout.share).device.type == "meta"


def test_a_checkpoint_goes_to_another_device(tmp_path):
    """Restoring copies onto the worker's device; its values are then out of sight, on meta."""
    zero.train(2, 2, 1, save=tmp_path / "c")
    worker = task_worker(zero.TINY_GPT, 3, 0, 2, device="meta")
    checkpoint.restore(checkpoint.load(tmp_path / "c"), [worker])
    assert {t.device.type for t in worker.memory.held.values()} == {"meta"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="torch finds a GPU here")
def test_a_gpu_that_is_not_there():
    with pytest.raises(ValueError, match="device is 'cuda', but torch finds no GPU on this machin"):
        zero.train(0, 2, 1, device="cuda")
