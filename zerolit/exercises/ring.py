"""Exercises 1 to 4: the ring, from an index to an all-reduce."""

from collections.abc import Callable
from typing import Any

from .exercise import Exercise, Wrong
from .proof import PROVED, SIZES, proved


def _chunk_to_send(solution: Callable) -> dict[str, Any]:
    for size in SIZES:
        for step in range(1, size):
            for rank in range(size):
                _one_index(solution(rank, size, step), rank, size, step)
    return {}


def _one_index(got: Any, rank: int, size: int, step: int) -> None:
    where: dict[str, Any] = {
        "rank": rank,
        "size": size,
        "step": step,
        "got": repr(got),
        "last": size - 1,
    }
    if type(got) is not int:
        raise Wrong("no_number", **where)
    if not 0 <= got < size:
        raise Wrong("no_chunk", **where)
    right = (rank - step + 1) % size  # in step 1 its own; then what it has just added to
    if got != right:
        raise Wrong("first" if step == 1 else "stale", **where, right=right)


CHUNK_TO_SEND = Exercise(
    1,
    "chunk-to-send",
    "chunk_to_send(rank, size, step)",
    "ring-all-reduce.md#the-invariant",
    _chunk_to_send,
    {
        "right": (
            "right: on 2, 3, 4 and 8 cards, every card sends its own chunk, then what it has just "
            "added to",
            "正确：2、3、4、8 张卡时，每张卡先发自己的那一块，以后每步发刚刚累加过的那一块",
        ),
        "no_number": (
            "rank {rank} of {size}, step {step}: returns {got}, not the number of a chunk",
            "{size} 张卡，第 {step} 步，rank {rank}：返回了 {got}，而不是块号",
        ),
        "no_chunk": (
            "rank {rank} of {size}, step {step}: chunk {got} does not exist, they are 0 to {last}; "
            "the ring is closed: count modulo size",
            "{size} 张卡，第 {step} 步，rank {rank}：没有第 {got} 块，块号只有 0 到 {last}；"
            "环是首尾相接的：要对 size 取模",
        ),
        "first": (
            "rank {rank} of {size}, step 1: sends chunk {got}; in step 1 card r sends chunk r, "
            "so chunk {right}",
            "{size} 张卡，第 1 步，rank {rank}：发出第 {got} 块；第 1 步第 r 张卡发第 r 块，"
            "应是第 {right} 块",
        ),
        "stale": (
            "rank {rank} of {size}, step {step}: sends chunk {got}; what arrived in the step "
            "before went into chunk {right}, and that is what must go on",
            "{size} 张卡，第 {step} 步，rank {rank}：发出第 {got} 块；上一步收到的内容加进了"
            "第 {right} 块，应当把它传下去",
        ),
    },
)


_ADDED_LAST = (
    "send on the chunk that you added to last",
    "应当把刚刚累加过的那一块传下去",
)
_WHICH = (
    "what arrives from the left, from rank - 1, goes into the chunk of the same number as there",
    "从左邻居（rank - 1）收到的是哪一块，就应放进编号相同的那一块",
)
_ADD = (
    "add what arrives to what is there; do not overwrite it",
    "收到的内容要加到原有的内容上，不能覆盖",
)
_RETURN = (
    "if no hop is missing, another chunk is finished on this card: return its number",
    "如果传输一次也没有少，那么这张卡上完整的是另一块：应返回那一块的块号",
)
_ROUND = (
    "pass on finished chunks: first your own, then what has just arrived",
    "只传完整的块：先传自己那一块，再传刚收到的",
)
_CALLED = (
    "was a program called without `yield from`?",
    "是否有程序调用时漏了 `yield from`？",
)
_ADD_FIRST = (
    "first add up, then hand round: only a finished chunk may replace another",
    "先求和，再分发：只有完整的块才可以覆盖别的块",
)
_FINISHED = (
    "in the second half pass on finished chunks, first your own, then what has just arrived",
    "后一半只传完整的块：先传自己那一块，再传刚收到的",
)


def _once(size: int) -> int:
    """The steps of one way round the ring."""
    return size - 1


def _reduce_scatter(solution: Callable) -> dict[str, Any]:
    return proved(solution, "reduce_scatter", _once)


def _all_gather(solution: Callable) -> dict[str, Any]:
    return proved(solution, "all_gather", _once, holds=lambda rank, size: (rank + 1) % size)


def _all_reduce(solution: Callable) -> dict[str, Any]:
    return proved(solution, "all_reduce", lambda size: 2 * (size - 1))


REDUCE_SCATTER = Exercise(
    2,
    "reduce-scatter",
    "reduce_scatter(rank, size, x)",
    "ring-all-reduce.md#the-invariant",
    _reduce_scatter,
    PROVED,
    {
        "poor": _ADDED_LAST,
        "early": _ADDED_LAST,
        "mixed": _WHICH,
        "lost": _ADD,
        "never": _RETURN,
    },
)
ALL_GATHER = Exercise(
    3,
    "all-gather",
    "all_gather(rank, size, x)",
    "ring-all-reduce.md#the-invariant",
    _all_gather,
    PROVED,
    {"poor": _ROUND, "early": _ROUND, "lost": _ROUND, "mixed": _WHICH},
)
ALL_REDUCE = Exercise(
    4,
    "all-reduce",
    "all_reduce(rank, size, x)",
    "ring-all-reduce.md#the-invariant",
    _all_reduce,
    PROVED,
    {"poor": _FINISHED, "early": _ADDED_LAST, "lost": _ADD_FIRST, "never": _CALLED},
    needs=("reduce-scatter", "all-gather"),
)
