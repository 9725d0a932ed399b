"""Prove a collective for a given number of ranks: run it on who contributed, not on numbers.

A chunk becomes the ranks whose share is in it, each once or more. A sum that holds a rank twice, or
a finished array that lacks one, shows whatever the numbers are. (Values that carry their
provenance: srush/LLM-Training-Puzzles. Here a rank may be in twice, so that counting twice fails.)
Whether a program is right is decided by what its ranks hold at the end; where it first went wrong,
by what was noted on the way.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from .chunks import Block, parts
from .lockstep import Transport, lock_step
from .shares import MACHINERY, MIXED, Rules, Share, Shares, Value, bits, mint, put, told
from .stuck import Half
from .swap import CommError, ProofError, ProtocolError, Swap, unbind
from .verdict import Proof, Verdict


def prove(program: Callable, size: int, budget: int | None = None, **options: Any) -> Proof:
    """Show that `program` does what it promises on `size` ranks, whatever the numbers are.

    Args:
        program: a rank program marked by `collective`.
        size: the number of ranks.
        budget: how many messages it may send in all; by default 2·p²·(chunks + 8), several times
            what it takes to send every chunk from every rank to every other.
        options: passed on to the program.

    Raises:
        ProofError: the program breaks a rule or misses its goal; `verdict` says what is wrong and
            where, as data.
        ValueError: a size below 1.
    """
    verdict = examine(program, size, budget, **options)
    if verdict.proof is None:
        raise ProofError(verdict)
    return verdict.proof


def examine(program: Any, size: int, budget: int | None = None, **options: Any) -> Verdict:
    """The same as data: the verdict on `program`, right or wrong, never an error of its own.

    Code that computes for ever cannot be stopped from inside; `judge` can.

    Raises:
        ValueError: a size below 1.
    """
    if size < 1:
        raise ValueError(f"a proof for {size} ranks was asked for; size must be at least 1")
    marked, options = unbind(program, options)
    return flaw(marked, size, options) or Watch(marked, size, options, budget).run()


def flaw(program: Any, size: int, options: dict[str, Any]) -> Verdict | None:
    """What is wrong before anything runs."""
    if not callable(program) or not hasattr(program, "goal"):
        return Verdict("unmarked", size, what={"got": told(program)})
    try:
        inspect.signature(program, follow_wrapped=False).bind(0, size, None, **options)
    except TypeError as error:
        return Verdict("signature", size, what={"error": str(error)})
    try:
        pieces: Any = program.pieces(size)
    except Exception as error:
        pieces = error
    if type(pieces) is not int or pieces < 1:
        return Verdict("pieces", size, what={"got": told(pieces)})
    return None


class Hop(NamedTuple):
    """One chunk on its way: who is in it, and where the receiver's program stood."""

    step: int
    source: int
    destination: int
    chunk: int
    ranks: int
    twice: int
    stand: Any


class Event(NamedTuple):
    """Something that no plain collective does; what it did to the outcome shows at the end."""

    step: int
    order: int  # of events in one step
    kind: str
    rank: int
    hop: tuple[int, int] | None
    chunk: int  # where it was put
    ranks: int
    stand: Any
    brought: int = MIXED  # which chunk the hop brought


EARLY, STORED, DROPPED = 0, 1, 2  # in this order things go wrong in a step


class Watch(Transport, Rules):
    """The ranks, every hop between them, and what each rank has made of it."""

    def __init__(self, program: Any, size: int, options: dict[str, Any], budget: int | None):
        pieces = program.pieces(size)
        super().__init__(size, pieces)
        self.program, self.options, self.goal = program, options, program.goal
        self.budget = 2 * size * size * (pieces + 8) if budget is None else budget
        self.start = self._start()
        self.states = [Shares(self, rank, values) for rank, values in enumerate(self.start)]
        self.guests: list[Guest] = []
        self.hops: list[Hop] = []
        self.messages = 0
        self.used: set[int] = set()  # deliveries, as places in `hops`
        self.events: list[Event] = []
        self.sent = [0] * size
        self.stores: list[tuple] = []  # (step, rank, chunk, what it holds now)
        self.had = [[value[1] & ~self.nobody for value in row] for row in self.start]
        self.latest: list[Hop | None] = [None] * size  # what arrived last, by rank
        self.uneven: Verdict | None = None

    # What ranks hold at the start, and must hold at the end

    @property
    def nobody(self) -> int:
        """The bit of what is in a chunk that a rank does not have at the start."""
        return 1 << self.size

    def _start(self) -> list[list[Value]]:
        holders = [self._holds(rank) for rank in range(self.size)]
        for chunk in range(self.pieces):
            ranks = [rank for rank, held in enumerate(holders) if chunk in held]
            if self.goal == "all_gather" and len(ranks) != 1:
                what = {"ranks": ranks}
                self.broken = self.broken or Verdict("start", self.size, chunk=chunk, what=what)
        return [
            [(chunk, 1 << (rank if chunk in held else self.size), 0, ()) for chunk in self.all()]
            for rank, held in enumerate(holders)
        ]

    def all(self) -> range:
        """All chunks."""
        return range(self.pieces)

    def _holds(self, rank: int) -> Iterable[int]:
        """The chunks with which a rank begins."""
        if self.goal == "all_gather":
            held = self.program.holds(rank, self.size, **self.options)
            return [held] if isinstance(held, int) else list(held)
        if self.goal == "broadcast" and rank != self.program.root:
            return []
        return self.all()

    def wanted(self, chunk: int) -> int:
        """Who must be in a finished chunk."""
        if self.goal in ("all_gather", "broadcast"):
            held = (values[chunk][1] for values in self.start)
            return next(ranks for ranks in held if ranks != self.nobody)
        return (1 << self.size) - 1

    def promised(self, returned: Sequence[Any]) -> list[tuple[int, int]]:
        """Which chunks must be finished, on which rank."""
        if self.goal == "reduce_scatter":
            return [(rank, chunk) for rank, own in enumerate(returned) for chunk in own]
        ranks = [self.program.root] if self.goal == "reduce" else range(self.size)
        return [(rank, chunk) for rank in ranks for chunk in self.all()]

    def finished(self, rank: int, chunk: int) -> bool:
        """Whether a rank holds all of a chunk, and each share once."""
        which, ranks, twice, _ = self.value(rank, chunk)
        return which == chunk and ranks == self.wanted(chunk) and not twice

    def value(self, rank: int, chunk: int) -> Value:
        """What a rank holds of a chunk now."""
        return self.states[rank]._cells[chunk]._value

    def content(self, rank: int) -> bool:
        own = [self.finished(rank, chunk) for chunk in self.all()]
        if self.goal == "reduce_scatter":
            return sum(own) * self.size >= self.pieces
        return all(own) or (self.goal == "reduce" and rank != self.program.root)

    def needless(self, half: Half) -> bool:
        if not half.sends:
            return self.content(half.rank)
        payload = self.guests[half.rank].swap.payload
        return all(
            not part._value[1] & ~self.had[half.peer][part._value[0]]
            for part in parts(payload)
            if part._value[0] != MIXED
        )

    # The run

    def run(self) -> Verdict:
        """Run all ranks to their end; say what came of it."""
        if self.broken:
            return self.broken
        try:
            self._call()
            returned = lock_step(self.guests, self)  # type: ignore[arg-type]
        except ProtocolError as error:
            return self._protocol(error.verdict)  # type: ignore[arg-type]
        except CommError as error:
            return error.verdict  # type: ignore[return-value]
        if self.goal == "reduce_scatter":
            returned = [self._owned(rank, value) for rank, value in enumerate(returned)]
            if any(isinstance(own, Verdict) for own in returned):
                return next(own for own in returned if isinstance(own, Verdict))
            if twice := self._owners(returned):
                return twice
        misses = [p for p in self.promised(returned) if not self.finished(*p)]
        return self._miss(misses) if misses else self._reached()

    def _call(self) -> None:
        for rank in range(self.size):
            self.running = rank
            try:
                generator = self.program(rank, self.size, self.states[rank], **self.options)
            except Exception as error:
                raise self.failed(rank, error) from error
            if not inspect.isgenerator(generator):
                self.refuse_program("no_generator", got=told(generator))
            self.guests.append(Guest(self, rank, generator))

    def refuse_program(self, kind: str, **what: Any) -> None:
        raise ProofError(Verdict(kind, self.size, what=what))

    def failed(self, rank: int, error: BaseException) -> ProofError:
        """What to raise for an error of the program's own, or for a rule that it has broken."""
        if self.broken:
            return ProofError(self.broken)
        if isinstance(error, ProofError) and error.verdict:  # a share made by hand
            return ProofError(replace(error.verdict, size=self.size, rank=rank, step=self.step))
        what = {"error": told_error(error)}
        line = line_of(error)
        return ProofError(Verdict("exception", self.size, rank, self.step, what=what, line=line))

    def carry(self, step: int, source: int, swap: Swap) -> Any:
        self.step = step
        self.messages += 1
        if self.messages > self.budget:
            what = {"steps": step, "budget": self.budget}
            raise ProofError(Verdict("budget", self.size, what=what))
        payload, to = swap.payload, swap.to
        if type(payload) is Share:
            return self._deliver(step, source, to, payload)  # type: ignore[arg-type]
        return Block(self._deliver(step, source, to, part) for part in payload)  # type: ignore[arg-type]

    def _deliver(self, step: int, source: int, to: int, share: Share) -> Share:
        chunk, ranks, twice, came = share._value
        hop = Hop(step, source, to, chunk, ranks, twice, self.guests[to].stand)
        self.sent[source] += 1
        if came:
            self.used.update(came)
        if chunk != MIXED and (lacking := self.had[source][chunk] & ~ranks):
            stand = self.guests[source].stand
            event = Event(step, EARLY, "early", source, (source, to), chunk, lacking, stand)
            self.events.append(event)
        self.hops.append(hop)
        self.latest[to] = hop
        return mint(self.loose[to], (chunk, ranks, twice, (len(self.hops) - 1,)))

    def received(self, rank: int, share: Share, like: Share) -> None:
        """Note that a rank has been handed a share."""
        chunk, ranks, _, _ = share._value
        if chunk == MIXED:
            return
        self.had[rank][chunk] |= ranks & ~self.nobody
        if like._value[0] not in (chunk, MIXED) and not self.uneven:
            hop = self.latest[rank]
            assert hop is not None
            what = {"like": like._value[0]}
            self.uneven = Verdict(
                "uneven", self.size, rank, hop.step, (hop.source, rank), chunk, what
            )

    def settle(self, guest: "Guest") -> None:
        """Look at what a rank has written before it yields or ends."""
        cells, rank = self.states[guest.rank]._cells, guest.rank
        for index, before in self.touched.items():
            chunk, ranks, twice, came = cells[index]._value
            self.stores.append((self.step, rank, index, chunk, ranks, twice))
            if chunk != index:
                self._note("mixed", guest, index, 0, came)
            elif new := twice & ~before[2]:
                self._note("twice", guest, index, new, came)
            elif ranks & self.nobody and ranks != self.nobody:
                self._note("junk", guest, index, self.nobody, came)
            elif lost := before[1] & ~ranks & ~self.nobody:
                self._note("lost", guest, index, lost, came)
            if came:
                self.used.update(came)
                put(cells[index], (chunk, ranks, twice, ()))
        self.touched.clear()

    def _note(
        self, kind: str, guest: "Guest", chunk: int, ranks: int, came: tuple[int, ...]
    ) -> None:
        """Note what a rank has made of the latest of the arrivals in a chunk, or of none."""
        step, ends, brought = self.step, None, MIXED
        if came:
            step, source, destination, brought = self.hops[came[-1]][:4]
            ends = (source, destination)
        event = Event(step, STORED, kind, guest.rank, ends, chunk, ranks, guest.stand, brought)
        self.events.append(event)

    # The outcome

    def _protocol(self, verdict: Verdict) -> Verdict:
        """Ranks that do not fit, unless a wrong sum came first."""
        spoilt = [e for e in self.events if e.kind in ("mixed", "twice", "junk")]
        first = min(spoilt, default=None, key=lambda e: e[:2])
        if first and first.step < (verdict.step or 0):
            return self._told(first)
        for earlier in (self._untaken(verdict), self._poor(verdict)):
            if earlier and earlier.step < verdict.step:  # type: ignore[operator]
                return earlier
        if verdict.rank is None:
            return verdict
        return replace(verdict, line=_line(self.guests[verdict.rank].stand))

    def _poor(self, verdict: Verdict) -> Verdict | None:
        """The last message from the rank that is to blame to one that ended with too little."""
        wanted = {peer for _, wants in verdict.what.get("wants", ()) for _, peer, *_ in wants}
        last = {
            (hop.destination, hop.chunk): hop
            for hop in self.hops
            if hop.source == verdict.rank
            and hop.destination not in wanted
            and self.guests[hop.destination].ended is not None
            and not self.content(hop.destination)
        }
        if not last:
            return None
        hop = min(last.values(), key=lambda hop: hop.step)
        missing = self.wanted(hop.chunk) & ~self.value(hop.destination, hop.chunk)[1]
        what, line = {"ranks": bits(missing), "last": hop.destination}, _line(hop.stand)
        return Verdict(
            "poor", self.size, hop.source, hop.step, hop[1:3], hop.chunk, what, line
        )

    def _untaken(self, verdict: Verdict) -> Verdict | None:
        """A message that left while its sender could have had more: it was offered, never taken."""
        offers = [
            (rank, peer, step, part._value)
            for rank, wants in verdict.what.get("wants", ())
            for sends, peer, _, step in wants
            if sends
            for part in parts(self.guests[rank].swap.payload)
        ]
        early = [
            (hop, offer[0], offer[3][1])
            for offer in offers
            for hop in self.hops
            if hop[1] == offer[1] and hop.chunk == offer[3][0] and hop.step >= offer[2]
            if offer[3][1] & ~hop.ranks and hop.destination != offer[0]
        ]
        if not early:
            return None
        hop, source, ranks = min(early, key=lambda found: found[0].step)
        what = {"ranks": bits(ranks & ~hop.ranks & ~self.nobody), "other": source}
        step, rank, line = hop.step, hop.source, _line(self.guests[hop.source].stand)
        return Verdict("untaken", self.size, rank, step, hop[1:3], hop.chunk, what, line)

    def _owned(self, rank: int, value: Any) -> list[int] | Verdict:
        """The chunks that a reduce-scatter returns, as a list."""
        own = [value] if isinstance(value, int) else value
        fits = isinstance(own, list | tuple | range)
        if not fits or not all(type(c) is int and 0 <= c < self.pieces for c in own):
            what = {"got": told(value), "last": self.pieces - 1}
            return Verdict("returned", self.size, rank, self.step, what=what)
        return list(own)

    def _owners(self, returned: Sequence[Sequence[int]]) -> Verdict | None:
        for chunk in self.all():
            ranks = [rank for rank, own in enumerate(returned) if chunk in own]
            if len(ranks) != 1:
                return Verdict("owners", self.size, chunk=chunk, what={"ranks": ranks})
        return None

    def _miss(self, misses: Sequence[tuple[int, int]]) -> Verdict:
        """The first thing that went wrong and matters for what is missing at the end."""
        events = [*self.events, *self._dropped()]
        lacking, double, mixed = self._lacking(misses)
        relevant = [
            event
            for event in events
            if (event.kind == "mixed" and (event.chunk in mixed or event.brought in lacking))
            or (event.kind in ("twice", "junk") and event.ranks & double.get(event.chunk, 0))
            or (event.order != STORED and event.ranks & lacking.get(event.chunk, 0))
            or (event.kind == "lost" and event.ranks & lacking.get(event.chunk, 0))
        ]
        if relevant:
            first = min(relevant, key=lambda event: event[:2])
            if first.kind in ("early", "lost", "dropped"):
                first = first._replace(ranks=first.ranks & lacking[first.chunk])
            return self._told(first)
        return self._never(*misses[0])

    def _dropped(self) -> list[Event]:
        """Deliveries that were neither stored nor sent on, alone or in a sum."""
        return [
            Event(h.step, DROPPED, "dropped", h.destination, h[1:3], h.chunk, h.ranks, h.stand)
            for number, h in enumerate(self.hops)
            if number not in self.used
        ]

    def _lacking(self, misses: Sequence[tuple[int, int]]) -> tuple[dict, dict, set]:
        """By chunk, which ranks are missing at the end, which are in it wrongly; what is mixed."""
        lacking: dict[int, int] = {}
        double: dict[int, int] = {}
        mixed: set[int] = set()
        for rank, chunk in misses:
            which, ranks, twice, _ = self.value(rank, chunk)
            if which != chunk:
                mixed.add(chunk)
            if missing := self.wanted(chunk) & ~ranks:
                lacking[chunk] = lacking.get(chunk, 0) | missing
            double[chunk] = double.get(chunk, 0) | twice | (ranks & self.nobody)
        return lacking, double, mixed

    def _told(self, event: Event) -> Verdict:
        what = {"ranks": bits(event.ranks & ~self.nobody)}
        step, rank, chunk, line = event.step, event.rank, event.chunk, _line(event.stand)
        return Verdict(event.kind, self.size, rank, step, event.hop, chunk, what, line)

    def _never(self, rank: int, chunk: int) -> Verdict:
        """A rank that ends before it has all, though it did nothing wrong with what came."""
        missing = self.wanted(chunk) & ~self.value(rank, chunk)[1]
        around = [(rank - back) % self.size for back in range(1, self.size)]
        holders = [r for r in around if self.value(r, chunk)[1] & missing == missing]
        partly = [r for r in around if self.value(r, chunk)[1] & missing]
        source = next(iter(holders + partly), None)
        hop = None if source is None else (source, rank)
        what = {"ranks": bits(missing & ~self.nobody), "last": self.guests[rank].ended}
        return Verdict("never", self.size, rank, self.step + 1, hop, chunk, what)

    def _reached(self) -> Verdict:
        sent = tuple(Fraction(chunks, self.pieces) for chunks in self.sent)
        least = Fraction((2 if self.goal == "all_reduce" else 1) * (self.size - 1))
        if sum(sent) < least:  # no two shares can meet without a message
            what = {"sent": str(sum(sent)), "least": str(least)}
            return Verdict("below", self.size, what=what)
        if self.uneven:
            return self.uneven
        bound = least / self.size if self.goal not in ("broadcast", "reduce") else min(least, 1)
        proof = Proof(self.goal, self.size, self.step, sent, Fraction(bound))
        return Verdict("right", self.size, proof=proof)


class Guest:
    """One rank's program, watched at every yield; to the lock step it looks like a generator."""

    def __init__(self, watch: Watch, rank: int, generator: Any):
        self.watch, self.rank, self.generator = watch, rank, generator
        self.file = generator.gi_code.co_filename
        self.swap: Any = None
        self.stand: Any = None
        self.ended: int | None = None  # the last step that it took part in

    def send(self, arrived: Any) -> Swap:
        """Let the program compute until its next swap, and check that."""
        watch = self.watch
        watch.running = self.rank
        if arrived is not None:
            self._receive(arrived)
        try:
            swap = self.generator.send(arrived)
        except StopIteration:
            self._leave()
            self.ended = watch.step
            raise
        except (Exception, SystemExit) as error:
            raise watch.failed(self.rank, error) from error
        self._leave()
        self.stand = self._where()
        self._check(swap)
        self.swap = swap
        return swap

    def _receive(self, arrived: Any) -> None:
        like = self.swap.like
        if type(arrived) is Share:
            self.watch.received(self.rank, arrived, like)
            return
        for part, mine in zip(arrived, like, strict=True):
            self.watch.received(self.rank, part, mine)

    def _leave(self) -> None:
        watch = self.watch
        if watch.broken:  # and the program has caught it
            raise ProofError(watch.broken)
        if watch.touched:
            watch.settle(self)

    def _where(self) -> Any:
        """The code and the place in it at which the program stands: its own, not a helper's."""
        generator, stand = self.generator, None
        while generator is not None and (frame := getattr(generator, "gi_frame", None)):
            if frame.f_code.co_filename not in MACHINERY:
                stand = (frame.f_code, frame.f_lasti)
            generator = generator.gi_yieldfrom
        return stand

    def _check(self, swap: Any) -> None:
        """Refuse a swap that is none, or whose messages are none."""
        if not isinstance(swap, Swap):
            self._refuse("no_swap", got=told(swap))
        if swap.to is not None:
            self._check_message("payload", swap.payload)
        if swap.frm is not None:
            self._check_message("like", swap.like)

    def _check_message(self, kind: str, message: Any) -> None:
        if type(message) is Share:
            if wrong := self.watch.stranger(message):
                self._refuse(wrong[0], **wrong[1])
            return
        shares = isinstance(message, Block) and all(type(part) is Share for part in message)
        if not shares or not message:
            self._refuse(kind, got=told(message))
        for part in message:
            self._check_message(kind, part)
        chunks = [_which(part) for part in message]
        if MIXED not in chunks and chunks != list(range(chunks[0], chunks[0] + len(chunks))):
            self._refuse(kind, got=f"chunks {', '.join(map(str, chunks))}")

    def _refuse(self, kind: str, **what: Any) -> NoReturn:
        step, line = self.watch.step + 1, _line(self.stand)
        raise ProofError(Verdict(kind, self.watch.size, self.rank, step, what=what, line=line))


def _which(share: Share) -> int:
    """The chunk of x that a share is, or else the one that it holds."""
    index = share._place.index
    return share._value[0] if index is None else index


def told_error(error: BaseException) -> str:
    """An error in one line."""
    words = f"{type(error).__name__}: {error}".removesuffix(": ").split("\n")[0]
    return words if len(words) <= 200 else words[:199] + "…"


def _line(stand: Any) -> int | None:
    """The source line of an instruction."""
    if stand is None:
        return None
    code, at = stand
    return next((line for start, end, line in code.co_lines() if start <= at < end), None)


def line_of(error: BaseException) -> int | None:
    """The line of the program at which an error arose."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename not in MACHINERY:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
