"""Exercises 13 and 14: what must go again at once, so that no rank ever holds the whole."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zerolit.comm import RankProgram

from .exercise import Exercise, Wrong
from .ranks import Facts, asked, run
from .shards import cases, gradient_of

LAYERS, MICRO_BATCHES = 8, 2
_ROOM = {"zero2": (LAYERS + 2, 2), "zero3": (2 * LAYERS + 2, 3)}  # slices, and whole layers


def share_of(whole: Tensor, rank: int, size: int) -> list[float]:
    """A rank's slice of a vector `[n]`, as numbers."""
    return whole.tensor_split(size)[rank].tolist()


def over_ranks(size: int, n: int, micro_batch: int, layer: int) -> Tensor:
    """The sum over the ranks of a layer's gradients `[n]`."""
    return torch.stack([_gradient(rank, n, micro_batch, layer) for rank in range(size)]).sum(0)


def _gradient(rank: int, n: int, micro_batch: int, layer: int) -> Tensor:
    return gradient_of(rank, n, LAYERS * micro_batch + layer)


def _listed(result: Any, count: int, rank: int, size: int) -> list[list[float]]:
    """What a solution returned, as numbers.

    Raises:
        Wrong: it is no tensor for each layer.
    """
    listed = list(result) if isinstance(result, list | tuple) else []
    if len(listed) == count and all(isinstance(one, Tensor) for one in listed):
        return [one.flatten().tolist() for one in listed]
    got = type(result).__name__ + (f" ({len(listed)})" if listed else "")
    raise Wrong("returns", rank=rank, size=size, got=got, count=count)


def allowed_for(name: str, size: int, n: int) -> int:
    """How many numbers a rank may hold at once: so many slices, and whole layers of `n`."""
    slices, wholes = _ROOM[name]
    return slices * -(-n // size) + wholes * n


def unsharded(name: str, n: int) -> int:
    """All gradients of layers of `n` numbers; in ZeRO-3 all parameters, too."""
    return {"zero2": 1, "zero3": 2}[name] * LAYERS * n


def _at_most(name: str, facts: Sequence[Facts], size: int, n: int) -> None:
    """Refuse a rank that at any moment held more than `allowed_for` says."""
    allowed, (slices, wholes) = allowed_for(name, size, n), _ROOM[name]
    for rank, one in enumerate(facts):
        if one.peak > allowed:
            what: dict[str, Any] = {"rank": rank, "size": size, "n": n, "peak": one.peak}
            raise Wrong("peak", **what, allowed=allowed, slices=slices, wholes=wholes)


def _sent(facts: Sequence[Facts], size: int, least: int, most: int) -> None:
    """Refuse what less than the least, or more than needed, was sent for; in all ranks together."""
    sent = sum(one.sent for one in facts)
    if sent < least:
        raise Wrong("below", size=size, sent=sent, bound=least)
    if sent > most:
        raise Wrong("sends", size=size, sent=sent, least=most)


def watched(
    name: str, solution: Callable, size: int, n: int, engine: str = "simulated"
) -> list[Facts]:
    """What comes of every rank when `"zero2"` or `"zero3"` runs on layers of `n` numbers.

    Raises:
        Wrong: ranks that do not fit together, or a process that fails.
    """
    program = {"zero2": _backward, "zero3": _step}[name]
    return run(partial(program, n=n, solution=solution), size, engine)


# Exercise 13


def _zero2(solution: Callable, engine: str) -> dict[str, Any]:
    told = {}
    for size, n in cases(engine):
        facts = watched("zero2", solution, size, n, engine)
        for rank, one in enumerate(facts):
            _accumulated(_listed(one.result, LAYERS, rank, size), rank, size, n)
        traffic = MICRO_BATCHES * LAYERS * (size - 1) * n
        _at_most("zero2", facts, size, n)
        _sent(facts, size, traffic, traffic)
        told[size] = {"size": size, "n": LAYERS * n, "peak": facts[0].peak}
    return told[3]


def _backward(rank: int, size: int, n: int, solution: Callable) -> RankProgram:
    def backward(micro_batch: int) -> Iterator[tuple[int, Tensor]]:
        for layer in reversed(range(LAYERS)):
            yield layer, _gradient(rank, n, micro_batch, layer)

    passes = (backward(micro_batch) for micro_batch in range(MICRO_BATCHES))
    return (yield from asked(solution(rank, size, passes)))


def _accumulated(got: list[list[float]], rank: int, size: int, n: int) -> None:
    """Refuse the first layer whose slice is not the sum over ranks and micro-batches."""
    for layer in range(LAYERS):
        summed = [over_ranks(size, n, each, layer) for each in range(MICRO_BATCHES)]
        mine = [_gradient(rank, n, each, layer) for each in range(MICRO_BATCHES)]
        if got[layer] == share_of(sum(summed), rank, size):  # type: ignore[arg-type]
            continue
        people_write = {
            "last": share_of(summed[-1], rank, size),
            "first": share_of(summed[0], rank, size),
            "local": share_of(sum(mine), rank, size),  # type: ignore[arg-type]
            "whole": sum(summed).tolist(),  # type: ignore[union-attr]
        }
        kinds = (kind for kind, numbers in people_write.items() if numbers == got[layer])
        raise Wrong(next(kinds, "wrong"), rank=rank, size=size, layer=layer)


def _layer_is(en: str, zh: str) -> tuple[str, str]:
    return (
        f"{{size}} ranks, rank {{rank}}, layer {{layer}}: {en}",
        f"{{size}} 个 rank，rank {{rank}}，第 {{layer}} 层：{zh}",
    )


_RETURNS = (
    "{size} ranks, rank {rank}: returned {got}, not a list of {count} slices",
    "{size} 个 rank，rank {rank}：返回了 {got}，而不是 {count} 段组成的列表",
)

ZERO2 = Exercise(
    13,
    "zero2",
    "zero2(rank, size, passes)",
    "zero.md#the-steps",
    _zero2,
    {
        "right": (
            "right: on {size} ranks rank 0 never holds more than {peak} of {n} gradients",
            "正确：{size} 个 rank 时，rank 0 任何时刻最多持有 {n} 个梯度中的 {peak} 个",
        ),
        "returns": _RETURNS,
        "last": _layer_is(
            "holds the last micro-batch only; add what the earlier ones gave",
            "只有最后一个 micro-batch 的梯度；要加上前面各次的",
        ),
        "first": _layer_is(
            "holds the first micro-batch only; add what the later ones give",
            "只有第一个 micro-batch 的梯度；要加上后面各次的",
        ),
        "local": _layer_is(
            "is this rank's own gradient; sum it over the ranks",
            "是本 rank 自己的梯度；要在各 rank 间求和",
        ),
        "whole": _layer_is(
            "is the whole sum; return this rank's slice", "是完整的和；应返回本 rank 的那一段"
        ),
        "wrong": _layer_is(
            "is not this rank's slice of the sum over ranks and micro-batches",
            "不是各 rank、各 micro-batch 梯度之和中属于本 rank 的那一段",
        ),
        "peak": (
            "the slices are right, but rank {rank} of {size} once held {peak} numbers; {allowed} "
            "are enough, {slices} slices and {wholes} whole layers: reduce a layer's gradient as "
            "soon as it is there, and let the whole go (a view of it keeps it)",
            "各段正确，但 {size} 个 rank 时 rank {rank} 一度持有 {peak} 个数；{allowed} 个就够，"
            "即 {slices} 段加 {wholes} 层完整梯度：某层的梯度一算出来就归约，随即释放整层"
            "（留着它的视图，整层就还在）",
        ),
        "sends": (
            "the slices are right, but {size} ranks send {sent} numbers; {least} are enough: each "
            "rank needs its own slice of the sum only",
            "各段正确，但 {size} 个 rank 共发送 {sent} 个数；{least} 个就够："
            "每个 rank 只需要和的一段",
        ),
    },
    engine=True,
)

# Exercise 14

ORDER = (0, 1, 2, 3, 4, 5, 6, 7, 0)  # the last layer uses the weights of the first, as GPT-2 does


def weights(n: int, unit: int) -> Tensor:
    """The parameters `[n]` of a unit."""
    return torch.arange(float(n)) + 100 * unit


class Passes:
    """The layers' forward and backward on one rank, which note what they were given."""

    def __init__(self, rank: int, n: int):
        self.rank, self.n = rank, n
        self.calls: list[tuple[str, int]] = []
        self.wrong: dict[str, Any] = {}  # the first that was

    def forward(self, layer: int, parameters: Tensor) -> None:
        """Layer `layer` on its unit's whole parameters `[n]`."""
        self._note("forward", layer, parameters)

    def backward(self, layer: int, parameters: Tensor) -> Tensor:
        """The gradient `[n]` of that layer's use of its unit."""
        self._note("backward", layer, parameters)
        return gradient_of(self.rank, self.n, layer)

    def _note(self, name: str, layer: int, parameters: Tensor) -> None:
        self.calls.append((name, layer))
        right = weights(self.n, ORDER[layer])
        if parameters.tolist() != right.tolist() and not self.wrong:
            self.wrong = {"name": name, "layer": layer, "n": self.n, "got": len(parameters)}


EVERY_CALL = [("forward", layer) for layer in range(len(ORDER))]
EVERY_CALL += [("backward", layer) for layer in reversed(range(len(ORDER)))]


def _zero3(solution: Callable, engine: str) -> dict[str, Any]:
    told = {}
    for size, n in cases(engine):
        facts = watched("zero3", solution, size, n, engine)
        for rank, one in enumerate(facts):
            gradients, calls, wrong = one.result
            _used(calls, wrong, rank, size)
            _gradients(_listed(gradients, LAYERS, rank, size), rank, size, n)
        gathered = (size - 1) * n
        _at_most("zero3", facts, size, n)
        _sent(facts, size, 2 * LAYERS * gathered, 3 * len(ORDER) * gathered)
        told[size] = {"size": size, "n": LAYERS * n, "peak": facts[0].peak}
    return told[3]


def _step(rank: int, size: int, n: int, solution: Callable) -> RankProgram:
    shares = [weights(n, unit).tensor_split(size)[rank].clone() for unit in range(LAYERS)]
    passes = Passes(rank, n)
    told = solution(rank, size, n, shares, ORDER, passes.forward, passes.backward)
    gradients = yield from asked(told)
    return gradients, passes.calls, passes.wrong


def _used(calls: list, wrong: Any, rank: int, size: int) -> None:
    """Refuse parameters that were not whole, and layers that did not run in their order."""
    if wrong:
        raise Wrong(
            "parameters" if wrong["got"] == wrong["n"] else "cut", rank=rank, size=size, **wrong
        )
    if calls != EVERY_CALL:
        pairs = enumerate(zip([*calls, None], [*EVERY_CALL, None], strict=False))
        first = next(i for i, (got, wanted) in pairs if got != wanted)
        raise Wrong("order", rank=rank, size=size, done=first + 1, wanted=len(EVERY_CALL))


def _gradients(got: list[list[float]], rank: int, size: int, n: int) -> None:
    """Refuse the first unit whose slice is not the sum over the ranks and over its uses."""
    for unit in range(LAYERS):
        uses = [layer for layer, used in enumerate(ORDER) if used == unit]
        each = [over_ranks(size, n, 0, layer) for layer in uses]
        mine = [gradient_of(rank, n, layer) for layer in uses]
        if got[unit] == share_of(sum(each), rank, size):  # type: ignore[arg-type]
            continue
        is_tied = len(uses) > 1 and got[unit] in [share_of(use, rank, size) for use in each]
        is_local = got[unit] == share_of(sum(mine), rank, size)  # type: ignore[arg-type]
        kind = "tied" if is_tied else "local" if is_local else "wrong"
        raise Wrong(kind, rank=rank, size=size, unit=unit)


def _on(en: str, zh: str) -> tuple[str, str]:
    return (f"{{size}} ranks, rank {{rank}}: {en}", f"{{size}} 个 rank，rank {{rank}}：{zh}")


ZERO3 = Exercise(
    14,
    "zero3",
    "zero3(rank, size, n, shares, order, forward, backward)",
    "zero.md#the-steps",
    _zero3,
    {
        "right": (
            "right: on {size} ranks rank 0 never holds more than {peak} numbers, for {n} "
            "parameters and as many gradients",
            "正确：{n} 个参数和同样多的梯度，{size} 个 rank 时 rank 0 任何时刻最多持有 {peak} 个数",
        ),
        "returns": _RETURNS,
        "cut": _on(
            "{name} of layer {layer} was given {got} of its {n} parameters; gather the whole unit",
            "第 {layer} 层的 {name} 只拿到 {n} 个参数中的 {got} 个；要先收集整个单元",
        ),
        "parameters": _on(
            "{name} of layer {layer} was given other parameters than unit order[{layer}] has; "
            "gather the slices of all ranks, each into its place",
            "第 {layer} 层的 {name} 拿到的不是单元 order[{layer}] 的参数；"
            "要收集所有 rank 的段，并各放回原位",
        ),
        "order": _on(
            "call {done} of {wanted} is missing, or out of turn: forward goes through all layers, "
            "then backward from the last to the first",
            "{wanted} 次调用中，第 {done} 次缺失或次序不对："
            "前向依次经过各层，反向再从最后一层走回第一层",
        ),
        "tied": _on(
            "unit {unit} is used by two layers, and only one use is in its gradient; add both",
            "单元 {unit} 被两层使用，梯度里却只有一次使用的贡献；两次要相加",
        ),
        "local": _on(
            "the gradient of unit {unit} is this rank's own; sum it over the ranks",
            "单元 {unit} 的梯度只是本 rank 自己的；要在各 rank 间求和",
        ),
        "wrong": _on(
            "the gradient of unit {unit} is not this rank's slice of the sum over the ranks",
            "单元 {unit} 的梯度不是各 rank 之和中属于本 rank 的那一段",
        ),
        "peak": (
            "the gradients are right, but rank {rank} of {size} once held {peak} numbers; "
            "{allowed} are enough, {slices} slices and {wholes} whole units: let a unit go after "
            "its forward, gather it again for its backward, and keep no view of a whole gradient",
            "梯度正确，但 {size} 个 rank 时 rank {rank} 一度持有 {peak} 个数；{allowed} 个就够，"
            "即 {slices} 段加 {wholes} 个完整单元：前向用完就释放，反向时再收集一次，"
            "也不要留着整个梯度的视图",
        ),
        "sends": (
            "the gradients are right, but {size} ranks send {sent} numbers; {least} are enough: "
            "two gathers and one reduce-scatter for each layer",
            "梯度正确，但 {size} 个 rank 共发送 {sent} 个数；{least} 个就够："
            "每层两次收集、一次 reduce-scatter",
        ),
    },
    engine=True,
)
