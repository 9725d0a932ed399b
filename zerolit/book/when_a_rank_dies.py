"""R.2: faults injected into real processes, what is told of them, and restarts."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch

from zerolit.comm import Chunks, ring
from zerolit.engine.faults import (
    FAULTS,
    WHERE,
    killed_and_restarted,
    what_the_launcher_says,
    what_the_others_see,
)
from zerolit.press import EXACT
from zerolit.zero import Run

from .figure import INK, PAPER, SERIES, canvas, render
from .runs import gap
from .table import Column, Table
from .words import Word, Words, say

_FAULTS = {
    "killed": ("is killed", "被杀"),
    "exits": ("exits", "退出"),
    "raises": ("raises", "抛出异常"),
    "returns early": ("returns early", "提前返回"),
    "hangs": ("hangs", "卡住"),
    "another shape": ("sums another shape", "形状与别人不同"),
    "another dtype": ("sums another dtype", "dtype 与别人不同"),
    "another collective": ("calls another collective", "调用另一个集合通信"),
}
_SEEN = {
    "closed": ("connection closed or reset", "连接被关闭或重置"),
    "timed out": ("timed out", "超时"),
    "aborted": ("nothing: gloo aborts its process", "来不及报错：gloo 直接中止接收方的进程"),
    None: ("nothing: all return", "什么也看不到：全部正常返回"),
}
_WHERE = {
    "forward": ("in the forward pass", "前向时"),
    "collective": ("in a collective", "集合通信时"),
    "optimizer": ("in the update", "更新参数时"),
    "saving": ("while saving a checkpoint", "保存检查点时"),
}
_TOLD = Column("told", "sentence", "our launcher says", "启动器怎么说")

_CHINESE = (  # the launcher speaks English; a Chinese page tells what it says
    (r"was killed by (\w+)", r"被 \1 杀死"),
    (r"exited \((\d+)\)", r"退出，退出码 \1"),
    (r"raised (\w+): (.*?) \(", r"抛出 \1：\2 ("),
    (
        r"returned while (rank \d+) waits for it in phase ('\w+')",
        r"已经返回，而 \1 还在环节 \2 等它",
    ),
    (r"hangs: no sign for (\d+) s", r"卡住：\1 秒没有动静"),
    (
        r"sends (.+?) in phase ('\w+') to (rank \d+), which expects (.+?) in phase ('\w+')",
        r"在环节 \2 向 \3 发出 \1，而对方等的是环节 \5 的 \4",
    ),
    (
        r"expects (.+?) in phase ('\w+') from (rank \d+), which sends (.+?) in phase ('\w+')",
        r"在环节 \2 等 \3 发来 \1，而对方发的是环节 \5 的 \4",
    ),
    (r" \(computing, phase ('\w+')\)$", r"（计算中，环节 \1）"),
    (r" \(exchanging, phase ('\w+')\)$", r"（收发中，环节 \1）"),
    (r" \(saving\)$", r"（保存中）"),
)


def told(sentence: str) -> Word:
    """What the launcher says, and what a Chinese page tells of it."""
    chinese = sentence
    for english, words in _CHINESE:
        chinese = re.sub(english, words, chinese)
    return Word(
        sentence, *(text.replace("{", "{{").replace("}", "}}") for text in (sentence, chinese))
    )


@cache
def _fault(fault: str) -> tuple[str | None, str]:
    return what_the_others_see(fault), what_the_launcher_says(fault, timeout=2)


def faults_table() -> Table:
    """Every fault, injected: what another rank sees, and the launcher's words."""
    caption = Words(
        "Two all-reduces on 3 processes; rank 1 commits the fault in the place of the second.",
        "3 个进程做两次 all-reduce；rank 1 在第二次时发生下列故障。",
    )
    columns = [
        Column("fault", "s", "what rank 1 does", "rank 1 的故障"),
        Column("seen", "s", "another rank sees", "其余 rank 看到"),
        _TOLD,
    ]
    rows = []
    for fault in FAULTS:
        seen, sentence = _fault(fault)
        words = Word(f"fault {fault}", *_FAULTS[fault]), Word(f"seen {seen}", *_SEEN[seen])
        rows.append((*words, told(sentence)))
    return Table("faults", caption, columns, rows)


# Whom a misfit is blamed on

Misfit = tuple[int, int, int, int]  # sender, receiver, elements sent, elements expected


def first_messages(lengths: Sequence[int]) -> list[Misfit]:
    """A ring's first messages where rank r sums an array of `lengths[r]` numbers."""
    size = len(lengths)
    arrays = [np.array_split(np.ones(length), size) for length in lengths]
    swaps = [next(ring.all_reduce(rank, size, Chunks(a))) for rank, a in enumerate(arrays)]
    return [
        (rank, swap.to, swap.payload.size, swaps[swap.to].like.size)
        for rank, swap in enumerate(swaps)
    ]


def misfits(messages: Sequence[Misfit], rank: int) -> int:
    """In how many of the messages that do not fit a rank takes part."""
    return sum(sent != expected for *pair, sent, expected in messages if rank in pair)


def misfit_figure(lengths: Sequence[int]) -> str:
    """The first messages of a ring in which a rank sums another shape: which of them fit."""
    caption = Words(
        "The first message of every rank where rank {odd} sums {length} numbers and the others "
        "{usual}. Orange ones do not fit: each has two suspects, and only rank {odd} is in both.",
        "rank {odd} 对 {length} 个数求和、其余 rank 对 {usual} 个数求和时，各 rank 的第一条消息。"
        "橙色的对不上：每条都有两个嫌疑者，只有 rank {odd} 两条都有份。",
    )
    alt = Words(
        "Ranks in a ring. Of {n} messages {bad} do not fit; rank {odd} takes part in {bad} of "
        "these, every other rank in one.",
        "排成环的各 rank。{n} 条消息中有 {bad} 条对不上；rank {odd} 在其中 {bad} 条里有份，"
        "其余各在一条里有份。",
    )
    messages = first_messages(lengths)
    counts = [misfits(messages, rank) for rank in range(len(lengths))]
    odd = counts.index(max(counts))
    bad = sum(sent != expected for *_, sent, expected in messages)
    facts = {"n": len(messages), "bad": bad, "odd": odd}
    shown = {"odd": odd, "length": lengths[odd], "usual": lengths[odd - 1]}
    with canvas(8, 2.9) as figure, canvas(4, 3.1) as narrow:
        _draw_misfits(figure.add_axes((0.15, 0, 0.7, 1)), messages, counts)
        _draw_misfits(narrow.add_axes((0, 0, 1, 1)), messages, counts)
        return render("fault-misfit", figure, caption, alt, facts, shown, narrow=narrow)


def _draw_misfits(ax: Axes, messages: Sequence[Misfit], counts: Sequence[int]) -> None:
    odd = counts.index(max(counts))
    places = [(0.0, 1.0), (1.5, -0.75), (-1.5, -0.75)]  # clockwise from above
    for rank, (x, y) in enumerate(places):
        edge = SERIES[1] if rank == odd else INK
        ax.add_patch(Circle((x, y), 0.3, facecolor=PAPER, edgecolor=edge, linewidth=2, zorder=3))
        ax.text(x, y, str(rank), ha="center", va="center_baseline", fontsize=14, zorder=4)
    labels = [(1.15, 0.3, "left"), (0.0, -1.15, "center"), (-1.15, 0.3, "right")]
    words = Words("sends {sent},\nexpected: {expected}", "发出 {sent} 个，\n对方等 {expected} 个")
    for (sender, receiver, sent, expected), (x, y, side) in zip(messages, labels, strict=True):
        colour = INK if sent == expected else SERIES[1]
        arrow: dict[str, Any] = {
            "arrowstyle": "-|>",
            "mutation_scale": 16,
            "shrinkA": 20,
            "shrinkB": 20,
        }
        ends = places[sender], places[receiver]
        ax.add_patch(FancyArrowPatch(*ends, color=colour, linewidth=2, **arrow))
        text = say(words, sent=sent, expected=expected)
        ax.text(x, y, text, ha=side, va="center", color=colour, fontsize=10)
    ax.set(xlim=(-2.6, 2.6), ylim=(-1.6, 1.4), aspect="equal")
    ax.axis("off")


_restarted = cache(killed_and_restarted)


def restart_table(whole: Run) -> Table:
    """Rank 1 killed at every place of a step, and a restart beside a run that was never stopped."""
    caption = Words(
        "ZeRO-2 on 3 processes, from a checkpoint of step 2 to step 4, killed on the way.",
        "3 个进程上的 ZeRO-2，从第 2 步的检查点训练到第 4 步，途中被杀。",
    )
    columns = [
        Column("killed in", "s", "rank 1 is killed", "rank 1 何时被杀"),
        _TOLD,
        Column("restart apart", "g", "restart differs by", "重启后的参数之差", tolerance=EXACT),
    ]
    rows = []
    for where in WHERE:
        sentence, run = _restarted(where)
        apart = gap(run.parameters, whole.parameters)
        rows.append((Word(f"where {where}", *_WHERE[where]), told(sentence), apart))
    return Table("restarts", caption, columns, rows)
