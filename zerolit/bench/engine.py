"""Our programs on real processes, beside PyTorch's own."""

from collections.abc import Callable
from functools import partial

from rich.console import Console
from rich.table import Table

from .measure import medians

SUMS = (4_000_000, 16_000_000)  # float32 numbers: 16 MB and 64 MB


def print_engine(console: Console) -> None:
    """Our programs on processes beside PyTorch's own, and how long ranks take to start.

    Every rank times its own calls, a barrier before each; what counts is the slowest rank.
    """
    from zerolit.engine import launch

    size, steps = 4, 10
    launch(do_nothing, size)  # the first launch imports torch
    table = Table(f"on {size} processes", "ours, ms", "PyTorch's, ms", "ratio")
    jobs: dict[str, Callable] = {
        "ZeRO-1, DDP + ZeroRedundancyOptimizer": partial(time_steps, 1, "zero", steps),
        "ZeRO-3, FSDP2": partial(time_steps, 3, "fsdp2", steps),
        **{f"all-reduce of {n * 4 // 10**6} MB, gloo's": partial(time_sums, n) for n in SUMS},
    }
    for name, job in jobs.items():
        with console.status(name):
            ours, theirs = slowest(launch(job, size, timeout=300))
        table.add_row(name, f"{ours * 1e3:.1f}", f"{theirs * 1e3:.1f}", f"{ours / theirs:.2f}")
    console.print(table)
    (seconds,) = medians([partial(launch, do_nothing, size)])
    console.print(f"{size} ranks start, do nothing and end in {seconds:.2f} s")


def do_nothing() -> None:
    """What a rank does to be started."""


def slowest(ranks: list[list[float]]) -> list[float]:
    """For each call, the seconds of the rank that took longest."""
    return [max(seconds) for seconds in zip(*ranks, strict=True)]


def time_sums(n: int) -> list[float]:
    """A rank's median seconds for an all-reduce of `n` numbers by our ring, and by gloo."""
    import torch
    import torch.distributed as dist

    from zerolit.comm import ring
    from zerolit.engine import all_reduce

    x = torch.zeros(n)
    calls = [partial(all_reduce(ring.all_reduce), x), partial(dist.all_reduce, x)]
    return medians(calls, dist.barrier)


def time_steps(stage: int, which: str, steps: int) -> list[float]:
    """A rank's median seconds for a training step by our stage, and by one of PyTorch's own."""
    import torch.distributed as dist

    from zerolit.zero import TINY_GPT
    from zerolit.zero.train import one_thread

    batches = list(TINY_GPT.draw_batches(steps, 32))
    with one_thread():
        calls = [partial(step, batches) for step in (our_steps(stage), stock_steps(which))]
        return [seconds / steps for seconds in medians(calls, dist.barrier)]


def our_steps(stage: int) -> Callable[[list], None]:
    """Takes steps by our program; as a rank."""
    import torch.distributed as dist

    from zerolit.engine import drive
    from zerolit.zero import STAGES, TINY_GPT
    from zerolit.zero.train import rank_step, share_out, task_worker

    rank, size = dist.get_rank(), dist.get_world_size()
    worker = task_worker(TINY_GPT, stage, rank, size)

    def run(batches: list) -> None:
        for x, y in batches:
            drive(rank_step(STAGES[stage], worker, share_out(x, y, size, 1)[rank]))
            for unit in worker.units:
                unit.release("gradients")

    return run


def stock_steps(which: str) -> Callable[[list], None]:
    """Takes steps by PyTorch's own, as it is shipped; as a rank."""
    from zerolit.engine.stock import STOCK, take_step
    from zerolit.zero import TINY_GPT

    model, adamw = STOCK[which](TINY_GPT, shipped=True)

    def run(batches: list) -> None:
        for batch in batches:
            adamw.zero_grad()
            take_step(model, adamw, TINY_GPT, batch, shipped=True)

    return run
