"""The labs: what the judge says of a solution, what a program moves and holds, and hidden bugs."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from matplotlib.figure import Figure

from zerolit import breaks
from zerolit.breaks import STEPS, hidden, observe, off_at_first, proved
from zerolit.comm import CommError, CommLog, Message, Swap
from zerolit.comm.chunks import ChunkList, Symbol, copied
from zerolit.comm.lockstep import Transport, lock_step
from zerolit.comm.log import chunks_of
from zerolit.exercises import Verdict, check, spoken
from zerolit.exercises.exercise import Wrong
from zerolit.exercises.stages import allowed_for, unsharded, watched
from zerolit.press import current, result
from zerolit.press.page import open_page

from .figure import FAINT, SERIES, canvas, render
from .holding import Holding
from .losses import NAMES, draw_losses
from .panels import draw_steps
from .runs import GAP, LOSS
from .table import Column, Table
from .words import TRAINING_STEP, Word, Words, say


def judged(name: str, solution: Callable, engine: str = "simulated") -> str:
    """The verdict on an exercise's solution, as a quotation in the page's language."""
    verdict = check(name, solution, engine)
    result(f"{name}.verdict" if engine == "simulated" else f"{name}.{engine}", verdict.kind)
    return told(verdict)


class Markdown(str):
    """Text that a notebook renders, as the site does."""

    def _repr_markdown_(self) -> str:
        return str(self)


def told(verdict: Verdict) -> Markdown:
    """A verdict as a quotation in the page's language."""
    return Markdown(f"> {verdict.sentence(current().language)}")


class Drawing:
    """A figure, for a page or for a notebook, which knows no colours of the site."""

    def __init__(self, html: str):
        self.html = html

    def __str__(self) -> str:
        return self.html

    def _repr_html_(self) -> str:
        series = ("#4c72b0", "#dd8452", "#55a868", "#c44e52")
        colours = {f"--zl-{n}": colour for n, colour in enumerate(series, 1)}
        colours |= {"--md-default-fg-color": "#222", "--md-default-fg-color--lighter": "#999"}
        colours |= {"--md-default-bg-color": "#fff", "--zl-font": "sans-serif"}
        style = ";".join(f"{name}:{value}" for name, value in colours.items())
        once = "<style>.zl-narrow,.zl-permalink{display:none}</style>"
        return f'{once}<div style="{style};background:#fff;color:#222">{self.html}</div>'


_STEPS = Words(
    "What each card holds after each step of {name}. Rows are cards, columns are chunks; a stripe "
    "is a card's share, outlined is what has just been sent there.",
    "{name} 每一步之后各卡的内容。行是卡，列是块；竖条是某张卡的一份，粗框是刚送到的块。",
)
_STEPS_ALT = Words(
    "{panels} panels of {p} by {p} cells; after the last step {full} cells hold every share.",
    "{panels} 幅 {p}×{p} 的格子图；最后一步之后，{full} 格含有全部的份。",
)


def draw(program: Callable, size: int = 4) -> Drawing:
    """What `program(rank, size, x)`, with a chunk for each rank, holds after every step.

    Where it gets stuck, what came before is drawn.

    Raises:
        ValueError: a size that has no colours, below 2 or above 4.
    """
    if not 2 <= size <= len(SERIES):
        raise ValueError(f"size is {size}; it must be 2 to {len(SERIES)}, a colour for each card")
    _in_the_readers_language()
    film = _Film(size)
    film.run(program)
    full = sum(len(cell) == size for row in film.moments[-1] for cell in row)
    facts = {"panels": len(film.moments), "p": size, "full": full}
    data = {
        f"step-{n}": [sorted(cell) for row in moment for cell in row]
        for n, moment in enumerate(film.moments)
    }
    name = f"{program.__name__}-drawn".replace("_", "-")
    shown = {"name": program.__name__}
    with _canvas(film, 4, 11, 2.9) as wide, _canvas(film, 2, 4, 2.3) as narrow:
        return Drawing(
            render(name, wide, _STEPS, _STEPS_ALT, facts, shown, data=data, narrow=narrow)
        )


def _in_the_readers_language() -> None:
    if not current().uri:  # in a notebook
        open_page("", spoken())


@contextmanager
def _canvas(film: "_Film", columns: int, width: float, height: float) -> Iterator[Figure]:
    """The film on a figure of so many columns; a row is `height` inches high."""
    rows = -(-(len(film.moments) + 1) // columns)  # the key has a panel, too
    with canvas(width, rows * height) as figure:
        draw_steps(figure, film.log, film.moments, (rows, columns), 10 if columns == 4 else 9)
        yield figure


class _Film(Transport):
    """Runs a program on names of ranks, and keeps who is in which chunk after every step."""

    def __init__(self, size: int):
        self.log = CommLog(size)
        own = (Symbol(Counter([rank])) for rank in range(size) for _ in range(size))
        self.chunks = [ChunkList(islice(own, size)) for _ in range(size)]
        self.moments: list[Holding] = []

    def run(self, program: Callable) -> None:
        """To the end, or as far as it gets."""
        ranks = enumerate(self.chunks)
        with suppress(CommError):
            lock_step([program(rank, self.log.size, x) for rank, x in ranks], self)
        self._look()

    def carry(self, step: int, source: int, swap: Swap) -> Any:
        if step > len(self.moments):  # the first message of a step finds all as the last one left
            self._look()
        for chunk in self._chunks_of(swap):
            message = Message(step, swap.phase, source, swap.to, chunk, 1, None)  # type: ignore
            self.log.messages.append(message)
        return copied(swap.payload)

    def _chunks_of(self, swap: Swap) -> Iterable[int]:
        chunks = chunks_of(swap)
        named = [] if chunks is None else [chunks] if isinstance(chunks, int) else chunks
        return (chunk for chunk in named if 0 <= chunk < self.log.size)

    def _look(self) -> None:
        self.moments.append([[frozenset(cell.value) for cell in row] for row in self.chunks])


_MEMORY = Words(
    "What rank 0 of {p} holds while {name} runs: how many numbers, as tensors come and go.",
    "{name} 运行时 {p} 个 rank 中 rank 0 持有多少个数；每有张量产生或释放记一次。",
)
_MEMORY_ALT = Words(
    "A line over {moments} moments; at its fullest {peak} numbers, where {allowed} are enough and "
    "a rank that shards nothing holds {all}.",
    "一条折线，共 {moments} 个时刻；最满时 {peak} 个数；{allowed} 个就够，不切分则要 {all} 个。",
)


def memory(name: str, solution: Callable, size: int = 4, n: int = 24) -> Drawing | str:
    """What rank 0 holds, moment by moment, in exercise `"zero2"` or `"zero3"`.

    Where the ranks get stuck, there is nothing to draw: then it is the judge's sentence.
    """
    _in_the_readers_language()
    try:
        moments = watched(name, solution, size, n)[0].moments
    except Wrong:
        return told(check(name, solution))
    facts = {"moments": len(moments), "peak": max(moments)}
    facts |= {"allowed": allowed_for(name, size, n), "all": unsharded(name, n)}
    shown = {"p": size, "name": solution.__name__}
    with canvas(9.4, 3.4) as wide, canvas(4, 3.4) as narrow:
        _draw_memory(wide, (0.08, 0.15, 0.9, 0.8), moments, facts)
        _draw_memory(narrow, (0.17, 0.15, 0.8, 0.8), moments, facts)
        figure_id = f"{name}-memory"
        return Drawing(render(figure_id, wide, _MEMORY, _MEMORY_ALT, facts, shown, narrow=narrow))


def _draw_memory(figure: Figure, box: tuple, moments: list[int], facts: dict[str, int]) -> None:
    axes = figure.add_axes(box)
    axes.plot(moments, color=SERIES[0], drawstyle="steps-post", linewidth=1.4, gid="held")
    for height, words in (
        (facts["allowed"], Words("enough", "够用")),
        (facts["all"], Words("nothing sharded", "不切分")),
    ):
        axes.axhline(height, color=FAINT, linewidth=1, ls="--")
        axes.text(0, height * 1.02, say(words), va="bottom")
    axes.set(ylim=(0, 1.25 * max(facts["all"], facts["peak"])), xlim=(0, len(moments)))
    axes.set_xlabel(say(Words("moments, in their order", "时刻（按先后）")))
    axes.set_ylabel(say(Words("numbers held", "持有的数")))


_HIDDEN = Words(
    "The loss of bug number {number}, with AdamW and with SGD. Grey: the right code.",
    "第 {number} 号 bug 的损失，用 AdamW 和用 SGD。灰线：正确的代码。",
)
_HIDDEN_ALT = Words(
    "Two panels. After {steps} steps the loss is {adamw:.2f} with AdamW where the right code has "
    "{adamw_right:.2f}, and {sgd:.2f} with SGD where it has {sgd_right:.2f}.",
    "两幅小图。{steps} 步之后：AdamW 的损失为 {adamw:.2f}，正确的代码为 {adamw_right:.2f}；"
    "SGD 为 {sgd:.2f}，正确的为 {sgd_right:.2f}。",
)


def show(number: int) -> Drawing:
    """What a bug without its name does: the loss, and what the counters count.

    Raises:
        ValueError: there is no such number.
    """
    _in_the_readers_language()
    name, facts = hidden(number), dict[str, float]({"steps": STEPS})
    for optimizer in NAMES:
        facts[optimizer] = observe(name, optimizer).losses[-1]
        facts[f"{optimizer}_right"] = observe(name, optimizer, False).losses[-1]
    with canvas(9.4, 3) as wide, canvas(4, 3) as narrow:
        for figure in (wide, narrow):
            _draw_hidden(figure, name)
        shown, tolerances = {"number": number}, dict.fromkeys(_hidden_results(facts), LOSS)
        figure_id = f"bug-{number}-losses"
        told = render(
            figure_id, wide, _HIDDEN, _HIDDEN_ALT, facts, shown, tolerances, narrow=narrow
        )
    return Drawing(f"{told}\n\n{_counters(number, name)}")


def _hidden_results(facts: Iterable[str]) -> list[str]:
    ways = [f"loss-{way}-{which}" for way in NAMES for which in ("right", "wrong")]
    return [*facts, *ways]


def _draw_hidden(figure: Figure, name: str) -> None:
    for axes, optimizer in zip(figure.subplots(1, 2, sharey=True), NAMES, strict=True):
        draw_losses(axes, name, "loss", [optimizer])
        axes.set_title(NAMES[optimizer], fontsize=10.5)
        axes.set_xlabel(say(TRAINING_STEP))
    figure.subplots_adjust(left=0.08, right=0.98, bottom=0.18, top=0.9, wspace=0.06)


def _counters(number: int, name: str) -> Table:
    """What the five checks look at, in the right code and with the bug."""
    caption = Words("Counted and compared, number {n}.", "第 {n} 号：计数与对照。")
    columns = [
        Column("code", "s", "code", "代码"),
        Column("proof", "s", "ring", "环"),
        Column("off", ".0e", "SGD step off by", "SGD 一步之差", tolerance=GAP),
        Column("apart", ".0e", "ranks apart by", "各 rank 之差", tolerance=GAP),
        Column("peak", ",d", "stored at most", "最多存储"),
        Column("sent", ",d", "sent in a step", "每步发送"),
    ]
    rows = []
    for wrong, code in ((False, _RIGHT), (True, _WRONG)):
        ran = observe(name, "adamw", wrong)
        ring = _PROVED if not wrong or proved(name) else _REFUTED
        off = off_at_first(name, wrong)
        rows.append((code, ring, off, ran.apart, ran.peak, ran.sent))
    return Table(f"bug-{number}-counts", caption, columns, rows, {"n": number})


_RIGHT, _WRONG = Word("right", "right", "正确"), Word("wrong", "with the bug", "有 bug")
_PROVED, _REFUTED = Word("proved", "proved", "已证明"), Word("refuted", "refuted", "不成立")


def changed(name: str) -> Markdown:
    """The passage of code that a bug exchanges.

    Raises:
        ValueError: there is no such bug.
    """
    return Markdown(f"```diff\n{breaks.diff(breaks.find(name))}\n```\n")


def guess(number: int, name: str) -> Markdown:
    """Whether the hidden bug is the one of this name, and if not, what differs.

    Raises:
        ValueError: there is no such number.
    """
    _in_the_readers_language()
    return Markdown(f"> {breaks.guess(number, name, current().language)}")
