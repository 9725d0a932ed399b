"""Chunks without numbers: a share knows which ranks are in it, and to which rank it belongs.

Only the judge makes shares: at the start, and one for every message that is delivered. Whatever a
program does with one that would not be right with any numbers, or that moves a share from rank to
rank without a message, is refused by name.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from .chunks import Block
from .swap import ProofError
from .verdict import Verdict

MIXED = -1  # the chunk of a sum of different chunks

# (chunk, ranks, twice, came): the ranks that are in it and those that are in it more than once, as
# bits; and the deliveries that it was made of since it was last stored. A tuple, for speed.
Value = tuple[int, int, int, tuple[int, ...]]


class Place:
    """Where a share belongs: to a rank, and to one of its chunks or (None) to none yet."""

    __slots__ = ("index", "rank", "rules")

    def __init__(self, rules: "Rules", rank: int, index: int | None):
        self.rules, self.rank, self.index = rules, rank, index


class Rules:
    """Who is running, and what it has broken.

    Attributes:
        running: the rank whose program computes now.
        step: the step whose messages have been delivered; 0 before any.
        file: where the program's source is; lines in other files are not told.
        touched: of the chunks written since it began to compute, by number, what they held before.
    """

    def __init__(self, size: int, pieces: int, file: str | None):
        self.size, self.pieces, self.file = size, pieces, file
        self.running, self.step = 0, 0
        self.touched: dict[int, Value] = {}
        self.broken: Verdict | None = None
        self.loose = [Place(self, rank, None) for rank in range(size)]

    def refuse(self, kind: str, **what: Any) -> NoReturn:
        """Say what the running rank has broken; a program that catches it is refused all the same.

        Raises:
            ProofError: always.
        """
        self.broken = self.broken or Verdict(
            kind,
            self.size,
            self.running,
            self.step,
            what=what,
            line=line_now(sys._getframe(), self.file),
        )
        raise ProofError(self.broken)

    def stranger(self, share: "Share") -> tuple[str, dict[str, Any]] | None:
        """What is wrong with a share that the running rank uses, if it is not its own."""
        place = getattr(share, "_place", None)
        if place is None or place.rules is not self:
            return "forged", {}
        if place.rank != self.running:
            return "foreign", {"other": place.rank}
        return None

    def write(self, share: "Share", value: Value) -> None:
        """Change a share in its place, as an array is changed."""
        index = share._place.index
        if index is not None and index not in self.touched:
            self.touched[index] = share._value
        put(share, value)


def line_now(frame: Any, file: str | None) -> int | None:
    """The line of a file in which a frame stands, or the nearest of those that called it."""
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno


class Share:
    """A chunk as the prover sees it: which ranks are in it. Like an array, `+=` changes it."""

    __slots__ = ("_place", "_value")
    _place: Place
    _value: Value
    shape, dtype = (), "chunk"

    def __init__(self, *given: Any, **named: Any):
        raise ProofError(Verdict("forged", 0))

    def __add__(self, other: Any) -> "Share":
        if type(other) is not Share:
            return _not_a_share(self, other)
        if self._place.rank != other._place.rank:
            _strangers(self, other)
        return mint(self._place.rules.loose[self._place.rank], _sum(self._value, other._value))

    def __radd__(self, other: Any) -> "Share":
        if type(other) is int and other == 0:  # `sum` begins with it
            return self.copy()
        return _not_a_share(self, other)

    def __iadd__(self, other: Any) -> "Share":  # type: ignore[misc]
        if type(other) is not Share:
            return _not_a_share(self, other)
        if self._place.rank != other._place.rank:
            _strangers(self, other)
        self._place.rules.write(self, _sum(self._value, other._value))
        return self

    def copy(self) -> "Share":
        """A share of its own that holds the same, as `copy` of a numpy array."""
        return mint(self._place.rules.loose[self._place.rank], self._value)

    clone = copy  # as torch calls it

    def __copy__(self) -> "Share":
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "Share":
        return self.copy()

    def __setattr__(self, name: str, value: Any) -> None:
        self._place.rules.refuse("changed", name=name)

    def __delattr__(self, name: str) -> None:
        self._place.rules.refuse("changed", name=name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._place.rules.refuse("changed", name="pickle")

    def __repr__(self) -> str:
        chunk, ranks, twice, _ = self._value
        held = "+".join(f"{rank}" + "*" * (twice >> rank & 1) for rank in bits(ranks))
        return f"<chunk {'?' if chunk == MIXED else chunk} of {held or 'nobody'}>"


_set_place, put = (vars(Share)[name].__set__ for name in ("_place", "_value"))


def mint(place: Place, value: Value) -> Share:
    """Make a share; programs cannot."""
    share = object.__new__(Share)
    _set_place(share, place)
    put(share, value)
    return share


def _sum(mine: Value, theirs: Value) -> Value:
    chunk, ranks, twice, came = mine
    other, others, double, arrived = theirs
    return (
        chunk if chunk == other else MIXED,
        ranks | others,
        twice | double | (ranks & others),
        came + arrived,
    )


def _not_a_share(share: Share, other: Any) -> NoReturn:
    rules = share._place.rules
    if other is None:
        rules.refuse("nothing")
    rules.refuse("operand", got=told(other))


def _strangers(one: Share, other: Share) -> NoReturn:
    rules = one._place.rules
    strange = one if one._place.rank != rules.running else other
    rules.refuse("foreign", other=strange._place.rank)


def _forbid(name: str, sign: str) -> None:
    def forbidden(self: Share, *operands: Any) -> NoReturn:
        if operands and operands[0] is None:
            self._place.rules.refuse("nothing")
        self._place.rules.refuse("arithmetic", sign=sign)

    setattr(Share, name, forbidden)


_SIGNS = {
    "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
for _name, _sign in _SIGNS.items():
    for _prefix in ("", "r", "i"):
        _forbid(f"__{_prefix}{_name}__", _sign)
for _name, _sign in {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "neg": "-", "abs": "abs",
    "invert": "~", "bool": "bool", "float": "float", "int": "int", "index": "index", "len": "len",
    "iter": "for", "contains": "in", "getitem": "[…]", "setitem": "[…] =", "hash": "hash",
    "divmod": "divmod", "round": "round", "call": "(…)",
}.items():  # fmt: skip
    _forbid(f"__{_name}__", _sign)


class Shares:
    """A rank's chunks for the prover: reads and writes as a `Chunks` does, by its own rank only."""

    __slots__ = ("_cells", "_rank", "_rules")

    def __init__(self, rules: Rules, rank: int, values: Sequence[Value]):
        self._rules, self._rank = rules, rank
        self._cells = [mint(Place(rules, rank, i), value) for i, value in enumerate(values)]

    def _check(self) -> None:
        if self._rules.running != self._rank:
            self._rules.refuse("list", other=self._rank)

    def __len__(self) -> int:
        self._check()
        return len(self._cells)

    def __iter__(self) -> Iterator[Share]:
        self._check()
        return iter(self._cells)

    def __getitem__(self, index: Any) -> Any:
        if self._rules.running != self._rank:
            self._check()
        try:
            got = self._cells[index]
        except (IndexError, TypeError):
            self._rules.refuse("index", got=told(index), last=len(self._cells) - 1)
        return got if type(got) is Share else Block(got)  # type: ignore[unreachable]

    def __setitem__(self, index: Any, value: Any) -> None:
        cell = self[index]
        if value is cell:
            return  # `x[c] += …` has changed it in its place already
        if type(cell) is Share:
            self._store(cell, value)
            return
        if not isinstance(value, list | tuple) or len(value) != len(cell):
            self._rules.refuse("stored", got=told(value))
        for mine, theirs in zip(cell, value, strict=True):
            if mine is not theirs:
                self._store(mine, theirs)

    def _store(self, cell: Share, value: Any) -> None:
        rules = self._rules
        if type(value) is not Share:
            rules.refuse("nothing" if value is None else "stored", got=told(value))
        if wrong := rules.stranger(value):
            rules.refuse(wrong[0], **wrong[1])
        rules.write(cell, value._value)


_BRACKETS: dict[type, str] = {tuple: "(…)", list: "[…]", dict: "{…}", set: "{…}", Block: "[…]"}


def told(value: Any) -> str:
    """A value in a few words that are the same in both languages, for a sentence."""
    if isinstance(value, Shares):
        return "x"
    if isinstance(value, Share):
        index = value._place.index
        return "x[…]" if index is None else f"x[{index}]"
    if type(value) in (int, float, str, bytes, slice, type(None), bool):
        text = repr(value) if type(value) is not int or abs(value) < 10**30 else "10**30 …"
        return text if len(text) <= 40 else text[:39] + "…"
    name = getattr(value, "__name__", type(value).__name__)
    return _BRACKETS.get(type(value), str(name))


def bits(ranks: int) -> list[int]:
    """The ranks whose bits are set."""
    return [rank for rank in range(ranks.bit_length()) if ranks >> rank & 1]


def line_at(stand: Any) -> int | None:
    """The source line of an instruction."""
    if stand is None:
        return None
    code, at = stand
    return next((line for start, end, line in code.co_lines() if start <= at < end), None)
