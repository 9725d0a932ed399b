"""On real processes: who agrees, the order of messages, what they weigh, FSDP2 at scale."""

from collections.abc import Mapping, Sequence
from functools import cache

from matplotlib.patches import Patch
from torch import Tensor

from zerolit import engine
from zerolit.comm import CommLog
from zerolit.engine.stock import Trained
from zerolit.zero import STAGES, TINY_GPT
from zerolit.zero.train import one_thread, share_out, step, task_worker

from .figure import SERIES, canvas, render
from .processes import TIMEOUT, pytorch
from .runs import GAP, gap
from .table import Column, Table
from .words import LOSS, RANK_N, Word, Words, choose, say

_COMPARED = {
    "real stage 0": (
        "our data parallelism: processes, simulator",
        "我们的数据并行：真实进程与模拟器",
    ),
    "real stage 1": ("our ZeRO-1: processes, simulator", "我们的 ZeRO-1：真实进程与模拟器"),
    "real stage 2": ("our ZeRO-2: processes, simulator", "我们的 ZeRO-2：真实进程与模拟器"),
    "real stage 3": ("our ZeRO-3: processes, simulator", "我们的 ZeRO-3：真实进程与模拟器"),
    "real fsdp2": (
        "PyTorch's FSDP2, our simulated ZeRO-3 cut by rows",
        "PyTorch 的 FSDP2 与我们模拟的按行切分的 ZeRO-3",
    ),
    "real plugged": ("FSDP2, FSDP2 with our ring plugged in", "FSDP2 与接入我们的环的 FSDP2"),
    "real hooked": ("DDP, DDP with our ring as its hook", "DDP 与以我们的环为通信钩子的 DDP"),
    "real ours": ("PyTorch's DDP, our data parallelism", "PyTorch 的 DDP 与我们的数据并行"),
    "real zero": (
        "PyTorch's DDP, DDP with ZeroRedundancyOptimizer",
        "PyTorch 的 DDP 与 DDP 加 ZeroRedundancyOptimizer",
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
    "ddp": ("DDP", "DDP"),
    "ddp copies": ("DDP, gradient_as_bucket_view=False", "DDP，gradient_as_bucket_view=False"),
    "ddp with ours": ("DDP with our ring", "接入我们的环的 DDP"),
    "hsdp": ("HSDP, two halves", "HSDP，分两半"),
    "zero": ("DDP + ZeroRedundancyOptimizer", "DDP + ZeroRedundancyOptimizer"),
    "fsdp2": ("FSDP2", "FSDP2"),
    "fsdp2 kept": ("FSDP2, reshard_after_forward=False", "FSDP2，reshard_after_forward=False"),
    "fsdp2 with ours": ("FSDP2 with our ring", "接入我们的环的 FSDP2"),
}
_TRAINING = Column("training", "s", "training", "训练方式")
_WIRE = Column("wire", ".3f", "by the algorithms", "按算法")
_AT_REST = Column("at rest", ".3f", "stored, ÷ Ψ", "存储量，÷ Ψ")


def _stock(which: str) -> Word:
    return Word(f"stock {which}", *_STOCK[which])


def wire_table(theory: Mapping[str, float], ranks: int, steps: int) -> Table:
    """Bytes per rank and step over Ψ, in elements: by the paper, by gloo's algorithms, written.

    Raises:
        AssertionError: what processes wrote is not what the algorithms say, plus up to 2 % headers.
    """
    caption = Words(
        "One step on {n} processes: sent per process on average, stored by the fullest.",
        "{n} 个进程的一步：发出量取各进程平均，存储量取最大的进程。",
    )
    columns = [
        _TRAINING,
        Column("theory", "g", "sent per step, ÷ Ψ, in theory", "每步发出，÷ Ψ：理论值"),
        _WIRE,
        Column("written", ".2f", "written to sockets", "写入套接字", tolerance="rel 0.005"),
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


def stock_table(which: str, ran: Sequence[Trained]) -> Table:
    """One run of PyTorch's own: losses, sent and stored."""
    caption = Words(
        "PyTorch's own on {n} processes, {steps} steps, Ψ = {psi}; sent in the last one, ÷ Ψ.",
        "PyTorch 自带的训练，{n} 个进程，{steps} 步，Ψ = {psi}；发出量取最后一步，÷ Ψ。",
    )
    columns = [
        _TRAINING,
        Column("first loss", ".6f", "loss, first step", "损失，首步"),
        Column("last loss", ".6f", "loss, last step", "损失，末步"),
        _WIRE,
        Column("written", ".2f", "written to sockets", "写入套接字"),
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


def simulated_order(stage: int, size: int) -> list[list[Message]]:
    """The same of the simulator's ranks."""
    log, workers = CommLog(size), [task_worker(TINY_GPT, stage, r, size) for r in range(size)]
    with one_thread():
        ((x, y),) = TINY_GPT.draw_batches(1, 32)
        step(STAGES[stage], workers, share_out(x, y, size, 1), log)
    return [
        [(m.phase, m.destination, m.elements) for m in log.messages if m.source == rank]
        for rank in range(size)
    ]


def order_figure(real: Sequence[Sequence[Message]], simulated: Sequence[Sequence[Message]]) -> str:
    """Each rank's messages in its order, by phase: on a process, and below it on the simulator."""
    caption = Words(
        "The {messages} messages of a step, as each of {n} processes sent them; pale below them, "
        "as the simulator's rank did.",
        "一步中的 {messages} 条消息：{n} 个进程各自的发送次序；"
        "下方浅色为模拟器中同一 rank 的次序。",
    )
    alt = Words(
        "{n} rows of coloured bars, {messages} in all, one per message, and below each row the "
        "same bars in pale: tokens, parameters, parameters and gradients in turn, loss.",
        "{n} 行色块，共 {messages} 个，一条消息一个；每行下方是相同的浅色色块：token 计数、参数、"
        "参数与梯度交替、损失。",
    )
    phases = list(dict.fromkeys(m[0] for m in simulated[0]))
    colours = dict(zip(phases, SERIES, strict=False))
    with canvas(10, 0.75 * len(real) + 1.1) as figure:
        ax = figure.add_axes((0.12, 0.17, 0.72, 0.8))
        for rank, pair in enumerate(zip(real, simulated, strict=True)):
            for half, messages in enumerate(pair):
                paint = [colours[phase] for phase, *_ in messages]
                height, alpha = (0.42, 1.0) if half == 0 else (0.28, 0.45)
                y = -rank - 0.37 * half
                ax.barh([y] * len(paint), 0.85, height, range(len(paint)), color=paint, alpha=alpha)
        ax.set_yticks([-rank - 0.1 for rank in range(len(real))])
        ax.set_yticklabels([say(RANK_N, n=rank) for rank in range(len(real))])
        ax.set_xlabel(
            say(Words("the rank's messages, one after the other", "该 rank 的消息，按先后排列"))
        )
        handles = [
            Patch(color=colours[phase], label=say(choose(phase, _PHASES))) for phase in phases
        ]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        facts = {"n": len(real), "messages": sum(map(len, real))}
        data = {f"rank-{rank}": [m[2] for m in messages] for rank, messages in enumerate(real)}
        return render("real-order", figure, caption, alt, facts, facts, data=data)


def trace_table(stage: int, size: int) -> Table:
    """A step on real processes: runs of messages of one phase and length, with measured times."""
    caption = Words(
        "A step of stage {stage} on {n} processes of this machine, measured.",
        "阶段 {stage} 的一步，本机 {n} 个进程，实测。",
    )
    columns = [
        Column("phase", "s", "phase", "阶段"),
        Column("messages", "d", "messages of all ranks", "全部 rank 的消息数"),
        Column("elements each", ",d", "elements each, up to", "每条元素数，至多"),
        Column("ms began", ".2f", "first begins, ms", "最早开始，毫秒"),
        Column("ms first ended", ".2f", "first rank done, ms", "最先完成，毫秒"),
        Column("ms last ended", ".2f", "last rank done, ms", "最后完成，毫秒"),
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
        Column("ranks", "d", "cards p", "卡数 p"),
        Column("stored", ".6f", "stored, ÷ Ψ", "存储量，÷ Ψ", "Ψ elements"),
        Column("4/p", ".6f", "4/p", "4/p"),
        Column("sent", ".4f", "sent per step, ÷ Ψ", "每步发出，÷ Ψ", "Ψ elements"),
        Column("3(p-1)/p", ".4f", "3(p−1)/p", "3(p−1)/p"),
        Column("padding", ".1%", "padding", "填充"),
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
