"""One training step as it happens on each card: what runs, what is sent to whom, what is held."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from torch import Tensor

from zerolit.comm import RankProgram, Swap, tap
from zerolit.comm.log import count
from zerolit.zero import STAGES, TINY_GPT, FlatUnit, Settings, Task, Worker
from zerolit.zero.train import one_thread, share_out, step, task_worker

COMPUTE = ("forward", "backward", "update")
STATES = ("parameters", "gradients", "m", "v")


@dataclass
class Moment:
    """Something that a card does with one unit.

    Attributes:
        what: one of `COMPUTE`, or "reduce-scatter" or "all-gather".
        unit: which of the model's units.
        moved: in a collective, what it moves: "parameters" or "gradients".
        to: in a collective, the card that this one sends to.
        elements: in a collective, how many it sends, in all its messages together.
        held: what the card holds then, in elements by kind.
    """

    what: str
    unit: int
    held: Counter[str]
    moved: str = ""
    to: int | None = None
    elements: int = 0


@dataclass(frozen=True)
class OneStep:
    """A step of a stage.

    Attributes:
        moments: of each card, in order; running a unit again for its backward pass is left out.
        states: of each card, the elements held after the update of each of `STATES`.
        notes: of each card, what its memory counted: (what happened, elements by kind).
        padded: elements of all units with their padding.
    """

    moments: list[list[Moment]]
    states: list[Counter[str]]
    notes: list[list[tuple[str, Counter[str]]]]
    padded: int


@cache
def one_step(stage: int, size: int = 4, task: Task = TINY_GPT) -> OneStep:
    """The first step of a run on `size` simulated cards, watched."""
    how = Settings(size, 1, task)
    workers = [task_worker(task, stage, rank, size, how.recipe) for rank in range(size)]
    watches = [_Watch(worker) for worker in workers]

    def watched(worker: Worker, batches: Sequence) -> RankProgram:
        return tap(STAGES[stage](worker, batches), watches[worker.rank].swap)

    with one_thread():
        step(watched, workers, share_out(*next(task.draw_batches(1, how.batch_size)), size, 1))
    return OneStep(
        [watch.moments for watch in watches],
        [_states(worker) for worker in workers],
        [worker.memory.moments for worker in workers],
        sum(unit.layout.padded for unit in workers[0].units),
    )


class _Watch:
    """Notes what one card does, without changing it."""

    def __init__(self, worker: Worker):
        self.worker, self.moments = worker, list[Moment]()
        for index, unit in enumerate(worker.units):
            self._hook(index, unit)

    def _hook(self, index: int, unit: FlatUnit) -> None:
        begin = {what: partial(self._begin, what, index) for what in COMPUTE}
        unit.module.register_forward_pre_hook(lambda *_: begin["forward"]())
        unit.module.register_forward_hook(lambda *io: _on_gradient(io[2], begin["backward"]))
        adamw = self.worker.adamw[unit.name]
        adamw.step = _after(begin["update"], adamw.step)  # type: ignore[method-assign]

    def _begin(self, what: str, index: int) -> None:
        again = what == "forward" and self._has("forward", index)
        if not again:
            self.moments.append(Moment(what, index, self.worker.memory.now))

    def _has(self, what: str, index: int) -> bool:
        return any((m.what, m.unit) == (what, index) for m in self.moments)

    def swap(self, swap: Swap) -> None:
        """Note a message; those of one collective are one moment."""
        if swap.phase not in ("parameters", "gradients"):
            return  # loss, token count, norm: a few numbers
        what = "all-gather" if swap.fill else "reduce-scatter"
        index, last = self._unit_of(swap.payload), self.moments[-1:]
        if not last or (last[0].what, last[0].unit) != (what, index):
            moment = Moment(what, index, self.worker.memory.now, swap.phase, swap.to)
            self.moments.append(moment)
        self.moments[-1].elements += count(swap.payload)

    def _unit_of(self, payload: Tensor) -> int:
        """Whose vector a payload is a view of; a whole gradient is that of the last backward."""
        names = [unit.name for unit in self.worker.units]
        address = payload.untyped_storage().data_ptr()
        for (_, name), tensor in self.worker.memory.held.items():
            if tensor.untyped_storage().data_ptr() == address and name in names:
                return names.index(name)
        return next(m.unit for m in reversed(self.moments) if m.what == "backward")


def _on_gradient(output: Tensor, note: Callable[[], None]) -> None:
    if output.requires_grad:
        output.register_hook(lambda _: note())


def _after(note: Callable[[], None], run: Callable) -> Callable:
    def noted(*args: Any) -> None:
        note()
        run(*args)

    return noted


def _states(worker: Worker) -> Counter[str]:
    """What a card holds, with the optimizer's two vectors apart."""
    found: Counter[str] = Counter()
    for (kind, name), tensor in worker.memory.held.items():
        found[name.split()[-1] if kind == "optimizer" else kind] += tensor.numel()
    return found
