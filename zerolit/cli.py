"""The command line: `zerolit …` and `python -m zerolit …`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from zerolit.comm import CommLog, ring_all_reduce


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

    build = commands.add_parser("build", help="build the site, both languages, into site/")
    build.set_defaults(run=_build)

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


def _build(options: argparse.Namespace) -> int:
    from zerolit.book.build import BuildFailed, build_site, count_pages, find_root

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn())
    try:
        root = find_root(Path.cwd())
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("building", total=count_pages(root))
            seconds = build_site(
                root, lambda page: progress.update(task, advance=1, description=page)
            )
    except BuildFailed as error:
        print(f"zerolit build: failed, the last site is untouched\n{error}", file=sys.stderr)
        return 1
    for page, took in seconds.items():
        print(f"{took:8.2f} s  {page}")
    print(f"The site is in {root / 'site'}: open {root / 'site' / 'index.html'}")
    return 0


def _bench(options: argparse.Namespace) -> int:
    from zerolit.bench import print_ratios

    print_ratios(Console())
    return 0
