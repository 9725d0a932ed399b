"""Run a judge's rank program, with the reader's in it; note what each rank holds and sends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from zerolit.comm import CommError, CommLog, RankProgram, simulate
from zerolit.comm.chunks import parts

from .exercise import Wrong
from .meter import Meter


@dataclass(frozen=True)
class Facts:
    """What came of one rank.

    Attributes:
        result: what its program returned.
        sent: elements.
        moments: elements of the tensors that are alive, after each that came or went.
    """

    result: Any
    sent: int
    moments: list[int]

    @property
    def stored(self) -> int:
        """Elements that are alive after it, those in `result` among them."""
        return self.moments[-1]

    @property
    def peak(self) -> int:
        """Elements at its fullest moment."""
        return max(self.moments)


def run(program: Callable, size: int, engine: str = "simulated") -> list[Facts]:
    """Run `program(rank, size)` on every rank, with all its tensors counted; the facts by rank.

    Args:
        engine: "simulated", or "torch" for processes of this machine.

    Raises:
        Wrong: ranks that do not fit together, or a process that fails.
    """
    if engine == "torch":
        return _on_processes(program, size)
    meters, log = [Meter() for _ in range(size)], CommLog(size)

    def counted(rank: int, size: int, meter: Meter) -> RankProgram:
        return metered(program(rank, size), meter)

    try:
        results = simulate(counted, meters, log)
    except CommError as error:
        if error.verdict is None:
            raise
        raise Wrong("prover", error.verdict) from None
    told = zip(results, log.sent, meters, strict=True)
    return [Facts(result, sent, list(meter.moments)) for result, sent, meter in told]


def asked(program: Any) -> RankProgram:
    """What a reader's function gave, if it is a rank program.

    Raises:
        Wrong: it is something else.
    """
    if not hasattr(program, "send"):
        raise Wrong("no_yield", got=type(program).__name__)
    return program


def metered(program: RankProgram, meter: Meter) -> RankProgram:
    """Run a rank program with its tensors counted, and those that arrive."""
    arrived = None
    while True:
        for part in parts(arrived):
            if isinstance(part, Tensor):
                meter.note(part)
        part = None
        try:
            with meter:
                swap = program.send(arrived)
        except StopIteration as end:
            return end.value
        arrived = None  # what a rank does not keep is not its own
        arrived = yield swap


def _on_processes(program: Callable, size: int) -> list[Facts]:
    from zerolit.engine import EngineError, launch

    try:
        return launch(_one_rank, size, program, timeout=20.0)
    except EngineError as error:
        raise Wrong("process", error=str(error)) from None


def _one_rank(program: Callable) -> Facts:
    import torch.distributed as dist

    from zerolit.engine import drive

    rank, size, meter = dist.get_rank(), dist.get_world_size(), Meter()
    log = CommLog(size)
    result = drive(metered(program(rank, size), meter), log=log)
    return Facts(result, log.sent[rank], list(meter.moments))
