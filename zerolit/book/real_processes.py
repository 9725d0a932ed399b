"""R.1: who agrees, the order of messages, what they weigh, FSDP2 at scale."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, groupby, pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from zerolit import engine
from zerolit.comm import CommLog
from zerolit.engine.stock import Trained
from zerolit.zero import STAGES, TINY_GPT
from zerolit.zero.train import one_thread, share_out, step, task_worker

from .figure import FAINT, INK, PAPER, SERIES, canvas, render
from .processes import TIMEOUT, pytorch
from .runs import GAP, gap
from .table import Column, Table
from .words import LOSS, RANK_N, Word, Words, choose, say

_COLOURS = {"parameters": SERIES[0], "gradients": SERIES[1]}  # as in 3.4

_COMPARED = {
    "real stage 0": (
        "our data parallelism: processes ↔ simulator",
        "我们的数据并行：真实进程 ↔ 模拟器",
    ),
    "real stage 1": ("our ZeRO-1: processes ↔ simulator", "我们的 ZeRO-1：真实进程 ↔ 模拟器"),
    "real stage 2": ("our ZeRO-2: processes ↔ simulator", "我们的 ZeRO-2：真实进程 ↔ 模拟器"),
    "real stage 3": ("our ZeRO-3: processes ↔ simulator", "我们的 ZeRO-3：真实进程 ↔ 模拟器"),
    "real fsdp2": (
        "FSDP2 ↔ our simulated ZeRO-3, cut by rows",
        "FSDP2 ↔ 我们模拟的 ZeRO-3（按行切分）",
    ),
    "real plugged": ("FSDP2 ↔ FSDP2 with our ring", "FSDP2 ↔ FSDP2 + 我们的环"),
    "real hooked": ("DDP ↔ DDP with our ring as its hook", "DDP ↔ DDP + 我们的环（comm hook）"),
    "real ours": ("DDP ↔ our data parallelism", "DDP ↔ 我们的数据并行"),
    "real zero": (
        "DDP ↔ DDP with ZeroRedundancyOptimizer",
        "DDP ↔ DDP + ZeroRedundancyOptimizer",
    ),
}


def agreement_table(rows: Mapping[str, tuple[Tensor, Tensor]], ranks: int, steps: int) -> Table:
    """What was compared, by its name, and how far it is apart."""
    caption = Words(
        "{steps} steps on {n} processes. 0 means: the same bits.",
        "{n} 个进程，{steps} 步。0 表示逐位相同。",
    )
    columns = [
        Column("compared", "s", "compared", "比较的两方"),
        Column("apart", ".2g", "parameters differ by", "参数之差", tolerance=GAP),  # a 0 stays 0
    ]
    cells = [(choose(name, _COMPARED), gap(*pair)) for name, pair in rows.items()]
    return Table("real-agreement", caption, columns, cells, {"n": ranks, "steps": steps})


_STOCK = {
    "ddp": ("DDP, gradient_as_bucket_view=True", "DDP，gradient_as_bucket_view=True"),
    "ddp copies": (
        "DDP (default: gradient_as_bucket_view=False)",
        "DDP（默认：gradient_as_bucket_view=False）",
    ),
    "ddp with ours": ("DDP with our ring", "DDP + 我们的环"),
    "hsdp": ("HSDP, two halves", "HSDP，分两组"),
    "zero": ("DDP + ZeroRedundancyOptimizer", "DDP + ZeroRedundancyOptimizer"),
    "fsdp2": ("FSDP2", "FSDP2"),
    "fsdp2 kept": ("FSDP2, reshard_after_forward=False", "FSDP2，reshard_after_forward=False"),
    "fsdp2 with ours": ("FSDP2 with our ring", "FSDP2 + 我们的环"),
}
_TRAINING = Column("training", "s", "training", "训练方式")
_WIRE = Column("wire", ".3f", "sent by gloo's algorithms (Ψ)", "按 gloo 的算法发出（Ψ）")
_AT_REST = Column("at rest", ".3f", "stored (Ψ)", "常驻（Ψ）")


def _stock(which: str) -> Word:
    return Word(f"stock {which}", *_STOCK[which])


def wire_table(theory: Mapping[str, float], ranks: int, steps: int) -> Table:
    """Bytes per rank and step over Ψ, in elements: by the paper, by gloo's algorithms, written.

    Raises:
        AssertionError: what processes wrote is not what the algorithms say, plus up to 2 % headers.
    """
    caption = Words(
        "One step on {n} processes: sent per process on average; stored by the fullest one, "
        "counted after the update, before the gradients are released.",
        "{n} 个进程的一步：发出量取各进程平均；常驻取最多的那个进程，"
        "在更新之后、释放梯度之前计数。",
    )
    columns = [
        _TRAINING,
        Column("theory", "g", "sent per step (Ψ), in theory", "每步发出（Ψ）：理论值"),
        _WIRE,
        Column(
            "written", ".2f", "written to sockets (Ψ)", "写入 socket（Ψ）", tolerance="rel 0.005"
        ),
        _AT_REST,
    ]
    rows = []
    for name, expected in theory.items():
        ran = pytorch(name, ranks, steps)
        by_algorithm, written = _sent(ran)
        assert written is None or 1 <= written / by_algorithm < 1.02, (name, by_algorithm, written)
        rows.append((_stock(name), expected, by_algorithm, written, _held(ran)))
    return Table("real-wire", caption, columns, rows, {"n": ranks})


def _sent(ran: Sequence[Trained]) -> tuple[float, float | None]:
    """What a rank sent in a step, over Ψ: by gloo's algorithms; and what it wrote to its sockets.

    Both are means over the ranks: DDP broadcasts its buckets' order from rank 0.
    """
    whole = len(ran) * ran[0].parameters.nbytes
    called = sum(call.sent for rank in ran for call in rank.calls) / whole
    counts = [rank.written for rank in ran if rank.written is not None]
    return called, sum(counts) / whole if counts else None


def _held(ran: Sequence[Trained]) -> float:
    """What the fullest rank stores at rest, over Ψ."""
    return max(rank.stored.total() for rank in ran) / len(ran[0].parameters)


# What the traffic consists of

_PARTS = {
    "all-gather": ("all-gather", "all-gather"),
    "broadcast": ("broadcast", "broadcast"),
    "all-reduce": ("all-reduce", "all-reduce"),
    "reduce-scatter": ("reduce-scatter", "reduce-scatter"),
    "surcharge": ("gloo's extra", "gloo 多发"),
    "ours": ("our ring's messages", "我们的环发出的消息"),
}
_LOOKS = {  # colour, strength
    "all-gather": (_COLOURS["parameters"], 0.45),
    "broadcast": (_COLOURS["parameters"], 0.45),
    "all-reduce": (_COLOURS["gradients"], 0.45),
    "reduce-scatter": (_COLOURS["gradients"], 0.45),
    "surcharge": (_COLOURS["gradients"], 0.15),
    "ours": (INK, 0.2),
}
_BARS = {
    "ddp": ("DDP", "DDP"),
    "ddp with ours": ("DDP with our ring", "DDP + 我们的环"),
    "zero": ("DDP + ZeroRedundancyOptimizer", "DDP + ZeroRedundancyOptimizer"),
    "fsdp2": ("FSDP2", "FSDP2"),
    "fsdp2 with ours": ("FSDP2 with our ring", "FSDP2 + 我们的环"),
    "fsdp2 kept": ("FSDP2, reshard_after_forward=False", "FSDP2，reshard_after_forward=False"),
    "hsdp": ("HSDP, two halves", "HSDP，分两组"),
}


def parts_of(ran: Sequence[Trained]) -> dict[str, float]:
    """A step's traffic per rank over Ψ, by collective; `surcharge` is what gloo sends in vain.

    A reduce-scatter needs (p-1)/p of its length; gloo does an all-reduce, which sends twice that.
    """
    whole, parts = len(ran) * ran[0].parameters.nbytes, dict.fromkeys(_PARTS, 0.0)
    for call in (call for rank in ran for call in rank.calls):
        name = call.name.strip("_").removesuffix("_base").replace("_", "-")
        half = call.sent / 2 / whole
        first, second = _PARTS_OF[name]
        parts[first] += half
        parts[second] += half
    return {part: value for part, value in parts.items() if value}


_PARTS_OF = {  # what the two halves of a call are
    "allreduce": ("all-reduce", "all-reduce"),
    "allgather": ("all-gather", "all-gather"),
    "reduce-scatter": ("reduce-scatter", "surcharge"),
    "broadcast": ("broadcast", "broadcast"),
    "send": ("ours", "ours"),
}


def parts_figure(theory: Mapping[str, float], ranks: int, steps: int) -> str:
    """Every training's traffic as a bar made of its collectives, beside what theory asks for."""
    caption = Words(
        "Sent per process in one step, by collective. Blue carries parameters, orange gradients; "
        "the tick is the theory. What gloo sends beyond it is pale.",
        "每个进程一步发出的量，按集合通信分。蓝色传参数，橙色传梯度；竖线是理论值，"
        "浅色是 gloo 比理论多发的。",
    )
    alt = Words(
        "{n} stacked bars, in units of Ψ. Beyond the theory: FSDP2 by {fsdp2:g}, without "
        "resharding by {kept:g}, HSDP by {hsdp:g}; the others by nothing.",
        "{n} 个堆叠条，以 Ψ 为单位。超出理论值的有：FSDP2 {fsdp2:g}，"
        "reshard_after_forward=False {kept:g}，HSDP {hsdp:g}；其余都不超出。",
    )
    bars = {name: parts_of(pytorch(name, ranks, steps)) for name in theory}
    for name, parts in bars.items():
        extra = parts.get("surcharge", 0.0)
        assert abs(sum(parts.values()) - extra - theory[name]) < 1e-9, (name, parts)
    surcharged = {"fsdp2": "fsdp2", "kept": "fsdp2 kept", "hsdp": "hsdp"}
    facts = {key: bars[name]["surcharge"] for key, name in surcharged.items()}
    facts = {"n": len(bars)} | facts
    data = {part: [b.get(part, 0.0) for b in bars.values()] for part in _PARTS}
    with canvas(9, 4.7) as figure, canvas(4, 6.2) as narrow:
        _draw_parts(figure.add_axes((0.31, 0.11, 0.68, 0.87)), bars, theory, names_above=False)
        _draw_parts(narrow.add_axes((0.03, 0.09, 0.94, 0.9)), bars, theory, names_above=True)
        return render("real-parts", figure, caption, alt, facts, data=data, narrow=narrow)


def _draw_parts(
    ax: Axes, bars: Mapping[str, dict[str, float]], theory: Mapping[str, float], names_above: bool
) -> None:
    """On a phone the names stand above the bars, and only numbers in them."""
    half = 0.19 if names_above else 0.31
    for y, (name, parts) in enumerate(bars.items()):
        left, words = 0.0, [say(choose(part, _PARTS)) for part in parts]
        for part, word, width in zip(parts, words, parts.values(), strict=True):
            colour, strength = _LOOKS[part]
            ax.barh(y, width, 2 * half, left, color=colour, alpha=strength)
            told = f"{width:g}" if names_above else f"{word}\n{width:g}"
            ax.text(left + width / 2, y, told, ha="center", va="center", fontsize=8.5)
            left += width
        edges = [[(x, y - half), (x, y + half)] for x in accumulate(parts.values())]
        ax.add_collection(LineCollection(edges, colors=[PAPER], linewidths=[1.5]))
        line = [(theory[name], y - half - 0.07), (theory[name], y + half + 0.07)]
        ax.add_collection(LineCollection([line], colors=[INK], linewidths=[2.2]))
        if names_above:
            ax.text(0, y - 0.46, say(choose(name, _BARS)), va="bottom", fontsize=10)
            ax.text(0, y - 0.27, " + ".join(words), va="bottom", fontsize=8)
    names = [] if names_above else [say(choose(name, _BARS)) for name in bars]
    ax.set_yticks(range(len(names)), names, fontsize=10)
    ax.set(xlim=(0, 3.1), ylim=(len(bars) - 0.6, -0.85 if names_above else -0.5))
    ax.set_xlabel(say(Words("sent per process and step (Ψ)", "每个进程每步发出（Ψ）")))
    ax.tick_params(axis="y", length=0)


def stock_table(which: str, ran: Sequence[Trained]) -> Table:
    """One run of PyTorch's own: losses, sent and stored."""
    caption = Words(
        "PyTorch's own on {n} processes, {steps} steps, Ψ = {psi}; sent in the last one.",
        "PyTorch 自带的训练，{n} 个进程，{steps} 步，Ψ = {psi}；发出量取最后一步。",
    )
    columns = [
        _TRAINING,
        Column("first loss", ".6f", "loss, first step", "损失，首步"),
        Column("last loss", ".6f", "loss, last step", "损失，末步"),
        _WIRE,
        Column("written", ".2f", "written to sockets (Ψ)", "写入 socket（Ψ）"),
        _AT_REST,
    ]
    losses = [sum(rank.losses[i] for rank in ran) for i in (0, -1)]
    psi = len(ran[0].parameters)
    facts = {"n": len(ran), "steps": len(ran[0].losses), "psi": f"{psi:,}"}
    row = (_stock(which), *losses, *_sent(ran), _held(ran))
    return Table("stock", caption, columns, [row], facts)


# One step, message by message

Message = tuple[str, int, int]  # phase, to whom, elements
_PHASES = {
    "tokens": ("token counts", "token 计数"),
    "parameters": ("parameters", "参数"),
    "gradients": ("gradients", "梯度"),
    "loss": LOSS,
}


@cache
def real_order(stage: int, size: int) -> list[list[Message]]:
    """What each process sent in a step, in its own order: (phase, to, elements)."""
    ranks = engine.trace(stage, size, timeout=TIMEOUT)
    return [[(e.phase, e.to, e.elements) for e in exchanges] for exchanges in ranks]


def simulated_step(stage: int, size: int) -> CommLog:
    """The same step on the simulator, in which all ranks go in lock step."""
    log, workers = CommLog(size), [task_worker(TINY_GPT, stage, r, size) for r in range(size)]
    with one_thread():
        ((x, y),) = TINY_GPT.draw_batches(1, 32)
        step(STAGES[stage], workers, share_out(x, y, size, 1), log)
    return log


def by_rank(log: CommLog) -> list[list[Message]]:
    """What each simulated rank sent, in its order."""
    return [
        [(m.phase, m.destination, m.elements) for m in log.messages if m.source == rank]
        for rank in range(log.size)
    ]


_PARTS_OF_STEP = {
    "tokens": ("tokens", "token 数"),
    "forward": ("forward", "前向"),
    "backward": ("backward", "反向"),
    "loss": ("loss", "损失"),
    "update": ("update", "更新"),
}
_KINDS = {
    "parameters": ("parameters, gathered by the ring", "参数：沿环 all-gather"),
    "gradients": ("gradients, summed by the ring", "梯度：沿环 reduce-scatter"),
    "small": ("a few numbers by the tree, and to which rank", "沿树传几个数；数字是收方的 rank"),
}
_PAINT = {**_COLOURS, "tokens": INK, "loss": INK}
_UNIT = Words("layer {n}", "第 {n} 层")
_ENDS = {"first": ("embed.", "嵌入层"), "last": ("head", "输出层")}

Spans = dict[str, tuple[int, int]]  # from which step to before which


def parts_of_step(log: CommLog) -> Spans:
    """In which of the simulator's steps a step of ZeRO-3 counts tokens, goes forward, and so on.

    The backward pass begins p - 1 steps before the first gradient moves: with the gathering of the
    unit that the forward pass has just released.
    """
    phase_of = {m.step: m.phase for m in log.messages}
    runs = [(phase, list(group)) for phase, group in groupby(sorted(phase_of), phase_of.get)]
    starts = {phase: steps[0] for phase, steps in reversed(runs)}
    backward = starts["gradients"] - (log.size - 1)
    ends = [1, starts["parameters"], backward, starts["loss"], log.steps + 1]
    return dict(zip(("tokens", "forward", "backward", "loss"), pairwise(ends), strict=True))


def units_of_step(spans: Spans, size: int) -> list[tuple[int, int, int]]:
    """Which unit the messages of a step belong to: (unit, from which step, to before which)."""
    (first, middle), (_, last) = spans["forward"], spans["backward"]
    once, units = size - 1, (middle - first) // (size - 1)
    there = [(u, first + u * once, once) for u in range(units)]
    back = [(units - 1 - u, middle + u * 2 * once, 2 * once) for u in range(units)]
    assert middle + units * 2 * once == last, spans
    return [(unit, start, start + steps) for unit, start, steps in there + back]


def order_figure(real: Sequence[Sequence[Message]], log: CommLog) -> str:
    """Each process's messages in its own order, where the simulator has the same message."""
    caption = Words(
        "The {messages} messages of a ZeRO-3 step, as each of {n} processes sent them, one after "
        "the other. What the simulator sends in one of its steps stands in line.",
        "ZeRO-3 的一步：{n} 个进程各自先后发出的消息，共 {messages} 条。"
        "模拟器在同一步发出的消息对齐。",
    )
    alt = Words(
        "{n} rows of cells, {messages} in all, one per message: token counts by a tree, "
        "parameters in the forward pass, parameters and gradients in turn in the backward pass, "
        "the loss by a tree; the update sends nothing. Ranks inside the tree send {most}, its "
        "leaves {least}.",
        "{n} 行格子，共 {messages} 个，一条消息一个：沿树数 token，前向传参数，"
        "反向交替传参数与梯度，沿树传损失，更新不发消息。"
        "树中间的 rank 发 {most} 条，叶子发 {least} 条。",
    )
    spans = parts_of_step(log)
    counts = [len(messages) for messages in real]
    facts = {"n": len(real), "messages": sum(counts)}
    told = facts | {"most": max(counts), "least": min(counts)}
    data = {f"rank-{rank}": [m[2] for m in messages] for rank, messages in enumerate(real)}
    with canvas(9, 3.3) as figure, canvas(4, 7.4) as narrow:
        _draw_order(figure, real, log, spans, across=True)
        _draw_order(narrow, real, log, spans, across=False)
        return render(
            "real-order",
            figure,
            caption,
            alt,
            told,
            facts,
            data=data,
            narrow=narrow,
        )


def _draw_order(
    figure: Figure,
    real: Sequence[Sequence[Message]],
    log: CommLog,
    spans: Spans,
    across: bool,
) -> None:
    """Time goes to the right, or, on a phone, down."""
    ax = figure.add_axes((0.05, 0.16, 0.95, 0.83) if across else (0.01, 0.12, 0.98, 0.87))
    size, end = len(real), log.steps + 1

    def cell(step: float, lane: float, steps: float, lanes: float, **look) -> None:
        corner, width, height = (step, lane), steps, lanes
        if not across:
            corner, width, height = (lane, step), lanes, steps
        ax.add_patch(Rectangle(corner, width, height, linewidth=0, **look))

    def write(step: float, lane: float, words: str, **look) -> None:
        x, y = (step, lane) if across else (lane, step)
        usual: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9}
        ax.text(x, y, words, **(usual | look))

    for rank, messages in enumerate(real):
        steps = [m.step for m in log.messages if m.source == rank]
        for at, (phase, to, _) in zip(steps, messages, strict=True):
            cell(at + 0.06, rank + 0.12, 0.88, 0.76, facecolor=_PAINT[phase])
            if phase in ("tokens", "loss"):
                write(at + 0.5, rank + 0.5, str(to), color=PAPER, va="center_baseline")
        side = {"ha": "right" if across else "center"}
        write(0.7 if across else -0.2, rank + 0.5, say(RANK_N, n=rank), **side)
    lanes = [-0.55, -1.1] if across else [size + 0.55, size + 1.25]
    spans = spans | {"update": (end, end + 4)}
    last_unit = _last_unit(spans, size)
    names = {0: say(choose("first", _ENDS)), last_unit: say(choose("last", _ENDS))}
    for unit, first, last in units_of_step(spans, size):
        words = names.get(unit) or say(_UNIT, n=unit)
        write((first + last) / 2, lanes[0], words, fontsize=8)
        edge = -0.22 if across else size + 0.1
        cell(first + 0.1, edge, last - first - 0.2, 0.06, facecolor=FAINT)
    for part, (first, last) in spans.items():
        side = {"ha": "center" if across else "left"}
        words = say(choose(part, _PARTS_OF_STEP))
        write((first + last) / 2, lanes[1], words, fontweight="bold", **side)
        edge = -0.85 if across else size + 1.08
        cell(first + 0.1, edge, last - first - 0.2, 0.06, facecolor=INK)
    nothing = Words("no\nmessage", "不发\n消息") if across else Words("no message", "不发消息")
    write(end + 2, size / 2, say(nothing))
    x, y = (-2.2, end + 4.2), (size + 0.1, -1.4)
    ax.set(xlim=x, ylim=y) if across else ax.set(xlim=(-0.1, size + 2.5), ylim=(end + 4, -0.6))
    ax.axis("off")
    kinds = {kind: say(choose(kind, _KINDS)) for kind in _KINDS}
    handles = [Patch(color=_COLOURS.get(kind, INK), label=words) for kind, words in kinds.items()]
    columns = 3 if across else 1
    figure.legend(handles=handles, loc="lower left", ncols=columns, frameon=False, fontsize=9)


def _last_unit(spans: Spans, size: int) -> int:
    first, middle = spans["forward"]
    return (middle - first) // (size - 1) - 1


def trace_table(stage: int, size: int) -> Table:
    """A step on real processes: runs of messages of one phase and length, with measured times."""
    caption = Words(
        "A step of stage {stage} on {n} processes of this machine, measured.",
        "ZeRO 阶段 {stage} 的一步，本机 {n} 个进程，实测。",
    )
    columns = [
        Column("phase", "s", "phase", "环节"),
        Column("messages", "d", "messages of all ranks", "全部 rank 的消息数"),
        Column("elements each", ",d", "elements each, up to", "每条元素数，至多"),
        Column("ms began", ".2f", "first begins, ms", "最早开始（毫秒）"),
        Column("ms first ended", ".2f", "first rank done, ms", "最先完成（毫秒）"),
        Column("ms last ended", ".2f", "last rank done, ms", "最后完成（毫秒）"),
    ]
    rows = []
    for same in zip(*map(_runs, engine.trace(stage, size)), strict=True):
        messages = [exchange for run in same for exchange in run]
        ended = [run[-1].ended for run in same]
        times = (min(e.began for e in messages), min(ended), max(ended))
        counts = (len(messages), max(e.elements for e in messages))
        phase = choose(messages[0].phase, _PHASES)
        rows.append((phase, *counts, *(1e3 * seconds for seconds in times)))
    return Table("trace", caption, columns, rows, {"n": size, "stage": stage})


def _runs(exchanges: Sequence[engine.Exchange]) -> list[list[engine.Exchange]]:
    """A rank's messages, those together that follow each other in one phase, about as long."""
    runs: list[list[engine.Exchange]] = []
    for e in exchanges:
        last = runs[-1][-1] if runs else None
        if last is None or last.phase != e.phase or abs(last.elements - e.elements) > 1:
            runs.append([])
        runs[-1].append(e)
    return runs


# At scale

at_scale = cache(engine.at_scale)


def scale_table(ranks: Sequence[int], layers: int, width: int) -> Table:
    """FSDP2 on ranks that do not exist: stored and sent by one, beside 4Ψ/p and 3(p-1)/p·Ψ.

    Raises:
        AssertionError: what is stored or sent is not the formula's, padding counted.
    """
    caption = Words(
        "FSDP2 on a GPT of {psi} million parameters: one rank of p, in units of Ψ.",
        "FSDP2，{psi}M 参数的 GPT：p 个 rank 中的一个，以 Ψ 为单位。",
    )
    columns = [
        Column("ranks", "d", "ranks p", "rank 数 p"),
        Column("stored", ".6f", "stored (Ψ)", "常驻（Ψ）", "Ψ elements"),
        Column("4/p", ".6f", "4/p", "4/p"),
        Column("sent", ".4f", "sent per step (Ψ)", "每步发出（Ψ）", "Ψ elements"),
        Column("3(p-1)/p", ".4f", "3(p−1)/p", "3(p−1)/p"),
        Column("padding", ".1%", "padding", "补零"),
    ]
    rows = []
    for p in ranks:
        seen = at_scale(p, layers, width)
        padding = seen.padded / seen.parameters
        assert seen.stored == 4 * seen.padded // p, seen
        assert seen.sent == 3 * (p - 1) * (seen.padded // p), seen
        psi = seen.parameters
        theory = (4 / p, 3 * (p - 1) / p)
        rows.append((p, seen.stored / psi, theory[0], seen.sent / psi, theory[1], padding - 1))
    return Table("real-scale", caption, columns, rows, {"psi": f"{psi / 1e6:,.0f}"})
