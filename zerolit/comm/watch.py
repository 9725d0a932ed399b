"""The ranks under the prover's eyes: every hop between them, and what each rank makes of it."""

import inspect
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

from .causes import EARLY, STORED, Event, Hop, missed, unfit
from .chunks import Block, parts
from .lockstep import Transport, lock_step
from .shares import MIXED, Rules, Share, Shares, Value, line_at, mint, put, told
from .stuck import Half
from .swap import CommError, ProofError, ProtocolError, Swap
from .verdict import Proof, Verdict


class Watch(Transport, Rules):
    """The ranks, every hop between them, and what each rank has made of it."""

    def __init__(self, program: Any, size: int, options: dict[str, Any], budget: int | None):
        pieces = program.pieces(size)
        super().__init__(size, pieces, file_of(program))
        self.program, self.options, self.goal = program, options, program.goal
        self.budget = 2 * size * size * (pieces + 8) if budget is None else budget
        self.start = self._start()
        self.states = [Shares(self, rank, values) for rank, values in enumerate(self.start)]
        self.guests: list[Guest] = []
        self.moved: list[tuple] = []  # every hop; plain, as named tuples stay with the collector
        self.messages = 0
        self.used: set[int] = set()  # deliveries, as places in `moved`
        self.events: list[Event] = []
        self.sent = [0] * size
        self.stores: list[tuple] = []  # (step, rank, chunk, what it holds now)
        self.had = [[value[1] & ~self.nobody for value in row] for row in self.start]
        self.latest = [0] * size  # from whom a message arrived last, by rank
        self.uneven: Verdict | None = None

    # What ranks hold at the start, and must hold at the end

    @property
    def nobody(self) -> int:
        """The bit of what is in a chunk that a rank does not have at the start."""
        return 1 << self.size

    def _start(self) -> list[list[Value]]:
        return [
            [(chunk, 1 << (rank if chunk in held else self.size), 0, ()) for chunk in self.all()]
            for rank, held in enumerate(map(self._holds, range(self.size)))
        ]

    def all(self) -> range:
        """All chunks."""
        return range(self.pieces)

    def _holds(self, rank: int) -> Iterable[int]:
        """The chunks with which a rank begins."""
        if self.goal == "all_gather":
            return holds(self.program, rank, self.size, self.options)
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

    @property
    def hops(self) -> list[Hop]:
        """Every chunk that was sent, in the order in which they moved."""
        return list(map(Hop._make, self.moved))

    # The run

    def run(self) -> Verdict:
        """Run all ranks to their end; say what came of it."""
        try:
            self._call()
            returned = lock_step(self.guests, self)  # type: ignore[arg-type]
        except ProtocolError as error:
            return unfit(self, error.verdict)  # type: ignore[arg-type]
        except CommError as error:
            return error.verdict  # type: ignore[return-value]
        if self.goal == "reduce_scatter":
            returned = [self._owned(rank, value) for rank, value in enumerate(returned)]
            if any(isinstance(own, Verdict) for own in returned):
                return next(own for own in returned if isinstance(own, Verdict))
            if twice := self._owners(returned):
                return twice
        misses = [p for p in self.promised(returned) if not self.finished(*p)]
        return missed(self, misses) if misses else self._reached()

    def _call(self) -> None:
        for rank in range(self.size):
            self.running = rank
            try:
                generator = self.program(rank, self.size, self.states[rank], **self.options)
            except (Exception, SystemExit) as error:
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
        if isinstance(error, ProofError) and error.verdict and error.verdict.kind == "forged":
            verdict = Verdict("forged", self.size, rank, self.step)
            return ProofError(replace(verdict, line=line_of(error, self.file)))
        what, line = {"error": told_error(error)}, line_of(error, self.file)
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
        self.sent[source] += 1
        if came:
            self.used.update(came)
        if chunk != MIXED and (lacking := self.had[source][chunk] & ~ranks):
            stand = self.guests[source].stand
            event = Event(step, EARLY, "early", source, (source, to), chunk, lacking, stand)
            self.events.append(event)
        number = len(self.moved)
        self.moved.append((step, source, to, chunk, ranks, twice, self.guests[to].stand))
        self.latest[to] = source
        return mint(self.loose[to], (chunk, ranks, twice, (number,)))

    def received(self, rank: int, share: Share, like: Share) -> None:
        """Note that a rank has been handed a share."""
        chunk, ranks, _, _ = share._value
        if chunk == MIXED:
            return
        self.had[rank][chunk] |= ranks & ~self.nobody
        if like._value[0] not in (chunk, MIXED) and not self.uneven:
            hop, what = (self.latest[rank], rank), {"like": like._value[0]}
            self.uneven = Verdict("uneven", self.size, rank, self.step, hop, chunk, what)

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
            step, source, destination, brought = self.moved[came[-1]][:4]
            ends = (source, destination)
        event = Event(step, STORED, kind, guest.rank, ends, chunk, ranks, guest.stand, brought)
        self.events.append(event)

    # The outcome

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

    def _reached(self) -> Verdict:
        sent = tuple(Fraction(chunks, self.pieces) for chunks in self.sent)
        least = Fraction((2 if self.goal == "all_reduce" else 1) * (self.size - 1))
        if sum(sent) < least:  # no two shares can meet without a message
            what = {"sent": str(sum(sent)), "least": str(least)}
            return Verdict("below", self.size, what=what)
        if self.uneven:
            return self.uneven
        root_sends_all = self.goal in ("broadcast", "reduce") and self.size > 1
        bound = Fraction(1) if root_sends_all else least / self.size
        proof = Proof(self.goal, self.size, self.step, sent, bound)
        return Verdict("right", self.size, proof=proof)


class Guest:
    """One rank's program, watched at every yield; to the lock step it looks like a generator."""

    def __init__(self, watch: Watch, rank: int, generator: Any):
        self.watch, self.rank, self.generator = watch, rank, generator
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
        """The code and the place in it at which the program stands, in its own file."""
        generator, stand, file = self.generator, None, self.watch.file
        while generator is not None and (frame := getattr(generator, "gi_frame", None)):
            if frame.f_code.co_filename == file:
                stand = (frame.f_code, frame.f_lasti)
            generator = generator.gi_yieldfrom
        return stand

    def _check(self, swap: Any) -> None:
        """Refuse a swap that is none, or whose messages are none."""
        if not isinstance(swap, Swap):
            self._refuse("no_swap", got=told(swap))
        self._check_plain(swap)
        if swap.to is not None:
            self._check_message("payload", swap.payload)
            swap.chunk = _label(swap.payload)
        if swap.frm is not None:
            self._check_message("like", swap.like)

    def _check_plain(self, swap: Swap) -> None:
        """See to it that ranks are whole numbers and that a phase is a text."""
        for half in ("to", "frm"):
            peer = getattr(swap, half)
            if peer is not None and type(peer) is not int:
                try:
                    setattr(swap, half, operator.index(peer))
                except TypeError:
                    self._refuse("no_rank", peer=told(peer))
        if type(swap.phase) is not str:
            swap.phase = told(swap.phase)

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
        step, line = self.watch.step + 1, line_at(self.stand)
        raise ProofError(Verdict(kind, self.watch.size, self.rank, step, what=what, line=line))


def holds(program: Any, rank: int, size: int, options: dict[str, Any]) -> list[int]:
    """The chunks with which a rank begins an all-gather."""
    held = program.holds(rank, size, **options)
    return [held] if isinstance(held, int) else list(held)


def _label(payload: Any) -> int | slice:
    """Which chunk a message carries in truth, or which chunks."""
    if type(payload) is Share:
        return _which(payload)
    first = _which(payload[0])
    return slice(first, first + len(payload))


def _which(share: Share) -> int:
    """The chunk of x that a share is, or else the one that it holds."""
    index = share._place.index
    return share._value[0] if index is None else index


def told_error(error: BaseException) -> str:
    """An error in one line."""
    words = f"{type(error).__name__}: {error}".removesuffix(": ").split("\n")[0]
    return words if len(words) <= 200 else words[:199] + "…"


def line_of(error: BaseException, file: str | None) -> int | None:
    """The line of a file in which an error arose, or from which what failed was called."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def file_of(program: Any) -> str | None:
    """The file in which a program is written."""
    code = getattr(inspect.unwrap(program), "__code__", None)
    return None if code is None else code.co_filename
