"""The order of the sum: the orders, and what they do to the last bits."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from zerolit import engine
from zerolit.comm import Chunks, halving, order_of_sum, ring, simulate, tree
from zerolit.engine.stock import beside_gloo

from .figure import SERIES, canvas, render
from .runs import gap
from .table import Column, Table
from .words import NUMBER_OF_CARDS, Words, choose, say

PROGRAMS: dict[str, tuple[Callable, dict[str, Any]]] = {  # with their options
    "ring right": (ring.all_reduce, {"owner": 0}),
    "ring left": (ring.all_reduce, {"direction": -1, "owner": 0}),
    "tree": (tree.all_reduce, {}),
    "halving": (halving.all_reduce, {}),
}
_NAMES = {
    "ring right": ("ring to the right", "向右的环"),
    "ring left": ("ring to the left, as gloo's", "向左的环（gloo 即如此）"),
    "tree": ("binomial tree", "二项树"),
    "halving": ("halving and doubling", "折半与倍增"),
}
_BITS = {torch.float32: 23, torch.bfloat16: 7}  # of the fraction


def _runs(size: int) -> list[str]:
    return [name for name in PROGRAMS if name != "halving" or size & (size - 1) == 0]


def orders_table(size: int) -> Table:
    """For every program the order in which chunk 0 is summed; numbers are ranks."""
    caption = Words(
        "{p} ranks, each program run on symbols.",
        "{p} 个 rank，各程序在符号上运行。",
    )
    columns = [
        Column("program", "s", "program", "程序"),
        Column("order", "code", "chunk 0 is summed as", "第 0 块的求和顺序"),
    ]
    rows = [
        (choose(name, _NAMES), order_of_sum(program, size, **how))
        for name, (program, how) in PROGRAMS.items()
    ]
    return Table("sum-orders", caption, columns, rows, {"p": size})


@cache
def add_up(name: str, size: int, dtype: torch.dtype, n: int = 4096, spread: bool = True) -> Tensor:
    """Sum seeded random arrays of `n` elements over the ranks, by one of `PROGRAMS`.

    The numbers are between -1 and 1 with `spread`, else uniform between 0 and 1.
    """
    arrays = [_numbers(rank, n, spread).to(dtype) for rank in range(size)]
    program, options = PROGRAMS[name]
    pieces = program.pieces(size)  # type: ignore[attr-defined]
    simulate(program, [Chunks(array.tensor_split(pieces)) for array in arrays], **options)
    return arrays[0]


def _numbers(rank: int, n: int, spread: bool) -> Tensor:
    generator = torch.Generator().manual_seed(rank)
    # Uniform numbers and their products are the same on every machine, as normal ones are not; a
    # product fills all its bits, where uniform numbers of 24 would add up exactly.
    one, other = (torch.rand(n, generator=generator) for _ in range(2))
    return (2 * one - 1) * other if spread else one


def spread_table(sizes: Sequence[int]) -> Table:
    """How far the programs' sums of the same numbers are apart, in float32 and in bf16."""
    caption = Words(
        "The same random numbers, summed by every program that fits p; ulps of the largest addend.",
        "同样的随机数，由适用于该 p 的各程序求和；ulp 以最大的加数计。",
    )
    columns = [
        Column("ranks", "d", "cards p", "卡数 p"),
        Column("differ 32", ".0%", "float32: elements that differ", "float32：不同的元素"),
        Column("ulps 32", ".1f", "float32: largest spread, ulps", "float32：最大差距，ulp"),
        Column("differ 16", ".0%", "bf16: elements that differ", "bf16：不同的元素"),
        Column("ulps 16", ".1f", "bf16: largest spread, ulps", "bf16：最大差距，ulp"),
    ]
    rows = []
    for p in sizes:
        cells = [part for dtype in _BITS for part in _spread(p, dtype)]
        rows.append((p, *cells))
    return Table("sum-spread", caption, columns, rows)


def _spread(size: int, dtype: torch.dtype) -> tuple[float, float]:
    """The share of elements on which the programs differ, and the widest spread.

    In units in the last place of the largest addend: the sum itself may be nearly zero.
    """
    sums = torch.stack([add_up(name, size, dtype).double() for name in _runs(size)])
    apart = sums.max(0).values - sums.min(0).values
    addends = torch.stack([_numbers(rank, sums.shape[1], True).abs() for rank in range(size)])
    ulp = 2.0 ** (addends.max(0).values.log2().floor() - _BITS[dtype])
    return (apart > 0).double().mean().item(), (apart / ulp).max().item()


def bf16_figure(sizes: Sequence[int]) -> str:
    """The mean relative error of a sum of numbers between 0 and 1 in bf16, against p."""
    caption = Words(
        "Summing numbers between 0 and 1 in bf16: one after the other, or in pairs.",
        "用 bf16 对 0 到 1 之间的数求和：逐个相加，或两两相加。",
    )
    alt = Words(
        "Mean relative error from {first} to {last} cards; at {last} it is {ring:.1e} for the "
        "ring and {tree:.1e} for the tree.",
        "{first} 到 {last} 张卡的平均相对误差；{last} 张卡时，环形为 {ring:.1e}，树为 {tree:.1e}。",
    )
    with canvas(9, 3.8) as figure:
        ax = figure.add_axes((0.1, 0.15, 0.7, 0.8))
        ends = {}
        for colour, name in zip(SERIES, ("ring right", "tree"), strict=False):
            errors = [bf16_error(name, p) for p in sizes]
            ends[name.split()[0]] = errors[-1]
            ax.plot(sizes, errors, color=colour)
            words = say(choose(name, _NAMES))
            ax.text(sizes[-1] * 1.1, errors[-1], words, color=colour, va="center")
        ax.set(xscale="log", ylim=(0, None), xlabel=say(NUMBER_OF_CARDS))
        ax.set_ylabel(say(Words("mean relative error", "平均相对误差")))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
        ax.set_xticks(sizes, [str(p) for p in sizes])
        ax.minorticks_off()
        ax.grid(True)
        facts = {"first": sizes[0], "last": sizes[-1], **ends}
        return render("sum-bf16", figure, caption, alt, facts)


@cache
def bf16_error(name: str, size: int, n: int = 512) -> float:
    """The mean relative error of a bf16 sum of numbers between 0 and 1."""
    exact = torch.stack([_numbers(r, n, False).bfloat16().double() for r in range(size)]).sum(0)
    got = add_up(name, size, torch.bfloat16, n, spread=False).double()
    return ((got - exact).abs() / exact).mean().item()


@cache
def gloo_gap(size: int, direction: int, n: int = 4099) -> float:
    """The largest difference of our ring and gloo's all-reduce on real processes."""
    pairs = engine.launch(beside_gloo, size, n, direction, timeout=30)
    return max(gap(ours, theirs) for ours, theirs in pairs)
