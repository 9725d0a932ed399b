"""Exercises 6 and 7: what an all-reduce costs, and when it no longer hides."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from zerolit.comm import Network, price, ring
from zerolit.plan import Training

from .exercise import Exercise, Wrong
from .proof import SIZES

CLOSE = 1e-9  # relative: a formula of a few operations, in double precision


def close(got: Any, right: Any) -> bool:
    """Whether two numbers are the same but for rounding."""
    return abs(got - right) <= CLOSE * abs(right)


def a_number(got: Any) -> None:
    """Refuse what is no number."""
    if isinstance(got, bool) or not isinstance(got, int | float | Fraction):
        raise Wrong("no_number", got=repr(got))


_NO_NUMBER = ("returns {got}, not a number", "返回了 {got}，而不是一个数")

# Exercise 6


def _cost(solution: Callable) -> dict[str, Any]:
    """Sizes are multiples of the number of cards, where the closed form is exact."""
    for size, nbytes, latency, bandwidth in _networks():
        got = solution(size, nbytes, latency, bandwidth)
        a_number(got)
        right = price(ring.all_reduce, nbytes, Network(size, bandwidth, latency))
        if not close(got, right):
            kind = _misread(got, size, nbytes, latency, bandwidth)
            raise Wrong(kind, size=size, got=f"{float(got):.4g}", right=f"{float(right):.4g}")
    return {"networks": len(list(_networks()))}


def _networks() -> Iterator[tuple[int, int, Fraction, Fraction]]:
    latencies, bandwidths = (Fraction(1, 100_000), Fraction(0)), (Fraction(10**9), Fraction(12_500))
    for size, alpha, bandwidth in product((4, *SIZES), latencies, bandwidths):
        yield size, 24_000 * size, alpha, bandwidth


def _misread(got: Any, p: int, n: int, alpha: Fraction, bandwidth: Fraction) -> str:
    """The mistake that gives just this number, if it is one that people make."""
    chunk = Fraction(n, p) / bandwidth
    mistakes = {
        "half": (p - 1) * (alpha + chunk),
        "one_more": 2 * p * (alpha + chunk),
        "one_alpha": alpha + 2 * (p - 1) * chunk,
        "no_alpha": 2 * (p - 1) * chunk,
        "whole": 2 * (p - 1) * (alpha + n / bandwidth),
        "bits": 2 * (p - 1) * (alpha + chunk / 8),
    }
    return next((kind for kind, value in mistakes.items() if close(got, value)), "wrong")


def _cost_is(en: str, zh: str) -> tuple[str, str]:
    return (
        f"{{size}} cards: {{got}} s instead of {{right}} s; {en}",
        f"{{size}} 张卡：得到 {{got}} 秒，应是 {{right}} 秒；{zh}",
    )


COST = Exercise(
    6,
    "cost",
    "cost(size, nbytes, latency, bandwidth)",
    "traffic-and-time.md#alpha-beta",
    _cost,
    {
        "right": (
            "right: on {networks} networks it is what the program itself is priced at",
            "正确：在 {networks} 个网络上都与程序本身的计价一致",
        ),
        "no_number": _NO_NUMBER,
        "half": _cost_is(
            "that is one half of the all-reduce, a reduce-scatter or an all-gather",
            "这只是 all-reduce 的一半：一次 reduce-scatter 或一次 all-gather",
        ),
        "one_more": _cost_is(
            "each half takes p − 1 steps, not p: nobody sends to itself",
            "每一半是 p − 1 步，不是 p 步：没有谁发给自己",
        ),
        "one_alpha": _cost_is(
            "the latency is paid in every step, not once",
            "延迟每一步都要付，不是只付一次",
        ),
        "no_alpha": _cost_is("the latency is left out", "漏了延迟"),
        "whole": _cost_is(
            "a step carries one chunk, nbytes / p, not the whole array",
            "一步只传一块，即 nbytes / p，不是整个数组",
        ),
        "bits": _cost_is(
            "bandwidth is in bytes per second here, not in bits",
            "这里的带宽以字节每秒计，不是比特",
        ),
        "wrong": _cost_is(
            "count the steps, and what one of them costs: α and one chunk over the bandwidth",
            "数一数有几步，再算一步要多久：α 加上一块除以带宽",
        ),
    },
)

# Exercise 7


def _wall(solution: Callable) -> dict[str, Any]:
    for params, flops, bandwidth, nbytes, overlap in _machines():
        got = solution(params, flops, bandwidth, nbytes, overlap)
        a_number(got)
        case = Training(flops=flops, bandwidth=bandwidth, gradient_bytes=nbytes)
        right = case.tokens_at_the_wall(overlap)
        if not close(got, right):
            kind = _misjudged(got / right, params, overlap)
            raise Wrong(kind, got=f"{float(got):,.0f}", right=f"{right:,.0f}")
    return {"machines": len(list(_machines()))}


def _machines() -> Iterator[tuple]:
    params, flops, bandwidths = (1.3e9, 7e10), (156e12, 400e12), (12.5e9, 50e9)
    yield from product(params, flops, bandwidths, (2, 4), (Fraction(2, 3), Fraction(1)))


def _misjudged(ratio: float, params: float, overlap: Fraction) -> str:
    """The mistake that is off by this ratio, if it is one that people make."""
    mistakes = {
        "forward": 3,
        "backward": Fraction(3, 2),
        "half": Fraction(1, 2),
        "times_overlap": overlap**2,
        "no_overlap": overlap,
        "bits": Fraction(1, 8),
        "params": params,
    }
    return next((kind for kind, value in mistakes.items() if close(ratio, value)), "wrong")


def _wall_is(en: str, zh: str) -> tuple[str, str]:
    return (
        f"{{got}} tokens a card instead of {{right}}; {en}",
        f"得到每卡 {{got}} 个 token，应是 {{right}}；{zh}",
    )


WALL = Exercise(
    7,
    "wall",
    "wall(params, flops, bandwidth, gradient_bytes, overlap)",
    "traffic-and-time.md#wall-formula",
    _wall,
    {
        "right": (
            "right: on {machines} machines, and whatever the model is",
            "正确：对 {machines} 种机器都成立，而且与模型大小无关",
        ),
        "no_number": _NO_NUMBER,
        "forward": _wall_is(
            "a token costs 6 operations for each parameter; 2 is the forward pass alone",
            "每个 token 每个参数要 6 次运算；2 次只是前向",
        ),
        "backward": _wall_is(
            "the compute is 6 operations for each parameter and token, and `overlap` already says "
            "which part of it hides the ring",
            "计算量是每个参数、每个 token 6 次运算；其中哪一部分能掩盖通信，`overlap` 已经说明了",
        ),
        "half": _wall_is(
            "an all-reduce sends nearly twice the gradients: a reduce-scatter and an all-gather",
            "all-reduce 发送的接近梯度的两倍：一次 reduce-scatter 加一次 all-gather",
        ),
        "times_overlap": _wall_is(
            "less overlap takes more tokens: divide by it",
            "重叠越少，需要的 token 越多：应当除以它",
        ),
        "no_overlap": _wall_is(
            "only a part of the compute, `overlap`, hides the ring",
            "能掩盖通信的只是计算的一部分，即 `overlap`",
        ),
        "bits": _wall_is(
            "bandwidth is in bytes per second here, not in bits",
            "这里的带宽以字节每秒计，不是比特",
        ),
        "params": _wall_is(
            "the parameters stand on both sides, in what is sent and in what is computed: they "
            "cancel",
            "参数量在等式两边都有，通信量里有，计算量里也有：会约掉",
        ),
        "wrong": _wall_is(
            "set what is sent over the bandwidth equal to the part of the compute that hides it",
            "令通信量除以带宽等于能掩盖它的那部分计算时间",
        ),
    },
)
