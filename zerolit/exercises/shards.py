"""Exercise 11: who stores what, who updates what, and what is sent."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zerolit.comm import RankProgram
from zerolit.zero import FlatAdamW

from .exercise import Exercise, Wrong
from .ranks import Facts, asked, run

# (ranks, numbers): p ∤ n and n < p among them; one rank comes last, for it hides most mistakes
CASES = ((2, 6), (3, 10), (4, 10), (8, 5), (1, 5))
PROCESSES = ((3, 10),)
STEPS = 2


def cases(engine: str) -> Sequence[tuple[int, int]]:
    """How many ranks, and how long the vectors are."""
    return PROCESSES if engine == "torch" else CASES


def gradient_of(rank: int, n: int, step: int) -> Tensor:
    """A rank's gradient `[n]`: whole numbers, so that sums are exact in any order."""
    dice = random.Random(100 * step + rank)
    return torch.tensor([float(dice.randint(-8, 8)) for _ in range(n)])  # nothing else is counted


def start(n: int) -> Tensor:
    """The parameters `[n]` before the first step."""
    return torch.linspace(-1, 1, n)


def trained(n: int, each: Iterable[Tensor]) -> list[list[float]]:
    """The parameters after each step, by AdamW on whole vectors `[n]`."""
    parameters, adamw, after = start(n), FlatAdamW(n), []
    for gradient in each:
        adamw.step(parameters, gradient)
        after.append(parameters.tolist())
    return after


def summed(size: int, n: int) -> Iterator[Tensor]:
    """The gradient of all ranks `[n]`, step by step."""
    for step in range(STEPS):
        yield torch.stack([gradient_of(rank, n, step) for rank in range(size)]).sum(0)


# Exercise 11


def _zero1(solution: Callable, engine: str) -> dict[str, Any]:
    told = {}
    for size, n in cases(engine):
        facts = run(partial(_train, n=n, solution=solution), size, engine)
        for rank, one in enumerate(facts):
            _same(one.result[0], rank, size, n)
        _stores_a_slice(facts, size, n)
        _sends_no_more(facts, size, n)
        told[size] = {"size": size, "n": n, "stored": facts[0].stored}
    return told[3]


def _train(rank: int, size: int, n: int, solution: Callable) -> RankProgram:
    """All steps on one rank; returns the parameters after each, and what the rank then holds."""
    parameters, kept, after = start(n), dict[str, Any](), []
    for step in range(STEPS):
        gradient = gradient_of(rank, n, step)
        yield from asked(solution(rank, size, parameters, gradient, kept))
        after.append(parameters.tolist())
    return after, (parameters, kept)


def _same(after: list[list[float]], rank: int, size: int, n: int) -> None:
    """Refuse the first step after which a rank's parameters are not those of one big batch."""
    for step, right in enumerate(trained(n, summed(size, n))):
        if after[step] == right:
            continue
        where: dict[str, Any] = {"rank": rank, "size": size, "step": step + 1}
        raise Wrong(_why(after, rank, size, n, step), **where)


def _why(after: list[list[float]], rank: int, size: int, n: int, step: int) -> str:
    """What people write, if it gives just these numbers."""
    before = after[step - 1] if step else start(n).tolist()
    right = trained(n, summed(size, n))[step]
    wrong = [got != wanted for got, wanted in zip(after[step], right, strict=True)]
    if after[step] == before:
        return "unmoved"
    if all(any(pair) for pair in zip(*_alone(after[step], rank, size, n, step), strict=True)):
        return "local"
    pairs = zip(after[step], before, wrong, strict=True)
    if all(got == old for got, old, is_wrong in pairs if is_wrong):
        return "ungathered"
    return "forgets" if step else "wrong"


def _alone(now: list[float], rank: int, size: int, n: int, step: int) -> list[list[bool]]:
    """Where parameters are as one rank's gradients alone make them: its own, or the owner's."""
    one = [trained(n, (gradient_of(r, n, s) for s in range(STEPS)))[step] for r in range(size)]
    owners = [r for r in range(size) for _ in start(n).tensor_split(size)[r]]
    by_owner = [one[owner][i] for i, owner in enumerate(owners)]
    made = (one[rank], by_owner)
    return [[a == b for a, b in zip(now, each, strict=True)] for each in made]


def _stores_a_slice(facts: Sequence[Facts], size: int, n: int) -> None:
    for rank, one in enumerate(facts):
        share = len(start(n).tensor_split(size)[rank])
        if one.stored > n + 2 * share + 1:  # torch.optim counts its steps in a tensor
            what: dict[str, Any] = {"rank": rank, "size": size, "n": n, "stored": one.stored}
            raise Wrong("stores", **what, allowed=n + 2 * share, share=share)


def _sends_no_more(facts: Sequence[Facts], size: int, n: int) -> None:
    """Refuse more than an all-reduce, or less, in all ranks together."""
    sent, least = sum(one.sent for one in facts), STEPS * 2 * (size - 1) * n
    if sent < least:
        raise Wrong("below", size=size, sent=sent, bound=least)
    if sent > least:
        raise Wrong("sends", size=size, sent=sent, least=least)


ZERO1 = Exercise(
    11,
    "zero1",
    "zero1(rank, size, parameters, gradient, kept)",
    "zero.md#the-steps",
    _zero1,
    {
        "right": (
            "right: the same parameters as with one big batch, to the bit; on {size} ranks rank 0 "
            "holds {stored} numbers for {n} parameters, and an all-reduce is all that is sent",
            "正确：参数与一个大 batch 逐位相同；{size} 个 rank、{n} 个参数时 "
            "rank 0 存 {stored} 个数，通信量只有一次 all-reduce",
        ),
        "unmoved": (
            "{size} ranks, step {step}: the parameters of rank {rank} did not change; update its "
            "own slice of them, in place",
            "{size} 个 rank，第 {step} 步：rank {rank} 的参数没有变；要就地更新它自己的那一段",
        ),
        "local": (
            "{size} ranks, step {step}: rank {rank} updates by its own gradient alone; sum it over "
            "the ranks first",
            "{size} 个 rank，第 {step} 步：rank {rank} 只用自己的梯度更新；应先在各 rank 间求和",
        ),
        "ungathered": (
            "{size} ranks, step {step}: rank {rank} has new parameters in some slices and the old "
            "ones in the others; gather what the other ranks updated, in the slices of `cut`",
            "{size} 个 rank，第 {step} 步：rank {rank} 的参数只有部分段是新的，其余还是旧的；"
            "要把其他 rank 更新好的段收集过来，切法与 `cut` 相同",
        ),
        "forgets": (
            "{size} ranks: step 1 is right, step {step} of rank {rank} is not; m and v must stay "
            "from one step to the next",
            "{size} 个 rank：第 1 步正确，rank {rank} 的第 {step} 步不对；"
            "m 和 v 要从上一步保留到下一步",
        ),
        "wrong": (
            "{size} ranks, step {step}: rank {rank} has other parameters than one big batch gives; "
            "update the slice whose gradient you have summed, then all_gather the whole vector",
            "{size} 个 rank，第 {step} 步：rank {rank} 的参数与一个大 batch 的不同；"
            "要更新梯度已求和的那一段，再用 all_gather 补全整个向量",
        ),
        "stores": (
            "the parameters are right, but rank {rank} of {size} holds {stored} numbers after the "
            "step; {allowed} are enough: {n} parameters, and m and v for its own {share} only",
            "参数正确，但 {size} 个 rank 时 rank {rank} 在一步之后存 {stored} 个数；"
            "{allowed} 个就够：{n} 个参数，加上自己那 {share} 个参数的 m 和 v",
        ),
        "sends": (
            "the parameters are right, but {size} ranks send {sent} numbers; {least} are enough: "
            "nobody needs the whole sum of the gradients",
            "参数正确，但 {size} 个 rank 共发送 {sent} 个数；{least} 个就够："
            "谁都不需要完整的梯度和",
        ),
    },
    engine=True,
)
