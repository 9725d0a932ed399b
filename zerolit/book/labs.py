"""The labs: what the judge says of a solution, and what a reader's program moves."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from matplotlib.figure import Figure

from zerolit.comm import CommError, CommLog, Message, Swap
from zerolit.comm.chunks import ChunkList, Symbol, copied
from zerolit.comm.lockstep import Transport, lock_step
from zerolit.comm.log import chunks_of
from zerolit.exercises import Verdict, check, spoken
from zerolit.press import current, result
from zerolit.press.page import open_page

from .figure import SERIES, canvas, render
from .holding import Holding
from .panels import draw_steps
from .words import Words


def judged(name: str, solution: Callable, engine: str = "simulated") -> str:
    """The verdict on an exercise's solution, as a quotation in the page's language."""
    verdict = check(name, solution, engine)
    result(f"{name}.verdict" if engine == "simulated" else f"{name}.{engine}", verdict.kind)
    return told(verdict)


def told(verdict: Verdict) -> str:
    """A verdict as a quotation in the page's language."""
    return f"> {verdict.sentence(current().language)}"


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


_CAPTION = Words(
    "What each card holds after each step of {name}. Rows are cards, columns are chunks; a stripe "
    "is a card's share, outlined is what has just been sent there.",
    "{name} 每一步之后各卡的内容。行是卡，列是块；竖条是某张卡的一份，粗框是刚送到的块。",
)
_ALT = Words(
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
    if not current().uri:  # in a notebook
        open_page("", spoken())
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
        return Drawing(render(name, wide, _CAPTION, _ALT, facts, shown, data=data, narrow=narrow))


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
