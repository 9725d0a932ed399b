"""Exercises 8 and 9: what to add up over the ranks, and by what to divide it once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zerolit.comm import RankProgram

from .exercise import Exercise, Wrong
from .ranks import Facts, asked, run

CLOSE = 1e-6  # relative: whole numbers are summed exactly, and divided once in float32


def close(got: Tensor, right: Tensor) -> bool:
    """Whether the numbers are the same but for the rounding of a division or two."""
    return bool(torch.allclose(got.double(), right.double(), rtol=CLOSE, atol=0))


def cases(engine: str) -> Sequence[tuple[int, int]]:
    """How many ranks, and how long gradients are; one rank comes last: it hides most mistakes."""
    return ((3, 10),) if engine == "torch" else ((2, 6), (3, 10), (4, 10), (8, 5), (1, 5))


# Exercise 8

TOKENS = (5, 2, 1, 0, 3, 4, 7, 6)  # of each rank


def losses_of(rank: int) -> Tensor:
    """A rank's losses `[tokens]`, in whole numbers; of four ranks or more, one has no token."""
    return torch.arange(TOKENS[rank], dtype=torch.float32) % 5 + rank


def _mean_loss(solution: Callable, engine: str) -> dict[str, Any]:
    for size, _ in cases(engine):
        facts = run(partial(_tell_loss, solution=solution), size, engine)
        for rank, one in enumerate(facts):
            _the_mean(one.result, rank, size)
        sent, least = sum(one.sent for one in facts), 2 * (size - 1)
        if sent < least:  # each other rank has two numbers to tell, or one that holds both
            raise Wrong("below", size=size, sent=sent, bound=least)
    return {"size": max(size for size, _ in cases(engine))}


def _tell_loss(rank: int, size: int, solution: Callable) -> RankProgram:
    mean = yield from asked(solution(rank, size, losses_of(rank)))
    return mean.item() if isinstance(mean, Tensor) and mean.numel() == 1 else mean


def _the_mean(got: Any, rank: int, size: int) -> None:
    if isinstance(got, bool) or not isinstance(got, int | float):
        raise Wrong("no_number", size=size, rank=rank, got=repr(got))
    each = [losses_of(r) for r in range(size)]
    right = torch.cat(list(each)).mean()
    if close(torch.tensor(got), right):
        return
    kind = _misdivided(torch.tensor(got), rank, each)
    what = {"size": size, "rank": rank, "got": f"{got:.4g}", "right": f"{right.item():.4g}"}
    raise Wrong(kind, **what)  # type: ignore[arg-type]


def _misdivided(got: Tensor, rank: int, each: Sequence[Tensor]) -> str:
    """The mistake that gives just this number, if it is one that people make."""
    total, size = torch.cat(list(each)).sum(), len(each)
    means = torch.stack([losses.sum() / max(len(losses), 1) for losses in each])
    tokens = sum(map(len, each))
    mistakes = {
        "undivided": total,
        "by_ranks": total / size,
        "mean_of_means": means.mean(),
        "sum_of_means": means.sum(),
        "own": means[rank],
        "twice": total / tokens / size,
        "own_count": total / max(len(each[rank]), 1),
    }
    if got.isnan():
        return "nan"
    return next((kind for kind, value in mistakes.items() if close(got, value)), "wrong")


def _loss_is(en: str, zh: str) -> tuple[str, str]:
    return (
        f"{{size}} ranks: rank {{rank}} gets {{got}} instead of {{right}}; {en}",
        f"{{size}} 个 rank：rank {{rank}} 得到 {{got}}，应是 {{right}}；{zh}",
    )


MEAN_LOSS = Exercise(
    8,
    "mean-loss",
    "mean_loss(rank, size, losses)",
    "bigger-batch.md#mean-of-means",
    _mean_loss,
    {
        "right": (
            "right: every token weighs the same, whichever of 1 to {size} ranks has it",
            "正确：不论 token 在 1 到 {size} 个 rank 中的哪一个上，权重都一样",
        ),
        "no_number": (
            "{size} ranks: rank {rank} returns {got}, not a number",
            "{size} 个 rank：rank {rank} 返回了 {got}，而不是一个数",
        ),
        "undivided": _loss_is("that is the sum, divided by nothing", "这是和，没有除以任何数"),
        "by_ranks": _loss_is(
            "the sum is divided by the number of ranks, not of tokens",
            "和除以的是 rank 数，而不是 token 数",
        ),
        "mean_of_means": _loss_is(
            "that is the mean of the ranks' means: it weighs ranks, not tokens",
            "这是各 rank 平均的平均：它给 rank 加权，而不是给 token 加权",
        ),
        "sum_of_means": _loss_is(
            "that is the sum of the ranks' means; add up losses and tokens, not means",
            "这是各 rank 均值之和；应当相加的是损失和 token 数，不是均值",
        ),
        "own": _loss_is(
            "that is the mean of its own tokens alone",
            "这只是它自己的 token 的均值",
        ),
        "twice": _loss_is(
            "divided twice, by the tokens and by the ranks",
            "除了两次：除以 token 数，又除以 rank 数",
        ),
        "own_count": _loss_is(
            "the sum is of all ranks, the number of tokens its own",
            "和是所有 rank 的，除数却只是它自己的 token 数",
        ),
        "nan": _loss_is(
            "a rank without tokens has 0 / 0 for a mean; add up first, divide once",
            "没有 token 的 rank 算均值就是 0 / 0；应当先求和，最后只除一次",
        ),
        "wrong": _loss_is(
            "add up the losses of all ranks and their tokens, and divide once",
            "把所有 rank 的损失与 token 数分别求和，再除一次",
        ),
    },
    engine=True,
)

# Exercise 9

MICRO = 3  # micro-batches of each rank


def micro_batches(rank: int, n: int) -> tuple[list[Tensor], list[int]]:
    """Gradients `[n]` of summed losses, in whole numbers, and how many tokens each is of."""
    generator = torch.Generator().manual_seed(rank)
    gradients = [torch.randint(-8, 9, (n,), generator=generator).float() for _ in range(MICRO)]
    return gradients, [1 + (rank + 2 * i) % 5 for i in range(MICRO)]


def _data_parallel(solution: Callable, engine: str) -> dict[str, Any]:
    for size, n in cases(engine):
        facts = run(partial(_tell_gradient, n=n, solution=solution), size, engine)
        for rank, one in enumerate(facts):
            _the_gradient(one.result, rank, size, n)
        _sends_one_all_reduce(facts, size, n)
    return {"size": max(size for size, _ in cases(engine))}


def _tell_gradient(rank: int, size: int, n: int, solution: Callable) -> RankProgram:
    gradient = yield from asked(solution(rank, size, *micro_batches(rank, n)))
    return gradient.clone() if isinstance(gradient, Tensor) else gradient


def _the_gradient(got: Any, rank: int, size: int, n: int) -> None:
    if not isinstance(got, Tensor) or got.shape != (n,):
        shape = tuple(got.shape) if isinstance(got, Tensor) else type(got).__name__
        raise Wrong("no_vector", size=size, rank=rank, got=shape, n=n)
    right, mistakes = _gradients(rank, size, n)
    if not close(got, right):
        kinds = (kind for kind, value in mistakes.items() if close(got, value))
        kind = next(kinds, "wrong")
        raise Wrong("last" if kind.startswith("last") else kind, size=size, rank=rank)


def _gradients(rank: int, size: int, n: int) -> tuple[Tensor, dict[str, Tensor]]:
    """The gradient of the mean loss `[n]`, and what people's mistakes give."""
    each = [micro_batches(r, n) for r in range(size)]
    sums = torch.stack([torch.stack(gradients).sum(0) for gradients, _ in each])
    counts = torch.tensor([sum(tokens) for _, tokens in each])
    last = torch.stack([gradients[-1] for gradients, _ in each])
    lasts = sum(tokens[-1] for _, tokens in each)
    total, tokens = sums.sum(0), counts.sum()
    return total / tokens, {
        "undivided": total,
        "by_ranks": total / size,
        "twice": total / tokens / size,
        "mean_of_means": (sums / counts[:, None]).mean(0),
        "last": last.sum(0) / tokens,
        "last_of_its_own": last.sum(0) / lasts,
        "last_by_ranks": last.sum(0) / size,
        "by_micro": total / (size * MICRO),
        "own_count": total / counts[rank],
        "own": sums[rank] / counts[rank],
    }


def _sends_one_all_reduce(facts: Sequence[Facts], size: int, n: int) -> None:
    """One all-reduce of the gradient, and a few numbers that count the tokens."""
    sent, least = sum(one.sent for one in facts), 2 * (size - 1) * n
    if sent < least:
        raise Wrong("below", size=size, sent=sent, bound=least)
    if sent >= 2 * least > 0:
        raise Wrong("sends", size=size, sent=sent, least=least, times=sent // least)


def _gradient_is(en: str, zh: str) -> tuple[str, str]:
    return f"{{size}} ranks, rank {{rank}}: {en}", f"{{size}} 个 rank，rank {{rank}}：{zh}"


DATA_PARALLEL = Exercise(
    9,
    "data-parallel",
    "data_parallel(rank, size, gradients, tokens)",
    "bigger-batch.md#mean-of-means",
    _data_parallel,
    {
        "right": (
            "right: on 1 to {size} ranks the gradient is that of one big batch, sent once",
            "正确：1 到 {size} 个 rank 上都与一个大 batch 的梯度相同，而且只通信一次",
        ),
        "no_vector": _gradient_is(
            "returns {got}, not a gradient of {n} numbers",
            "返回了 {got}，而不是 {n} 个数的梯度",
        ),
        "undivided": _gradient_is(
            "the gradient is summed, and divided by nothing; AdamW would hide it, SGD and clipping "
            "do not",
            "梯度求了和，却没有除；AdamW 会掩盖这一点，SGD 和梯度裁剪不会",
        ),
        "by_ranks": _gradient_is(
            "divided by the number of ranks, but these are gradients of summed losses: divide by "
            "the tokens of all ranks",
            "除以的是 rank 数；但这些是损失之和的梯度，应当除以所有 rank 的 token 总数",
        ),
        "twice": _gradient_is(
            "divided twice, by the tokens and by the ranks",
            "除了两次：除以 token 数，又除以 rank 数",
        ),
        "mean_of_means": _gradient_is(
            "that is the mean of the ranks' means: it weighs ranks, not tokens",
            "这是各 rank 平均的平均：它给 rank 加权，而不是给 token 加权",
        ),
        "last": _gradient_is(
            "only the last micro-batch is in it",
            "里面只有最后一个 micro-batch",
        ),
        "by_micro": _gradient_is(
            "divided by the number of micro-batches, which have unequal numbers of tokens",
            "除以的是 micro-batch 的个数，而各个 micro-batch 的 token 数并不相等",
        ),
        "own_count": _gradient_is(
            "the gradient is of all ranks, the number of tokens its own",
            "梯度是所有 rank 的，除数却只是它自己的 token 数",
        ),
        "own": _gradient_is(
            "that is its own gradient; nothing is summed over the ranks",
            "这只是它自己的梯度，没有在 rank 之间求和",
        ),
        "wrong": _gradient_is(
            "that is not the gradient of the mean loss; add up all micro-batches, sum over the "
            "ranks, and divide once by all tokens",
            "这不是平均损失的梯度；先把所有 micro-batch 相加，再在 rank 间求和，"
            "最后除一次 token 总数",
        ),
        "sends": (
            "the gradient is right, but {size} ranks send {sent} numbers, {times} times the "
            "{least} that are enough: add up the micro-batches before you talk",
            "梯度正确，但 {size} 个 rank 共发送 {sent} 个数，是所需 {least} 个的 {times} 倍："
            "应当先把 micro-batch 加起来再通信",
        ),
    },
    engine=True,
)
