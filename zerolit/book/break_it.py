"""R.5: sixteen bugs, what the loss shows of each, and which check tells it."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from zerolit.breaks import BUGS, CHECKS, STEPS, observe, seen_at, told_by

from .figure import FAINT, INK, canvas, render
from .losses import NAMES, OPTIMIZERS, draw_losses
from .runs import LOSS
from .table import Column, Table
from .words import LOSS as LOSS_WORD
from .words import TRAINING_STEP, Word, Words, say

_SHORT = {
    "proof": ("ring", "环"),
    "first step": ("SGD step", "SGD 一步"),
    "ranks": ("ranks", "各 rank"),
    "stored": ("stored", "存储量"),
    "sent": ("sent", "发送量"),
}


def unseen(optimizer: str) -> list[str]:
    """The bugs that no loss shows with this optimizer."""
    return [name for name in BUGS if seen_at(name, optimizer) is None]


def only_told_by(check: str) -> list[str]:
    """The bugs that one check tells and no other."""
    return [name for name in BUGS if told_by(name) == [check]]


def bugs_table() -> Table:
    """Every bug: what it does, where it was reported, and what tells it."""
    caption = Words(
        "Under AdamW and SGD: the first of {steps} steps whose loss is off by 2%; a dash: none is.",
        "AdamW 与 SGD 两列：{steps} 步中损失第一次偏离 2% 的那一步；横线表示始终没有。",
    )
    columns = [
        Column("name", "link", "name", "名字"),
        Column("does", "sentence", "what it does", "做错了什么"),
        Column("adamw", "d", "AdamW", "AdamW"),
        Column("sgd", "d", "SGD", "SGD"),
        Column("told", "s", "told by", "由谁发现"),
    ]
    rows = []
    for name, bug in BUGS.items():
        seen = (seen_at(name, optimizer) for optimizer in OPTIMIZERS)
        rows.append(((name, bug.address), Word(name, *bug.titles), *seen, _told(name)))
    return Table("break-bugs", caption, columns, rows, {"steps": STEPS})


def _told(name: str) -> Word:
    """The checks that tell a bug, as short as can be."""
    pairs = [_SHORT[check] for check in told_by(name)]
    return Word(
        " ".join(told_by(name)), ", ".join(en for en, _ in pairs), "、".join(zh for _, zh in pairs)
    )


def checks_table() -> Table:
    """How many bugs each check tells, and how many it alone."""
    caption = Words(
        "How many of the {n} bugs each check tells.", "每种检查能发现 {n} 个 bug 中的几个。"
    )
    columns = [
        Column("check", "s", "check", "检查"),
        Column("tells", "d", "tells", "能发现"),
        Column("alone", "d", "and no other check does", "其中只有它能发现"),
    ]
    rows: list[tuple[Word, int, int | None]] = []
    for check in CHECKS:
        tells = sum(check in told_by(name) for name in BUGS)
        rows.append((Word(check, *CHECKS[check]), tells, len(only_told_by(check))))
    for optimizer, name in NAMES.items():
        word = Word(f"loss {optimizer}", f"the loss, {name}", f"损失曲线，{name}")
        rows.append((word, len(BUGS) - len(unseen(optimizer)), None))
    return Table("break-checks", caption, columns, rows, {"n": len(BUGS)})


def curves() -> str:
    """The loss of every bug, with AdamW and with SGD, beside that of the right code."""
    caption = Words(
        "The loss of {n} bugs over {steps} steps. Grey: the right code.",
        "{n} 个 bug 在 {steps} 步里的损失。灰线：正确的代码。",
    )
    alt = Words(
        "{n} panels with two pairs of curves each. With AdamW {adamw} bugs stay on the right "
        "code's curve, with SGD {sgd}.",
        "{n} 幅小图，每幅两对曲线。与正确曲线重合的：AdamW {adamw} 个，SGD {sgd} 个。",
    )
    facts = {"n": len(BUGS), "steps": STEPS}
    facts |= {optimizer: len(unseen(optimizer)) for optimizer in OPTIMIZERS}
    lines = {
        f"{name}-{way}-{which}": LOSS
        for name in BUGS
        for way in OPTIMIZERS
        for which in ("right", "wrong")
    }
    with canvas(11, 8.6) as wide, canvas(4, 13.5) as narrow:
        _draw(wide, 4)
        _draw(narrow, 2)
        return render("break-curves", wide, caption, alt, facts, facts, lines, narrow=narrow)


def _draw(figure: Figure, columns: int) -> None:
    rows = len(BUGS) // columns
    panels = figure.subplots(rows, columns, sharex=True, sharey=True)
    wide = columns == 4
    figure.subplots_adjust(
        left=0.06 if wide else 0.12,
        right=0.985,
        bottom=0.1 if wide else 0.085,
        top=0.97,
        wspace=0.08,
        hspace=0.3,
    )
    for axes, name in zip(panels.flat, BUGS, strict=True):
        draw_losses(axes, name)
        axes.set_title(name, fontsize=10.5 if wide else 9.5, pad=3)
    for axes in panels[-1]:
        axes.set_xlabel(say(TRAINING_STEP))
    for axes in panels[:, 0]:
        axes.set_ylabel(say(LOSS_WORD))
    _key(figure, 0.02 if wide else 0.012)


def _key(figure: Figure, y: float) -> None:
    """What the lines mean, below the panels."""
    left, width = 0.06, 0.36 / figure.get_figwidth()
    named = {name: OPTIMIZERS[optimizer] for optimizer, name in NAMES.items()}
    for name, (colour, line) in {**named, say(Words("right", "正确")): (FAINT, "-")}.items():
        figure.add_artist(Line2D([left, left + width], [y, y], color=colour, ls=line))
        figure.text(left + 1.2 * width, y, name, va="center", color=INK, fontsize=10)
        left += 3.3 * width


def break_table(name: str, language: str) -> Table:
    """For a terminal: the losses with and without one bug."""
    caption = Words("{name}: {title}", "{name}：{title}")
    columns = [Column("step", "d", *TRAINING_STEP)]
    runs = []
    for optimizer, shown in NAMES.items():
        for wrong, words in ((False, Words("right", "正确")), (True, Words("wrong", "有 bug"))):
            key = f"{optimizer} {words.en}"
            head = (f"{shown}, {words.en}", f"{shown}，{words.zh}")
            columns.append(Column(key, ".3f", *head, tolerance=LOSS))
            runs.append(observe(name, optimizer, wrong).losses)
    steps = sorted({1, 2, 3, 5, 10, STEPS // 2, STEPS})
    rows = [(step, *(run[step - 1] for run in runs)) for step in steps]
    facts = {"name": name, "title": BUGS[name].title(language)}
    return Table("break-one", caption, columns, rows, facts)
