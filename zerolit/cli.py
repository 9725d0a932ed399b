"""The command line: `zerolit …` and `python -m zerolit …`."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from zerolit.comm import CommLog, ring_all_reduce

if TYPE_CHECKING:
    from zerolit.book.table import Table
    from zerolit.press.build import Built
    from zerolit.zero import Run, Task

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

# What --stock offers, and its name in zerolit.engine.stock, which takes seconds to import.
STOCK = {"ddp": "ddp", "ddp+zero": "zero", "fsdp2": "fsdp2", "hsdp": "hsdp"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    0; 1 where something failed, 2 for bad input, 130 where it was interrupted.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except ValueError as error:
        print(f"zerolit {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"zerolit {options.command}: stopped", file=sys.stderr)
        return 130
    except RuntimeError as error:
        from zerolit.engine import EngineError  # not before: torch takes seconds to import

        if not isinstance(error, EngineError):
            raise
        print(f"zerolit {options.command}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="zerolit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (_add_chapters, _add_labs, _add_zero, _add_engine, _add_pages):
        add(commands)
    return parser


def _add(
    commands: "Commands", run: Callable, name: str, help: str, lang: bool = True
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=help)
    command.set_defaults(run=run)
    if lang:
        command.add_argument("--lang", choices=("en", "zh"), default="en", help="language")
    return command


def _add_chapters(commands: "Commands") -> None:
    ring = _add(commands, _ring, "ring", "every hop of a ring all-reduce")
    ring.add_argument("--ranks", type=int, default=4, help="number of cards (default 4)")
    ring.add_argument("--length", type=int, default=8, help="numbers per card (default 8)")
    _add(commands, _scaling, "scaling", "traffic and time as cards are added")
    parallel = _add(commands, _data_parallel, "data-parallel", "several cards beside one big batch")
    parallel.add_argument("--ranks", type=int, default=4, help="number of cards (default 4)")
    parallel.add_argument("--steps", type=int, default=40, help="(default 40)")
    _add(commands, _demo, "demo", "the demonstrations of 3.1 to 3.4 in a row")


def _add_labs(commands: "Commands") -> None:
    lab = _add(
        commands, _lab, "lab", "copy a lab's notebook here and open it; without N, list them"
    )
    lab.add_argument("number", metavar="N", type=int, nargs="?", help="which lab")
    bug = _add(
        commands, _break, "break", "a bug on purpose: its line, what the loss shows, and more"
    )
    bug.add_argument("name", metavar="NAME", nargs="?", help="which bug; without it, list them")


def _add_zero(commands: "Commands") -> None:
    zero = _add(commands, _zero, "zero", "the stages of ZeRO: stored, sent, and the same bits")
    zero.add_argument("--stage", type=int, choices=range(4), help="only this one beside stage 0")
    zero.add_argument(
        "--engine",
        choices=("simulator", "torch"),
        default="simulator",
        help="simulated ranks, or processes of torch.distributed; torchrun's are always used",
    )
    zero.add_argument("--stock", choices=STOCK, help="PyTorch's own training instead of ours")
    zero.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="(default cpu)")
    zero.add_argument("--ranks", type=int, default=4, help="number of cards (default 4)")
    zero.add_argument("--steps", type=int, default=15, help="in all (default 15)")
    zero.add_argument("--batch", type=int, default=32, help="sequences a step (default 32)")
    for name, default in (("layers", 2), ("width", 64), ("heads", 4), ("context", 96)):
        zero.add_argument(f"--{name}", type=int, default=default, help=f"(default {default})")
    zero.add_argument("--text", type=Path, help="a text file to learn, characters as tokens")
    zero.add_argument("--save", type=Path, help="a folder for a checkpoint at the end")
    zero.add_argument("--resume", type=Path, help="a checkpoint to go on from")


def _add_engine(commands: "Commands") -> None:
    trace = _add(commands, _trace, "trace", "one step's messages on real processes, and when")
    trace.add_argument("--stage", type=int, choices=range(4), default=3, help="(default 3)")
    trace.add_argument("--ranks", type=int, default=4, help="number of processes (default 4)")
    scale = _add(commands, _at_scale, "at-scale", "FSDP2 on many ranks that do not exist")
    scale.add_argument("--ranks", type=int, nargs="+", default=[64, 512, 2048], help="of each run")
    scale.add_argument("--layers", type=int, default=8, help="of the GPT (default 8)")
    scale.add_argument("--width", type=int, default=512, help="of the GPT (default 512)")
    bench = _add(commands, _bench, "bench", "speed, as ratios in one run", lang=False)
    bench.add_argument("--engine", action="store_true", help="real processes beside PyTorch's own")
    bench.add_argument("--build", action="store_true", help="a cold build of the site, by page")
    bench.add_argument("--pages", action="store_true", help="Lighthouse's scores of the built site")


def _add_pages(commands: "Commands") -> None:
    build = _add(commands, _build, "build", "build the site, both languages, into site/", False)
    build.add_argument(
        "--accept", action="store_true", help="make this build's results the reference"
    )
    build.add_argument(
        "--draft", action="store_true", help="run only what may have changed, into site-draft/"
    )
    build.add_argument(
        "--no-swap-on-drift", action="store_true", help="keep the last site if a result drifted"
    )
    serve = _add(commands, _serve, "serve", "show the site while you write it", False)
    serve.add_argument("--port", type=int, default=8000, help="(default 8000)")
    build.add_argument("--url", help="where the site will be, as https://… (default: anywhere)")
    check = _add(commands, _check, "check", "run every block, compare with the reference", False)
    check.add_argument("--report", type=Path, help="write the outcome on one page, as Markdown")


def _ring(options: argparse.Namespace) -> int:
    from zerolit.book.ring_all_reduce import hops_table

    if options.ranks < 1:
        raise ValueError(f"--ranks is {options.ranks}; it must be at least 1")
    if options.length < 0:
        raise ValueError(f"--length is {options.length}; it must be 0 or more")
    log = CommLog(options.ranks)
    ring_all_reduce([(r + 1) * np.arange(options.length) for r in range(options.ranks)], log)
    Console().print(hops_table(log, options.length).terminal(options.lang))
    return 0


def _scaling(options: argparse.Namespace) -> int:
    from zerolit.book.traffic_and_time import time_table, traffic_table
    from zerolit.plan import Training

    console = Console()
    console.print(traffic_table(1200, (2, 4, 8, 16)).terminal(options.lang))
    console.print(time_table(Training(), (8, 32, 128, 512, 2048)).terminal(options.lang))
    return 0


def _data_parallel(options: argparse.Namespace) -> int:
    from zerolit.book.bigger_batch import batch_table, bigger_batch

    _at_least_one(options, "ranks", "steps")
    with _progress() as progress:
        task = progress.add_task("training", total=options.steps)
        steps = bigger_batch(options.ranks, options.steps, on_step=lambda: progress.advance(task))
    shown = sorted({round(i * (options.steps - 1) / 4) for i in range(5)})
    Console().print(batch_table(steps, shown, options.ranks).terminal(options.lang))
    return 0


def _lab(options: argparse.Namespace) -> int:
    from zerolit.labs import LABS, copy_lab, open_lab, read_lab

    if options.number is None:
        for number, name in enumerate(LABS, 1):
            print(f"{number}  {name:14}  {read_lab(name, options.lang).title}")
        return 0
    if not 1 <= options.number <= len(LABS):
        raise ValueError(f"N is {options.number}; it must be 1 to {len(LABS)}")
    path = copy_lab(LABS[options.number - 1], options.lang, Path.cwd())
    print(f"The lab is in {path}")
    if not open_lab(path):
        print(f"To open it: pip install jupyterlab && jupyter lab {path.name}")
    return 0


def _break(options: argparse.Namespace) -> int:
    from zerolit.book.break_it import break_table
    from zerolit.breaks import BUGS, checks_in_words, diff, find

    if options.name is None:
        for name, bug in BUGS.items():
            print(f"{name:18}  {bug.title(options.lang)}")
        return 0
    bug, console = find(options.name), Console()
    with Console(stderr=True).status("training with the bug and without it"):
        told = checks_in_words(bug.name, options.lang)
        table = break_table(bug.name, options.lang)
    console.print(table.terminal(options.lang))
    console.print(diff(bug), markup=False, highlight=False)
    told_by = {"en": "told at once by: ", "zh": "立刻能发现它的检查："}[options.lang]
    console.print(told_by + told)
    return 0


def _zero(options: argparse.Namespace) -> int:
    from zerolit.engine import is_rank_0, under_torchrun, world_size

    options.ranks, heard = world_size(options.ranks), is_rank_0()
    if under_torchrun():
        options.engine = "torch"
    _at_least_one(options, "ranks", "steps", "batch", "layers", "width", "heads", "context")
    _refuse_what_does_not_fit(options)
    with _progress(disable=not heard) as progress:
        table = (_stock_table if options.stock else _stages_table)(options, progress)
    if heard:
        Console().print(table.terminal(options.lang))
    return 0


def _refuse_what_does_not_fit(options: argparse.Namespace) -> None:
    if options.stock and options.engine == "simulator":
        raise ValueError(f"--stock {options.stock} runs on processes, so it needs --engine torch")
    if options.stock and options.stage is not None:
        raise ValueError(f"--stage {options.stage} is of our programs; --stock {options.stock} not")
    if (options.save or options.resume) and not options.stock and options.stage is None:
        raise ValueError("--save and --resume are for one run, so they need --stage or --stock")


def _task(options: argparse.Namespace) -> "Task":
    """The GPT that the flags ask for."""
    from zerolit.gpt import Config
    from zerolit.zero import tiny_gpt

    sizes = {name: getattr(options, name) for name in ("layers", "width", "heads", "context")}
    if options.text is None:
        return tiny_gpt(Config(**sizes))
    try:
        return tiny_gpt(Config(**sizes), options.text.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--text is {options.text}, which cannot be read: {error}") from None


def _stages_table(options: argparse.Namespace, progress: Progress) -> "Table":
    """Stage 0 and those asked for, or all; one alone if it is saved or resumed."""
    from zerolit.book.zero import stages_table
    from zerolit.engine import is_rank_0

    stages = range(4) if options.stage is None else sorted({0, options.stage})
    how: dict[str, Any] = {"task": _task(options), "batch_size": options.batch}
    how |= {"device": options.device}
    if options.save or options.resume:
        stages, how = [options.stage], how | {"save": options.save, "resume": options.resume}
    bar = progress.add_task("training", total=options.steps * len(stages))
    how["on_step"] = partial(progress.advance, bar)
    train = _trainer(options)
    runs = {stage: train(stage, options.ranks, options.steps, **how) for stage in stages}
    for stage, run in runs.items() if is_rank_0() else ():
        progress.console.print(f"stage {stage}: {_in_a_line(run, options.resume)}", soft_wrap=True)
    return stages_table(runs, options.ranks)


def _in_a_line(run: "Run", resume: Path | None) -> str:
    """From which loss to which, and how it goes on from a checkpoint."""
    goes_on = f", goes on from {resume}: {run.continues}" if resume else ""
    return f"loss {run.losses[0]:.4f} to {run.losses[-1]:.4f}{goes_on}"


def _trainer(options: argparse.Namespace) -> Callable:
    from zerolit import engine, zero
    from zerolit.book.runs import THREADS

    return engine.train if options.engine == "torch" else partial(zero.train, threads=THREADS)


def _stock_table(options: argparse.Namespace, progress: Progress) -> "Table":
    from zerolit.book.real_processes import stock_table
    from zerolit.engine import stock

    bar, which = progress.add_task("training", total=options.steps), STOCK[options.stock]
    ran = stock.train(
        which,
        options.ranks,
        options.steps,
        _task(options),
        options.batch,
        save=options.save,
        resume=options.resume,
        device=options.device,
        on_step=partial(progress.advance, bar),
    )
    return stock_table(which, ran)


def _trace(options: argparse.Namespace) -> int:
    from zerolit.book.real_processes import trace_table

    _at_least_one(options, "ranks")
    with Console(stderr=True).status("one step on real processes"):
        table = trace_table(options.stage, options.ranks)
    Console().print(table.terminal(options.lang))
    return 0


def _at_scale(options: argparse.Namespace) -> int:
    from zerolit.book.real_processes import scale_table

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


def _at_least_one(options: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is {getattr(options, name)}; it must be at least 1")


def _progress(disable: bool = False) -> Progress:
    columns = (TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(stderr=True), disable=disable)


def _build(options: argparse.Namespace) -> int:
    from zerolit.press.build import DRAFT, build_draft, build_site

    if options.url and not options.url.startswith(("https://", "http://")):
        raise ValueError(f"--url is {options.url}; it must start with https:// or http://")

    def build(root: Path, on_page: Callable[[str], None]) -> "Built":
        if options.draft:
            return build_draft(root, on_page)
        return build_site(root, on_page, options.accept, not options.no_swap_on_drift, options.url)

    root, built, _ = _run_pages(options.command, build)
    if built is None:
        return 1
    for page, took in built.seconds.items():
        print(f"{took:8.2f} s  {page}")
    if options.draft:
        print(f"{len(built.fresh)} blocks ran")
    _tell(built, accepted=options.accept)
    if built.swapped:
        folder = root / (DRAFT if options.draft else "site")
        print(f"The site is in {folder}: open {folder / 'index.html'}")
    else:
        print(f"The last site was kept in {root / 'site'}")
    return 1 if built.differs and not options.accept else 0


def _serve(options: argparse.Namespace) -> int:
    import logging

    from mkdocs.commands.serve import serve

    from zerolit.press.build import find_root

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    config = find_root(Path.cwd()) / "mkdocs.yml"
    serve(config_file=str(config), dev_addr=f"127.0.0.1:{options.port}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from zerolit.press.build import check_site
    from zerolit.press.report import report

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
    from zerolit.press.build import BuildFailed, count_pages, find_root

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
    console = Console()
    if options.build or options.pages:
        from zerolit.bench.pages import print_build, print_pages
        from zerolit.press.build import find_root

        root = find_root(Path.cwd())
        print_build(console, root) if options.build else print_pages(console, root / "site")
    elif options.engine:
        from zerolit.bench.engine import print_engine

        print_engine(console)
    else:
        from zerolit.bench import simulator

        for show in (simulator.print_overhead, simulator.print_demo, simulator.print_proofs):
            show(console)
        simulator.print_ratios(console)
    return 0
