"""The tally of what a rank holds is not taken on trust: it is compared with what is alive.

Python's garbage collector knows every tensor. Those of a rank are what can be reached from its
suspended generator and its worker; whatever is alive must belong to exactly one rank.
"""

import gc
import types
import warnings
from functools import cache

import pytest
import torch

from zerolit.comm import simulate, tap
from zerolit.gpt import BASE_CONFIG
from zerolit.zero import STAGES, TINY_GPT, Recipe
from zerolit.zero.task import draw_batches
from zerolit.zero.train import one_thread, share_out, task_worker

SIZE, PSI, BLOCK = 4, 111_872, 49_984  # ranks, parameters, and those of the largest unit
BUFFER = BLOCK // SIZE  # a ring's message
ELSEWHERE = (types.ModuleType, type, types.FunctionType, types.CodeType)  # not the rank's own

CASES = [(stage, Recipe()) for stage in range(4)]
CASES += [(2, Recipe(clip=0.5, cut="rows")), (3, Recipe(cut="rows")), (3, Recipe(accumulate=2))]


def storages(tensors):
    """Address -> elements, of all float32 storages but those of activations and single numbers."""
    kept = [t.untyped_storage() for t in tensors if t.dtype == torch.float32 and not _small(t)]
    return {storage.data_ptr(): storage.nbytes() // 4 for storage in kept}


def _small(tensor):
    n = tensor.untyped_storage().nbytes() // 4
    return n <= 16 or tensor.dim() > 2  # no parameter has three dimensions


def alive():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # isinstance wakes torch's deprecated names
        return [found for found in gc.get_objects() if isinstance(found, torch.Tensor)]


def reachable(*roots):
    """Every tensor that references lead to, without leaving through code or modules."""
    seen, todo, tensors = set(), list(roots), []
    while todo:
        found = todo.pop()
        if id(found) not in seen and not isinstance(found, ELSEWHERE):
            seen.add(id(found))
            tensors += [found] if isinstance(found, torch.Tensor) else []
            todo += gc.get_referents(found)
    return tensors


class Watch:
    """One step of all ranks, looked at whenever rank 2 yields.

    Attributes:
        looks: for each look and rank, its tally and what else it reaches; address -> elements.
        strangers: for each look, what is alive and nobody's.
    """

    def __init__(self, stage, recipe):
        gc.collect()
        self.before = storages(alive())
        ((x, y),) = draw_batches(1, 32, BASE_CONFIG.context)
        self.batches = share_out(x, y, SIZE, recipe.accumulate)
        self.workers = [task_worker(TINY_GPT, stage, rank, SIZE, recipe) for rank in range(SIZE)]
        self.programs, self.looks, self.strangers = {}, [], []
        with one_thread():
            simulate(self.program, self.workers, stage=STAGES[stage])

    def program(self, rank, size, worker, stage):
        self.programs[rank] = stage(worker, self.batches[rank])
        return tap(self.programs[rank], lambda _: rank == 2 and self.look())

    def look(self):
        everything = storages(alive())
        ranks = []
        for rank, worker in enumerate(self.workers):
            reached = storages(reachable(self.programs[rank], worker))
            tally = storages(worker.memory.held.values())
            ranks.append((tally, {at: n for at, n in reached.items() if at not in tally}))
        owned = {at for tally, rest in ranks for at in (*tally, *rest)}
        self.looks.append(ranks)
        self.strangers.append(
            {at: n for at, n in everything.items() if at not in owned and at not in self.before}
        )


watch = cache(Watch)


@pytest.mark.parametrize(("stage", "recipe"), CASES)
def test_beyond_its_tally_a_rank_holds_no_more_than_a_rings_buffer(stage, recipe):
    """By rows, shares are packed: what is sent, what is added to, and what arrives, each a copy."""
    looks = watch(stage, recipe).looks
    print(max(sum(rest.values()) for r in looks for _, rest in r) / BUFFER)
    assert len(looks) > 20
    for ranks in looks:
        for _, rest in ranks:
            assert sum(rest.values()) <= BUFFER * (4 if recipe.cut == "rows" else 1)


@pytest.mark.parametrize(("stage", "recipe"), CASES)
def test_nothing_is_shared_behind_a_ranks_back(stage, recipe):
    for ranks in watch(stage, recipe).looks:
        owned = [{*tally, *rest} for tally, rest in ranks]
        assert len(set.union(*owned)) == sum(map(len, owned))


@pytest.mark.parametrize(("stage", "recipe"), CASES)
def test_what_is_alive_and_nobodys_is_on_the_wire(stage, recipe):
    for strangers in watch(stage, recipe).strangers:
        assert len(strangers) <= 2 * SIZE and max(strangers.values(), default=0) <= BUFFER


@pytest.mark.parametrize("stage", range(4))
def test_the_peak(stage):
    """ZeRO-2 has a unit's whole gradient besides what stays, ZeRO-3 a gathered unit as well.

    The two meet during the backward pass of a unit only, when nobody yields.
    """
    stays = (4 * PSI, 2.5 * PSI, 1.75 * PSI, PSI)[stage]
    seen = watch(stage, Recipe())
    at_yields = [(tally, tally | rest) for ranks in seen.looks for tally, rest in ranks]
    besides = (0, 0, BLOCK, BLOCK)[stage]
    assert max(sum(tally.values()) for tally, _ in at_yields) == stays + besides
    assert max(sum(both.values()) for _, both in at_yields) <= stays + besides + BUFFER
    assert seen.workers[0].memory.peak.total() == stays + (0, 0, BLOCK, 2 * BLOCK)[stage]
