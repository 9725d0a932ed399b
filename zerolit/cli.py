"""The command line: `zerolit …` and `python -m zerolit …`."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from zerolit.comm import CommLog, ring_all_reduce

if TYPE_CHECKING:
    from zerolit.book.build import Built


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0, 1 where something failed, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except ValueError as error:
        print(f"zerolit {options.command}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="zerolit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    ring = commands.add_parser("ring", help="every hop of a ring all-reduce")
    ring.add_argument("--ranks", type=int, default=4, help="number of cards (default 4)")
    ring.add_argument("--length", type=int, default=8, help="numbers per card (default 8)")
    ring.set_defaults(run=_ring)

    scaling = commands.add_parser("scaling", help="traffic and time as cards are added")
    scaling.set_defaults(run=_scaling)
    for command in (ring, scaling):
        command.add_argument("--lang", choices=("en", "zh"), default="en", help="language")

    parallel = commands.add_parser("data-parallel", help="several cards beside one big batch")
    zero = commands.add_parser("zero", help="the stages of ZeRO: stored, sent, and the same bits")
    demo = commands.add_parser("demo", help="the demonstrations of 3.1 to 3.4 in a row")
    zero.add_argument("--stage", type=int, choices=range(4), help="only this one beside stage 0")
    zero.add_argument(
        "--engine",
        choices=("simulator", "torch"),
        default="simulator",
        help="simulated ranks, or processes of torch.distributed; torchrun's are always used",
    )
    for command, steps in ((parallel, 40), (zero, 15)):
        command.add_argument("--ranks", type=int, default=4, help="number of cards (default 4)")
        command.add_argument("--steps", type=int, default=steps, help=f"(default {steps})")
    for command, run in ((parallel, _data_parallel), (zero, _zero), (demo, _demo)):
        command.add_argument("--lang", choices=("en", "zh"), default="en", help="language")
        command.set_defaults(run=run)

    scale = commands.add_parser("at-scale", help="FSDP2 on many ranks that do not exist")
    scale.add_argument("--ranks", type=int, nargs="+", default=[64, 512, 2048], help="of each run")
    scale.add_argument("--layers", type=int, default=8, help="of the GPT (default 8)")
    scale.add_argument("--width", type=int, default=512, help="of the GPT (default 512)")
    scale.add_argument("--lang", choices=("en", "zh"), default="en", help="language")
    scale.set_defaults(run=_at_scale)

    build = commands.add_parser("build", help="build the site, both languages, into site/")
    build.add_argument(
        "--accept", action="store_true", help="make this build's results the reference"
    )
    build.add_argument(
        "--no-swap-on-drift", action="store_true", help="keep the last site if a result drifted"
    )
    build.set_defaults(run=_build)

    check = commands.add_parser("check", help="run every block, compare with the reference")
    check.add_argument("--report", type=Path, help="write the outcome on one page, as Markdown")
    check.set_defaults(run=_check)

    bench = commands.add_parser("bench", help="time the simulator, as ratios in one run")
    bench.set_defaults(run=_bench)
    return parser


def _ring(options: argparse.Namespace) -> int:
    from zerolit.book.tables import hops_table

    if options.ranks < 1:
        raise ValueError(f"--ranks is {options.ranks}; it must be at least 1")
    if options.length < 0:
        raise ValueError(f"--length is {options.length}; it must be 0 or more")
    log = CommLog(options.ranks)
    ring_all_reduce([(r + 1) * np.arange(options.length) for r in range(options.ranks)], log)
    Console().print(hops_table(log, options.length).terminal(options.lang))
    return 0


def _scaling(options: argparse.Namespace) -> int:
    from zerolit.book.tables import time_table, traffic_table
    from zerolit.plan import Training

    console = Console()
    console.print(traffic_table(1200, (2, 4, 8, 16)).terminal(options.lang))
    console.print(time_table(Training(), (8, 32, 128, 512, 2048)).terminal(options.lang))
    return 0


def _data_parallel(options: argparse.Namespace) -> int:
    from zerolit.book.training import batch_table, bigger_batch

    _at_least_one(options)
    with _progress() as progress:
        task = progress.add_task("training", total=options.steps)
        steps = bigger_batch(options.ranks, options.steps, on_step=lambda: progress.advance(task))
    shown = sorted({round(i * (options.steps - 1) / 4) for i in range(5)})
    Console().print(batch_table(steps, shown, options.ranks).terminal(options.lang))
    return 0


def _zero(options: argparse.Namespace) -> int:
    from zerolit.book.training import stages_table
    from zerolit.engine import EngineError

    _at_least_one(options)
    ranks, train, heard = _engine(options)
    try:
        runs = _train_stages(options, ranks, train, heard)
    except EngineError as error:
        print(f"zerolit zero: {error}", file=sys.stderr)
        return 1
    if heard:
        Console().print(stages_table(runs, ranks).terminal(options.lang))
    return 0


def _train_stages(options: argparse.Namespace, ranks: int, train: Callable, heard: bool) -> dict:
    """Stage 0 and those asked for, with a progress bar."""
    stages = range(4) if options.stage is None else sorted({0, options.stage})
    with _progress(disable=not heard) as progress:
        task = progress.add_task("training", total=options.steps * len(stages))
        advance = partial(progress.advance, task)
        return {stage: train(stage, ranks, options.steps, on_step=advance) for stage in stages}


def _engine(options: argparse.Namespace) -> tuple[int, Callable, bool]:
    """How many ranks, what trains them, and whether this process is the one that speaks."""
    from zerolit import engine
    from zerolit.book import training

    if engine.under_torchrun():
        return int(os.environ["WORLD_SIZE"]), engine.train, os.environ["RANK"] == "0"
    return options.ranks, engine.train if options.engine == "torch" else training.train, True


def _at_scale(options: argparse.Namespace) -> int:
    from zerolit.book.engine import scale_table

    with Console(stderr=True).status("PyTorch's own FSDP2, on tensors without content"):
        table = scale_table(tuple(options.ranks), options.layers, options.width)
    Console().print(table.terminal(options.lang))
    return 0


def _demo(options: argparse.Namespace) -> int:
    start = time.perf_counter()
    parts = (["ring"], ["scaling"], ["data-parallel"], ["zero"])
    codes = [main([*arguments, "--lang", options.lang]) for arguments in parts]
    print(f"{time.perf_counter() - start:.1f} s")
    return max(codes)


def _at_least_one(options: argparse.Namespace) -> None:
    for name in ("ranks", "steps"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is {getattr(options, name)}; it must be at least 1")


def _progress(disable: bool = False) -> Progress:
    columns = (TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(stderr=True), disable=disable)


def _build(options: argparse.Namespace) -> int:
    from zerolit.book.build import build_site

    def build(root: Path, on_page: Callable[[str], None]) -> "Built":
        return build_site(root, on_page, options.accept, not options.no_swap_on_drift)

    root, built, _ = _run_pages(options.command, build)
    if built is None:
        return 1
    for page, took in built.seconds.items():
        print(f"{took:8.2f} s  {page}")
    _tell(built, accepted=options.accept)
    if built.swapped:
        print(f"The site is in {root / 'site'}: open {root / 'site' / 'index.html'}")
    else:
        print(f"The last site was kept in {root / 'site'}")
    return 1 if built.differs and not options.accept else 0


def _check(options: argparse.Namespace) -> int:
    from zerolit.book.build import check_site
    from zerolit.book.report import report

    if options.report and not options.report.parent.is_dir():
        raise ValueError(f"--report is {options.report}; its folder does not exist")
    root, built, error = _run_pages(options.command, check_site)
    if built:
        _tell(built)
    if options.report:
        options.report.write_text(report(root, built, error))
        print(f"The report is in {options.report}")
    return 0 if built and not built.differs else 1


def _run_pages(command: str, run: Callable) -> tuple[Path, "Built | None", str]:
    """Run `run(root, on_page)` with a progress bar; None where it failed, and why."""
    from zerolit.book.build import BuildFailed, count_pages, find_root

    root = Path.cwd()
    try:
        root = find_root(root)
        with _progress() as progress:
            task = progress.add_task("building", total=count_pages(root))
            advance = partial(progress.update, task, advance=1)
            return root, run(root, lambda page: advance(description=page)), ""
    except BuildFailed as error:
        print(f"zerolit {command}: failed, the last site is untouched\n{error}", file=sys.stderr)
        return root, None, str(error)


def _tell(built: "Built", accepted: bool = False) -> None:
    """What is not as the reference says; for a commit message where it was accepted."""
    for drift in built.drift:
        print(drift)
    for address in built.unpublished:
        print(f"{address} is a new place")
    if not accepted:
        print(f"{built.same} of {len(built.ledger)} results are as the reference says")
    if built.differs and not accepted:
        print("If that is meant, `zerolit build --accept` makes it the reference")


def _bench(options: argparse.Namespace) -> int:
    from zerolit.bench import print_demo, print_overhead, print_ratios

    print_overhead(Console())
    print_demo(Console())
    print_ratios(Console())
    return 0
