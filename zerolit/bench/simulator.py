"""The simulated ring, proofs, training and `zerolit demo`, beside plain code that does the same."""

import statistics
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from zerolit.comm import Chunks, prove, ring, ring_all_reduce, simulate
from zerolit.comm.chunks import Symbol

from .measure import RUNS, Call, medians, run_alone

CASES = ((4, 100_000), (16, 1_000_000), (64, 1_000_000), (256, 1_000_000), (1024, 64_000))


PROVED = (8, 64)  # ranks


Arrays = list[np.ndarray]


def print_ratios(console: Console) -> None:
    """Time the simulated ring beside a plain loop and beside bare copies, for each of `CASES`.

    Medians of `RUNS` alternating runs after one that is not counted, on the same float32 arrays.
    """
    table = Table(
        "ranks", "numbers", "simulator, ms", "× plain loop", "× copy, fresh", "× copy, warm"
    )
    table.caption = "copy: of as many bytes as the ring sends, into fresh memory or memory in use"
    for ranks, length in CASES:
        with console.status(f"{ranks} ranks, {length:,} numbers"):
            ours, *others = medians(ring_beside_others(ranks, length))
        ratios = (f"{ours / other:.2f}" for other in others)
        table.add_row(str(ranks), f"{length:,}", f"{ours * 1e3:.1f}", *ratios)
    console.print(table)


def ring_beside_others(ranks: int, length: int) -> list[Call]:
    """The simulated ring, the plain loop and both copies, of the same random numbers."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(length, dtype=np.float32) for _ in range(ranks)]
    in_use = [array.copy() for array in arrays]
    return [
        partial(ring_all_reduce, arrays),
        partial(plain_loop, arrays),
        partial(copy_fresh, arrays),
        partial(copy_warm, in_use, arrays),
    ]


def plain_loop(arrays: Arrays) -> Arrays:
    """The ring as a double loop over lists of arrays that copies its messages; nothing else."""
    p = len(arrays)
    results = [array.copy() for array in arrays]
    x = [np.array_split(array, p) for array in results]
    for step in range(p - 1):
        sent = [x[rank][(rank - step) % p].copy() for rank in range(p)]
        for rank in range(p):
            x[(rank + 1) % p][(rank - step) % p] += sent[rank]
    for step in range(p - 1):
        sent = [x[rank][(rank + 1 - step) % p].copy() for rank in range(p)]
        for rank in range(p):
            x[(rank + 1) % p][(rank + 1 - step) % p][...] = sent[rank]
    return results


def copy_fresh(arrays: Arrays) -> Arrays:
    """Copy as many bytes as the ring sends, 2(p-1)/p of each array, into new arrays."""
    return [part.copy() for part in _sent(arrays) + _sent(arrays)]


def copy_warm(in_use: Arrays, arrays: Arrays) -> None:
    """Copy the same bytes into arrays whose memory the process already has."""
    for _ in range(2):
        for target, part in zip(in_use, _sent(arrays), strict=True):
            target[: part.size] = part


def _sent(arrays: Arrays) -> Arrays:
    p = len(arrays)
    return [array[: array.size * (p - 1) // p] for array in arrays]


def print_proofs(console: Console) -> None:
    """How long the ring all-reduce takes to be proved, and how much of that is watching.

    Running: the same program on symbols, which nobody watches. Medians as in `print_ratios`.
    """
    table = Table("ranks", "proof, ms", "running, ms", "watching, ms", "watching / running")
    for ranks in PROVED:
        with console.status(f"proof for {ranks} ranks"):
            proof, run = medians(
                [partial(prove, ring.all_reduce, ranks), partial(run_on_symbols, ranks)]
            )
        watching = proof - run
        times = (f"{seconds * 1e3:.2f}" for seconds in (proof, run, watching))
        table.add_row(str(ranks), *times, f"{watching / run:.2f}")
    console.print(table)


def run_on_symbols(ranks: int) -> None:
    """The ring all-reduce on chunks that are one number each."""
    states = [Chunks(Symbol(rank) for _ in range(ranks)) for rank in range(ranks)]
    simulate(ring.all_reduce, states)


def print_overhead(console: Console, size: int = 4, steps: int = 5) -> None:
    """The share of a training run that is neither forward nor backward, for each stage.

    ZeRO-3 runs every unit forward twice; that counts as forward. Medians as in `print_ratios`.
    """
    table = Table("stage", "run, s", "passes alone, s", "everything else")
    for stage in range(4):
        with console.status(f"stage {stage}"):
            whole = partial(train_run, stage, size, steps)
            run, passes = medians([whole, partial(passes_alone, stage, size, steps)])
        table.add_row(str(stage), f"{run:.2f}", f"{passes:.2f}", f"{1 - passes / run:.0%}")
    console.print(table)


def train_run(stage: int, size: int, steps: int) -> None:
    """A whole training run."""
    from zerolit.zero import train  # torch takes a second to import

    train(stage, size, steps)


def passes_alone(stage: int, size: int, steps: int) -> None:
    """The forward and backward passes of `train`, one rank after another, on one thread."""
    import torch

    from zerolit.zero.train import one_thread

    with one_thread():
        run_passes(size, steps)
        if stage == 3:
            with torch.no_grad():
                run_passes(size, steps, backward=False)


def run_passes(size: int, steps: int, backward: bool = True) -> None:
    """The passes of `size` ranks, each with its share of every batch."""
    from zerolit.gpt import BASE_CONFIG, loss_sum, make_model
    from zerolit.zero.task import draw_batches
    from zerolit.zero.train import share_out

    model = make_model()
    for x, y in draw_batches(steps, 32, BASE_CONFIG.context):
        for ((xs, ys),) in share_out(x, y, size, 1):
            loss = loss_sum(model(xs), ys)
            if backward:
                loss.backward()


def print_demo(console: Console) -> None:
    """`zerolit demo` beside a plain script of the same passes, each as a process of its own.

    The script runs one rank after another on torch's default threads. Medians of `RUNS`.
    """
    ours, plain = (
        ["-m", "zerolit", "demo"],
        ["-c", "from zerolit.bench.simulator import plain_demo; plain_demo()"],
    )
    with console.status("demo"):
        runs = [[run_alone(command) for command in (ours, plain)] for _ in range(RUNS)]
    (demo, script), memory = (
        [statistics.median(run[i].seconds for run in runs) for i in range(2)],
        max(run[0].megabytes for run in runs),
    )
    table = Table("demo, s", "plain script, s", "ratio", "peak memory, MB")
    table.add_row(f"{demo:.1f}", f"{script:.1f}", f"{demo / script:.2f}", f"{memory:.0f}")
    console.print(table)


def plain_demo() -> None:
    """The passes of 3.3 (four ranks, one, and four at the one's parameters) and of 3.4."""
    import torch

    for shares, steps in ((4, 40), (1, 40), (4, 40), (4, 15), (4, 15), (4, 15), (4, 15)):
        run_passes(shares, steps)
    with torch.no_grad():  # ZeRO-3 runs every unit forward once more
        run_passes(4, 15, backward=False)
