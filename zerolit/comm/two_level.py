"""Two levels: fast links inside a node, slower ones between nodes.

The cards of a node reduce-scatter, so that each owns a share of the node's sum; cards that own the
same share sum it between the nodes; the cards of a node all-gather. Over the slow links each card
sends 2(k-1)/k of its share only, with k nodes. `timeline` prices it with several segments under
way at once, so that both kinds of links are busy.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from . import ring
from .chunks import ChunkList, parts
from .cut import sizes
from .rename import Renamed
from .ring import Chunks
from .swap import RankProgram, Swap, collective, tap


# --8<-- [start:all_reduce]
@collective("all_reduce", pieces=lambda size: size)
def all_reduce(rank: int, size: int, x: Chunks, cards: int = 8) -> RankProgram:
    """Sum inside each node of `cards` cards, between nodes, then spread it."""
    nodes = _nodes(size, cards)
    node, card = divmod(rank, cards)
    inside = range(node * cards, (node + 1) * cards)
    between = range(card, size, cards)  # the cards of this number
    shares = _Shares(x, nodes)
    scatter = ring.reduce_scatter(card, cards, shares)
    mine = yield from _among(inside, scatter, shares.chunks)
    share = range(mine * nodes, (mine + 1) * nodes).__getitem__
    across = ring.all_reduce(node, nodes, Renamed(x, share))
    yield from _among(between, across, share)
    gather = ring.all_gather(card, cards, shares)
    yield from _among(inside, gather, shares.chunks)


# --8<-- [end:all_reduce]


def _nodes(size: int, cards: int) -> int:
    """The number of nodes.

    Raises:
        ValueError: cards that do not divide the ranks.
    """
    if cards < 1 or size % cards:
        raise ValueError(f"{size} ranks were given for nodes of {cards} cards; cards must divide")
    return size // cards


class _Shares:
    """A rank's chunks `x` as fewer and longer ones: each share is `nodes` chunks in a row."""

    def __init__(self, x: Chunks, nodes: int):
        self.x, self.nodes = x, nodes

    def chunks(self, share: int) -> slice:
        """Which chunks a share is."""
        return slice(share * self.nodes, (share + 1) * self.nodes)

    def __getitem__(self, share: int) -> Any:
        return self.x[self.chunks(share)]

    def __setitem__(self, share: int, value: Any) -> None:
        self.x[self.chunks(share)] = value


def _among(
    ranks: Sequence[int], program: RankProgram, chunks: Callable[[int], int | slice]
) -> RankProgram:
    """Run a program that counts its ranks and chunks from 0, as if there were only `ranks`."""

    def readdress(swap: Swap) -> None:
        assert swap.to is not None and swap.frm is not None and isinstance(swap.chunk, int)
        swap.to, swap.frm, swap.chunk = ranks[swap.to], ranks[swap.frm], chunks(swap.chunk)

    return tap(program, readdress)


@dataclass(frozen=True)
class Levels:
    """`nodes` nodes of `cards` cards; each card has one link inside its node, one between nodes.

    Attributes:
        inside, between: bytes/s of a link, per direction. With `fractions.Fraction` times are
            exact.
        latency: seconds per message, on either.

    Raises:
        ValueError: less than one node or card, a bandwidth of 0 or less, a negative latency.
    """

    nodes: int
    cards: int
    inside: Any
    between: Any
    latency: Any = 0

    def __post_init__(self) -> None:
        for name in ("nodes", "cards"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("inside", "between"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be above 0 bytes/s")
        if not self.latency >= 0:
            raise ValueError(f"latency is {self.latency}; it must be 0 seconds or more")


@dataclass(frozen=True)
class Sending:
    """One message: it occupies its link from `start` to `end` and is there at `arrived`, seconds.

    Attributes:
        inside: whether it stays in its node.
    """

    segment: int
    source: int
    to: int
    nbytes: int
    inside: bool
    start: Any
    end: Any
    arrived: Any


def timeline(nbytes: int, levels: Levels, segments: int = 1) -> list[Sending]:
    """Every message of the two-level all-reduce, with its time, as the links allow.

    The array is cut into segments. Each is summed by a program of its own on every card; all start
    at once and share the links, where an earlier segment goes first. One segment takes
    2(g-1 + k-1)α + 2(g-1)/g · n/B_inside + 2(k-1)/k · n/g/B_between on k nodes of g cards; with
    many, only the larger of the two terms in n is left.

    Args:
        nbytes: the size of the whole array.
        levels: how many nodes and cards, and how their links are.
        segments: how many are under way at once.

    Raises:
        ValueError: less than one segment, or bytes that are negative or not whole.
    """
    if segments < 1:
        raise ValueError(f"segments is {segments}; it must be at least 1")
    return list(_Clock(levels).run(sizes(nbytes, segments)))


class _Bytes:
    """A chunk of which only the size is left."""

    def __init__(self, nbytes: int):
        self.nbytes = nbytes

    def __add__(self, other: "_Bytes") -> "_Bytes":
        return self


class _Clock:
    """Which message is on which link, and when each program can go on.

    In a ring each incoming link has one sender, so that a link is one resource: (rank, inside).
    """

    def __init__(self, levels: Levels):
        self.levels, self.size = levels, levels.nodes * levels.cards
        self.programs: dict[tuple[int, int], RankProgram] = {}  # by segment and rank
        self.waits_for: dict[tuple[int, int], int] = {}  # the rank whose message it still needs
        self.sent: set[tuple[int, int]] = set()  # whose message has left
        self.inbox: dict[tuple[int, int, int], deque] = defaultdict(deque)
        self.queue: dict[tuple[int, bool], list] = defaultdict(list)  # messages before each link
        self.busy: set[tuple[int, bool]] = set()
        self.events: list[tuple[Any, int, Sending, Any, bool]] = []
        self.count = 0

    def run(self, segments: Sequence[int]) -> Iterator[Sending]:
        """Let time pass until every program has ended."""
        for segment, nbytes in enumerate(segments):
            for rank in range(self.size):
                chunks = ChunkList(map(_Bytes, sizes(nbytes, self.size)))
                program = all_reduce(rank, self.size, chunks, self.levels.cards)
                self.programs[segment, rank] = program
                self._go_on((segment, rank), None)
        yield from self._start(0)
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                self._happen(*heapq.heappop(self.events)[2:])
            # Only now are all messages known that may start at this moment.
            yield from self._start(now)

    def _go_on(self, key: tuple[int, int], arrived: Any) -> None:
        """Hand the program what arrived and queue what it sends next."""
        try:
            swap: Any = self.programs[key].send(arrived)
        except StopIteration:
            return
        segment, rank = key
        to, self.waits_for[key] = swap.to, swap.frm
        inside = rank // self.levels.cards == to // self.levels.cards
        heapq.heappush(self.queue[rank, inside], (segment, to, self.count, swap.payload))
        self.count += 1

    def _start(self, now: Any) -> Iterator[Sending]:
        """Put the first message of each idle link's queue on it."""
        for (rank, inside), queue in self.queue.items():
            if not queue or (rank, inside) in self.busy:
                continue
            segment, to, _, payload = heapq.heappop(queue)
            nbytes = sum(part.nbytes for part in parts(payload))
            end = now + nbytes / (self.levels.inside if inside else self.levels.between)
            there = end + self.levels.latency
            sending = Sending(segment, rank, to, nbytes, inside, now, end, there)
            self.busy.add((rank, inside))
            for time, left in ((end, True), (there, False)):
                heapq.heappush(self.events, (time, self.count, sending, payload, left))
                self.count += 1
            yield sending

    def _happen(self, sending: Sending, payload: Any, left: bool) -> None:
        """A message has left its sender, or is at its receiver."""
        key = (sending.segment, sending.source if left else sending.to)
        if left:
            self.busy.discard((sending.source, sending.inside))
            self.sent.add(key)
        else:
            self.inbox[(*key, sending.source)].append(payload)
        box = self.inbox[(*key, self.waits_for[key])]
        if key in self.sent and box:
            self.sent.discard(key)
            self._go_on(key, box.popleft())
