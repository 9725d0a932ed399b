"""Home: a model beside a card's memory, a ring at three moments, and the map of the course."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zerolit.comm import CommLog
from zerolit.plan.memory import ModelStates

from .circle import draw_circle
from .figure import FAINT, INK, PAPER, canvas, render
from .holding import Holding, holdings
from .words import Words, say

if TYPE_CHECKING:
    from zerolit.press.source import Source

GB = 1e9
_STATES = {
    "parameters": Words("weights", "参数"),
    "gradients": Words("gradients", "梯度"),
    "master": Words("master weights", "主权重"),
    "m": Words("Adam's m", "Adam 的 m"),
    "v": Words("Adam's v", "Adam 的 v"),
}
_HOLDS = Words("a card holds {gb:.0f} GB", "一张卡能装 {gb:.0f} GB")


def memory_bar(states: ModelStates, card: float) -> str:
    """What training keeps on one card, in GB, beside the memory of a card, in bytes."""
    caption = Words(
        "What training keeps of this model: {total:.0f} GB. What "
        "is right of the line does not fit on a card of {card:.0f} GB.",
        "训练这个模型时常驻的内容：共 {total:.0f} GB。竖线右边的部分，{card:.0f} GB 的卡装不下。",
    )
    alt = Words(
        "A bar of {parts} parts, {total:.0f} GB long. A line at {card:.0f} GB cuts it.",
        "一根由 {parts} 段组成的条，总长 {total:.0f} GB；{card:.0f} GB 处有一条竖线。",
    )
    sizes = {name: getattr(states, name) / GB for name in _STATES}
    facts = {"parts": len(sizes), "total": sum(sizes.values()), "card": card / GB}
    with canvas(11, 1.5) as wide, canvas(4, 2.3) as narrow:
        _bar(wide, sizes, card / GB, 10.5)
        _bar(narrow, sizes, card / GB, 9.5, slanted=True)
        return render(
            "home-memory",
            wide,
            caption,
            alt,
            facts,
            facts,
            data={"sizes": list(sizes.values())},
            narrow=narrow,
        )


def _bar(
    figure: Figure, sizes: Mapping[str, float], card: float, font: float, slanted: bool = False
) -> None:
    ax = figure.subplots()
    top, right = (0.5, 0.84) if slanted else (0.8, 0.98)  # slanted words need room above, beside
    figure.subplots_adjust(left=0.02, right=right, top=top, bottom=0.04)
    left = 0.0
    for name, size in sizes.items():
        _segment(ax, left, size, card)
        how = {"ha": "left", "rotation": 35} if slanted else {"ha": "center"}
        ax.text(left + size / 2, 0.6, say(_STATES[name]), va="bottom", fontsize=font, **how)
        left += size
    ax.vlines([card], -0.85, 0.5, color=INK, linewidth=2)
    ax.text(card - 1, -0.65, say(_HOLDS, gb=card), ha="right", va="top", fontsize=font)
    ax.text(left, -0.65, f"{left:.0f} GB", ha="right", va="top", fontsize=font)
    ax.set(xlim=(0, left), ylim=(-1.25, 0.5), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _segment(ax: Axes, left: float, size: float, card: float) -> None:
    """One state, and dark what of it lies beyond the card's memory."""
    fits = min(max(card - left, 0), size)
    parts = ((left, fits, FAINT), (left + fits, size - fits, INK))
    for start, width, colour in parts:
        ax.barh([0], [width], left=start, color=colour, height=1)
    ax.vlines([left], -0.5, 0.5, color=PAPER, linewidth=2)


_CAPTION = Words(
    "All-reduce in a ring of {p} cards. Each card's array is cut into {p} chunks; a colour is one "
    "card's share of the sum.",
    "{p} 张卡的环形 all-reduce。每张卡的数组切成 {p} 块；一种颜色代表一张卡的那一份。",
)
_ALT = Words(
    "{cards} cards in a ring at {moments} moments. A chunk holds {average} cards' shares on "
    "average; {finished} chunks on each card hold all of them.",
    "环上的 {cards} 张卡，{moments} 个时刻。每块平均含 {average} 张卡的份；每张卡上含齐各份的块数为"
    " {finished}。",
)
_BEGINS = Words("start: each card has its own gradient", "开始：每张卡只有自己的梯度")
_HALFWAY = Words("after {n} steps: each has one finished chunk", "{n} 步后：每张卡有一个完整的块")
_ENDS = Words("after {n} steps: each has the whole sum", "{n} 步后：每张卡都有完整的和")


def home_discs(log: CommLog) -> str:
    """A ring all-reduce at its start, between its halves, and at its end."""
    moments, size = holdings(log), log.size
    shown = {
        say(_BEGINS): moments[0],
        say(_HALFWAY, n=size - 1): moments[size - 1],
        say(_ENDS, n=log.steps): moments[log.steps],
    }
    counts = [[len(chunk) for row in moment for chunk in row] for moment in shown.values()]
    facts = {
        "cards": size,
        "moments": len(shown),
        "average": ", ".join(f"{sum(count) / len(count):g}" for count in counts),
        "finished": ", ".join(str(count.count(size) // size) for count in counts),
    }
    data = {f"shares-{i}": count for i, count in enumerate(counts)}
    with canvas(11, 3.45) as wide, canvas(4, 11.4) as narrow:
        _rings(wide, shown, 1, 10.5)
        _rings(narrow, shown, 3, 10.5)
        return render(
            "home-discs", wide, _CAPTION, _ALT, facts, {"p": size}, data=data, narrow=narrow
        )


def _rings(figure: Figure, shown: Mapping[str, Holding], rows: int, font: float) -> None:
    grid = figure.subplots(rows, len(shown) // rows)
    top = 0.88 if rows == 1 else 0.96
    figure.subplots_adjust(left=0.01, right=0.99, top=top, bottom=0.01, wspace=0.03, hspace=0.15)
    for ax, (title, moment) in zip(grid.flat, shown.items(), strict=True):
        draw_circle(ax, moment, font=font)
        ax.set_title(title, fontsize=font, pad=9)


def chapters(pages: "Sequence[Source]") -> str:
    """The pages that answer a question, as a table in Markdown; and about how long each takes."""
    asked = [page for page in pages if "question" in page.meta]
    rows = [
        f"| [{page.title}]({page.uri}) | {page.meta['question']} | {_minutes(page)} |"
        for page in asked
    ]
    total = sum(map(_minutes, asked)) / 60
    head, end = (words.fill(pages[0].language, hours=total) for words in (_HEAD, _IN_ALL))
    return "\n".join([head, "|---|---|--:|", *rows, end])


_HEAD = Words("| chapter | question | minutes |", "| 节 | 回答的问题 | 分钟 |")
_IN_ALL = Words("| | in all | {hours:.0f} hours |", "| | 合计 | {hours:.0f} 小时 |")
_A_SECTION = 4  # minutes: three paragraphs and a figure or table, thought about


def _minutes(page: "Source") -> int:
    """What the page says itself, or by its sections; in steps of five."""
    return page.meta.get("minutes", 5 * round(_A_SECTION * len(page.ids) / 5))
