"""Exercises 5 and 15: few steps by a tree, and few bytes between nodes."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from zerolit.comm import Chunks, RankProgram, Swap, collective, judge, simulate, tap
from zerolit.comm.chunks import ChunkList, Symbol, parts

from .exercise import Exercise, Wrong
from .proof import SECONDS, proved
from .ranks import asked, run
from .shards import gradient_of

# Exercise 5


def _broadcast(solution: Callable) -> dict[str, Any]:
    """Steps count here: the root of a tree sends its array more than once."""
    return proved(solution, "broadcast", _doublings, lambda size: 1, by_traffic=False)


def _doublings(size: int) -> int:
    """⌈log₂ size⌉: in every step as many ranks more can have it as had it before."""
    return (size - 1).bit_length()


BROADCAST = Exercise(
    5,
    "broadcast",
    "broadcast(rank, size, x)",
    "order-of-the-sum.md#orders",
    _broadcast,
    {
        "right": (
            "right: proved on 1, 2, 3, 4 and 8 cards; on {size} all have it after {steps} steps",
            "正确：已对 1、2、3、4、8 张卡证明；{size} 张卡 {steps} 步之后全都有了",
        ),
        "too_slow": (
            "all get it, but on {size} cards that takes {steps} steps; {least} are enough: let "
            "every card that has it send it on, not only one",
            "每张卡都收到了，但 {size} 张卡用了 {steps} 步；{least} 步就够："
            "已经有它的每张卡都应当接着发，而不是只有一张在发",
        ),
    },
)

# Exercise 15

NODES = ((1, 4), (2, 1), (2, 2), (2, 4), (3, 2), (4, 2))  # (nodes, cards in each)


def _two_level(solution: Callable, engine: str) -> dict[str, Any]:
    program = collective("all_reduce", pieces=lambda size: size)(solution)
    for nodes, cards in NODES:
        verdict = judge(program, nodes * cards, seconds=SECONDS, cards=cards)
        if verdict.proof is None:
            raise Wrong("prover", verdict)
        sent, least = _between(solution, nodes, cards), Fraction(2 * (nodes - 1), nodes * cards)
        what: dict[str, Any] = {
            "nodes": nodes,
            "cards": cards,
            "sent": str(sent),
            "least": str(least),
        }
        if sent > least:
            raise Wrong("too_much", **what)
    if engine == "torch":
        _on_processes(solution, nodes=2, cards=2)
    return what


def _on_processes(solution: Callable, nodes: int, cards: int) -> None:
    """Sum vectors that the ranks do not divide, on processes that stand for the nodes' cards."""
    size, n = nodes * cards, 10
    facts = run(partial(_summed, n=n, cards=cards, solution=solution), size, "torch")
    right = sum(gradient_of(rank, n, 0) for rank in range(size))
    for rank, one in enumerate(facts):
        if one.result != right.tolist():  # type: ignore[union-attr]
            raise Wrong("sum", rank=rank, size=size)


def _summed(rank: int, size: int, n: int, cards: int, solution: Callable) -> RankProgram:
    vector = gradient_of(rank, n, 0)
    yield from asked(solution(rank, size, Chunks(vector.tensor_split(size)), cards))
    return vector.tolist()


def _between(solution: Callable, nodes: int, cards: int) -> Fraction:
    """What the busiest card sends out of its node, as a part of the array."""
    size, sent = nodes * cards, [0] * (nodes * cards)

    def watched(rank: int, size: int, x: Any) -> RankProgram:
        def look(swap: Swap) -> None:
            if swap.to is not None and swap.to // cards != rank // cards:
                sent[rank] += len(list(parts(swap.payload)))

        return tap(solution(rank, size, x, cards), look)

    simulate(watched, [ChunkList(Symbol(0) for _ in range(size)) for _ in range(size)])
    return Fraction(max(sent), size)


TWO_LEVEL = Exercise(
    15,
    "two-level",
    "two_level(rank, size, x, cards)",
    "traffic-and-time.md#two-levels",
    _two_level,
    {
        "right": (
            "right: proved with 1 to 4 nodes; with {nodes} nodes of {cards} cards each card sends "
            "{sent} of the array between nodes, the least that is possible",
            "正确：已对 1 到 4 个节点证明；{nodes} 个节点、每个 {cards} 张卡时，"
            "每张卡在节点之间发出数组的 {sent}，已是下界",
        ),
        "sum": (
            "on {size} processes, rank {rank} does not end with the sum of all vectors",
            "{size} 个进程上，rank {rank} 最后得到的不是所有向量之和",
        ),
        "too_much": (
            "the sum is right, but with {nodes} nodes of {cards} cards one card sends {sent} of "
            "the array out of its node; {least} is enough: add up inside the node first, and let "
            "each card take a share of the node's sum across",
            "求和正确，但 {nodes} 个节点、每个 {cards} 张卡时，有一张卡向节点外发出数组的 {sent}；"
            "{least} 就够：先在节点内求和，再让每张卡各带节点和的一份去跨节点",
        ),
    },
    engine=True,
)
