"""R.3: the orders of a sum as trees, and what they do to the last bits."""

import ast
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from torch import Tensor

from zerolit import engine
from zerolit.comm import Chunks, halving, order_of_sum, ring, simulate, tree
from zerolit.engine.drive import evenly
from zerolit.engine.stock import beside_gloo

from .figure import FAINT, INK, PAPER, SERIES, canvas, render
from .runs import gap
from .table import Column, Table
from .words import Words, choose, say

PROGRAMS: dict[str, tuple[Callable, dict[str, Any]]] = {  # with their options
    "ring right": (ring.all_reduce, {"owner": 0}),
    "ring left": (ring.all_reduce, {"direction": -1, "owner": 0}),
    "tree": (tree.all_reduce, {}),
    "halving": (halving.all_reduce, {}),
}
_NAMES = {
    "ring right": ("ring to the right", "向右的环"),
    "ring left": ("ring to the left (gloo's)", "向左的环（gloo 的做法）"),
    "tree": ("binomial tree", "二项树（binomial tree）"),
    "halving": ("halving and doubling", "折半–倍增（halving–doubling）"),
}
_SHORT = {
    "ring right": ("ring to the right", "向右的环"),
    "ring left": ("ring to the left", "向左的环"),
    "tree": ("binomial tree", "二项树"),
    "halving": ("halving", "折半–倍增"),
}
_COLOURS = dict(zip(PROGRAMS, SERIES, strict=True))
_BITS = {torch.float32: 23, torch.bfloat16: 7}  # of the fraction


def _runs(size: int) -> list[str]:
    return [name for name in PROGRAMS if name != "halving" or size & (size - 1) == 0]


def orders_table(size: int) -> Table:
    """For every program the order in which chunk 0 is summed; numbers are ranks."""
    caption = Words(
        "{p} ranks, each program run on symbols.",
        "{p} 个 rank，用符号运行各程序。",
    )
    columns = [
        Column("program", "s", "program", "程序"),
        Column("order", "code", "chunk 0 is summed as", "第 0 块的求和顺序"),
    ]
    rows = [(choose(name, _NAMES), _order(name, size)) for name in PROGRAMS]
    return Table("sum-orders", caption, columns, rows, {"p": size})


def _order(name: str, size: int, chunk: int = 0) -> str:
    program, options = PROGRAMS[name]
    return order_of_sum(program, size, chunk, **options)


# The orders as trees

Tree = int | tuple["Tree", "Tree"]  # a rank's share, or the sum of two


def read_sum(text: str) -> Tree:
    """What `order_of_sum` tells, such as `0+(2+1)`, as pairs of pairs: `(0, (2, 1))`."""

    def read(node: ast.expr) -> Tree:
        if isinstance(node, ast.BinOp):
            return read(node.left), read(node.right)
        return ast.literal_eval(node)

    return read(ast.parse(text, mode="eval").body)


def longest_path(tree: Tree) -> int:
    """How many additions the share that is rounded most often goes through."""
    return 0 if isinstance(tree, int) else 1 + max(map(longest_path, tree))


def trees_figure(size: int) -> str:
    """The order in which every program sums chunk 0, as a tree of additions."""
    caption = Words(
        "Chunk 0 on {p} ranks: circles are the ranks' shares, dots are additions, the sum is on "
        "top. The path with the most additions is drawn thick.",
        "{p} 个 rank 上的第 0 块：圆圈是各 rank 的那一份，圆点是一次加法，最上面是总和。"
        "粗线是经过加法次数最多的路径。",
    )
    alt = Words(
        "Four trees of {p} leaves. The longest path has {ring} additions in both rings, where "
        "shares join one after the other, {tree} in the tree and {halving} in halving, which add "
        "in pairs.",
        "四棵树，各有 {p} 片叶子。最长的路径上，两种环各有 {ring} 次加法，逐个相加；"
        "二项树有 {tree} 次，折半–倍增有 {halving} 次，两两相加。",
    )
    trees = {name: read_sum(_order(name, size)) for name in PROGRAMS}
    depths = {name: longest_path(top) for name, top in trees.items()}
    facts = {"p": size, "ring": depths["ring right"], **depths}
    facts = {name: facts[name] for name in ("p", "ring", "tree", "halving")}
    with canvas(9, 3.1) as figure, canvas(4, 4.8) as narrow:
        _draw_trees(figure, trees, (1, 4))
        _draw_trees(narrow, trees, (2, 2))
        return render("sum-trees", figure, caption, alt, facts, {"p": size}, narrow=narrow)


def _draw_trees(figure: Figure, trees: dict[str, Tree], shape: tuple[int, int]) -> None:
    """One panel a tree; an addition is as high in all of them."""
    rows, columns = shape
    depths = [longest_path(tree) for tree in trees.values()]
    heights = [max(depths[row * columns : (row + 1) * columns]) + 1.2 for row in range(rows)]
    grid = {"height_ratios": heights, "wspace": 0.1, "hspace": 0.35}
    axes = figure.subplots(rows, columns, gridspec_kw=grid).flat
    figure.subplots_adjust(left=0.01, right=0.99, top=0.84 if rows == 1 else 0.9, bottom=0.01)
    additions = Words("longest path: {n} additions", "最长路径：{n} 次加法")
    for i, (ax, (name, top)) in enumerate(zip(axes, trees.items(), strict=True)):
        title = f"{say(choose(name, _SHORT))}\n{say(additions, n=depths[i])}"
        ax.set_title(title, fontsize=10)
        ax.set(xlim=(-0.7, _leaves(top) - 0.3), ylim=(-0.75, heights[i // columns] - 0.75))
        ax.axis("off")
        _draw_tree(ax, top, 0, _COLOURS[name], longest=True)


def _leaves(tree: Tree) -> int:
    return 1 if isinstance(tree, int) else sum(map(_leaves, tree))


def _draw_tree(ax: Axes, tree: Tree, left: int, colour: str, longest: bool) -> tuple[float, float]:
    """Draw a tree whose first leaf is at x = `left`; return where its top is."""
    if isinstance(tree, int):
        ax.scatter([left], [0], s=190, facecolor=PAPER, edgecolor=INK, linewidth=0.8, zorder=3)
        ax.text(left, 0, str(tree), ha="center", va="center_baseline", fontsize=10, zorder=4)
        return left, 0
    deepest = max(map(longest_path, tree))
    tops, taken = [], False
    for branch in tree:
        on_path = longest and not taken and longest_path(branch) == deepest
        taken |= on_path
        tops.append((_draw_tree(ax, branch, left, colour, on_path), on_path))
        left += _leaves(branch)
    x, y = sum(top[0] for top, _ in tops) / 2, longest_path(tree)
    for top, on_path in tops:
        paint, width = (colour, 2.6) if on_path else (FAINT, 1.2)
        ax.add_collection(LineCollection([[top, (x, y)]], colors=[paint], linewidths=[width]))
    ax.scatter([x], [y], s=30, color=INK, zorder=3)
    return x, y


@cache
def add_up(name: str, size: int, dtype: torch.dtype, n: int = 4096) -> Tensor:
    """Sum seeded random arrays of `n` numbers between -1 and 1, by one of `PROGRAMS`."""
    return _add(name, [_numbers(rank, n, True).to(dtype) for rank in range(size)])


def _add(name: str, arrays: list[Tensor]) -> Tensor:
    program, options = PROGRAMS[name]
    pieces = program.pieces(len(arrays))  # type: ignore[attr-defined]
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
        "The same random numbers, summed by every program that fits p: how far the results are "
        "apart, in ulps of the largest addend.",
        "同样的随机数，由适用于该 p 的各程序求和：结果之间的差距，以最大加数的 ulp 为单位。",
    )
    columns = [
        Column("ranks", "d", "ranks p", "rank 数 p"),
        Column("differ 32", ".0%", "float32: elements that differ", "float32：有差异的元素"),
        Column("ulps 32", ".0f", "float32: largest gap (ulps)", "float32：最大差距（ulp）"),
        Column("differ 16", ".0%", "bf16: elements that differ", "bf16：有差异的元素"),
        Column("ulps 16", ".0f", "bf16: largest gap (ulps)", "bf16：最大差距（ulp）"),
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
    """The mean relative error of a sum of bf16 numbers between 0 and 1, against p."""
    caption = Words(
        "{n} sums of uniform random numbers between 0 and 1, one from each rank: mean relative "
        "error. The numbers are bf16 everywhere, the running sum is float32 where it says so.",
        "{n} 个和，每个和由各 rank 的一个 0 到 1 之间的均匀随机数相加：平均相对误差。"
        "加数都是 bf16；标明 float32 的线，部分和用 float32。",
    )
    alt = Words(
        "Mean relative error from {first} to {last} ranks; at {last} it is {ring:.1%} for the "
        "ring, {tree:.1%} for the tree and {wide:.1e} for the ring in float32.",
        "{first} 到 {last} 个 rank 的平均相对误差；{last} 个 rank 时，环形为 {ring:.1%}，"
        "树为 {tree:.1%}，用 float32 的环形为 {wide:.1e}。",
    )
    lines = [("ring", "ring right", torch.bfloat16), ("tree", "tree", torch.bfloat16)]
    lines.append(("wide", "ring right", torch.float32))
    errors = {key: [sum_error(name, p, dtype) for p in sizes] for key, name, dtype in lines}
    ends = {key: values[-1] for key, values in errors.items()}
    facts = {"first": sizes[0], "last": sizes[-1], **ends}
    with canvas(9, 3.8) as figure, canvas(4, 3.8) as narrow:
        _draw_errors(figure.add_axes((0.09, 0.15, 0.72, 0.8)), sizes, errors, beside=True)
        _draw_errors(narrow.add_axes((0.14, 0.14, 0.82, 0.76)), sizes, errors, beside=False)
        return render("sum-bf16", figure, caption, alt, facts, {"n": COUNT}, narrow=narrow)


_LINES = {
    "ring": ("ring, in bf16", "环形，bf16"),
    "tree": ("tree, in bf16", "二项树，bf16"),
    "wide": ("ring, in float32", "环形，float32"),
}


def _draw_errors(
    ax: Axes, sizes: Sequence[int], errors: dict[str, list[float]], beside: bool
) -> None:
    """The curves, with their names beside their ends or, on a phone, above their last points."""
    colours = {"ring": _COLOURS["ring right"], "tree": _COLOURS["tree"], "wide": INK}
    for key, values in errors.items():
        ax.plot(sizes, values, "--" if key == "wide" else "-", color=colours[key])
        words = say(choose(key, _LINES))
        if beside:
            ax.text(sizes[-1] * 1.1, values[-1], words, color=colours[key], va="center")
        else:
            i = -2 if key == "ring" else -1
            y = values[i] + 0.0003
            ax.text(sizes[i], y, words, color=colours[key], ha="right", va="bottom")
    ax.set(xscale="log", ylim=(-0.0002, None), xlabel=say(Words("number of ranks", "rank 数")))
    error = say(Words("mean relative error", "平均相对误差"))
    if beside:
        ax.set_ylabel(error)
    else:
        ax.set_title(error, fontsize=11, loc="left")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
    ax.set_xticks(sizes, [str(p) for p in sizes])
    ax.minorticks_off()
    ax.grid(True)


COUNT = 512  # sums that an error is the mean of


def sum_error(name: str, size: int, dtype: torch.dtype = torch.bfloat16) -> float:
    """The mean relative error of sums of bf16 numbers between 0 and 1, added up in `dtype`."""
    addends = [_numbers(rank, COUNT, False).bfloat16() for rank in range(size)]
    exact = torch.stack([addend.double() for addend in addends]).sum(0)
    got = _add(name, [addend.to(dtype) for addend in addends]).double()
    return ((got - exact).abs() / exact).mean().item()


# The borders


def borders_table(n: int, size: int, element: int) -> Table:
    """Where an element lies under two cuts, and so in which order gloo's ring sums it."""
    caption = Words(
        "{n} numbers for {p} ranks, cut in two ways; the ring runs to the left.",
        "{n} 个数分给 {p} 个 rank，两种切法；环向左。",
    )
    columns = [
        Column("cut", "s", "cut", "切法"),
        Column("lengths", "s", "lengths of the chunks", "各块长度"),
        Column("chunk", "d", "number {element} is in chunk", "第 {element} 个数所在的块"),
        Column("order", "code", "and is summed as", "求和顺序"),
    ]
    rows = []
    for name, cut in (("evenly", evenly), ("as gloo cuts", engine.as_gloo_cuts)):
        chunks = cut(torch.arange(n), size)
        (chunk,) = (i for i, numbers in enumerate(chunks) if element in numbers)
        lengths = " + ".join(str(len(numbers)) for numbers in chunks)
        rows.append((choose(name, _CUTS), lengths, chunk, _order("ring left", size, chunk)))
    return Table("sum-borders", caption, columns, rows, {"n": n, "p": size, "element": element})


_CUTS = {
    "evenly": ("as evenly as possible", "尽量均匀"),
    "as gloo cuts": ("as gloo: 2·⌈n/2p⌉ each", "gloo：每块 2·⌈n/2p⌉"),
}


@cache
def gloo_gap(size: int, direction: int, n: int = 4099) -> float:
    """The largest difference of our ring and gloo's all-reduce on real processes."""
    pairs = engine.launch(beside_gloo, size, n, direction, timeout=30)
    return max(gap(ours, theirs) for ours, theirs in pairs)
