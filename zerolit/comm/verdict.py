"""What the judge found, as data; the sentences are made of it in `words`."""

from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Proof:
    """What was shown: the goal is reached on `size` ranks.

    Attributes:
        goal: what the program promises.
        size: the number of ranks.
        steps: how many steps it takes.
        sent: what each rank sends, as a share of the array: exact fractions.
        bound: the least that the busiest rank must send: (p-1)/p of the array for reduce-scatter
            and all-gather, 2(p-1)/p for all-reduce (Patarasuk & Yuan 2009); the array for a
            broadcast, whose root must send it, and for a reduce, to which all others must.
    """

    goal: str
    size: int
    steps: int
    sent: tuple[Fraction, ...]
    bound: Fraction

    @property
    def optimal(self) -> bool:
        """Whether no rank sends more than the bound."""
        return max(self.sent) <= self.bound


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a rank program and where, or that it is right.

    Attributes:
        kind: `"right"`, or what is wrong, such as `"twice"`: the keys of `words.SENTENCES`.
        size: the number of ranks it was run on.
        rank: whose program it is.
        step: in which step, from 1; 0 is before any message.
        hop: sender and receiver of the message in question.
        chunk: of which chunk.
        what: what else the sentence says, by name.
        line: where in its source the program of `rank` stood.
        proof: of a program that is right.
        prints: what the program printed, where it ran in a process of its own.
    """

    kind: str
    size: int
    rank: int | None = None
    step: int | None = None
    hop: tuple[int, int] | None = None
    chunk: int | None = None
    what: dict[str, Any] = field(default_factory=dict)
    line: int | None = None
    proof: Proof | None = None
    prints: str = ""

    @property
    def right(self) -> bool:
        """Whether the program does what it promises."""
        return self.kind == "right"

    def sentence(self, language: str = "en") -> str:
        """The verdict in one sentence, `"en"` or `"zh"`."""
        from .words import sentence

        return sentence(self, language)

    def __str__(self) -> str:
        return self.sentence()

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) if self.proof is None else asdict(self) | {"proof": _texts(self.proof)}


def _texts(proof: Proof) -> dict[str, Any]:
    return asdict(proof) | {"sent": list(map(str, proof.sent)), "bound": str(proof.bound)}


def from_plain(data: dict[str, Any]) -> Verdict:
    """The verdict that `Verdict.plain` was made of."""
    data = dict(data)
    if data["proof"]:
        proof = data["proof"]
        sent = tuple(map(Fraction, proof["sent"]))
        data["proof"] = Proof(**proof | {"sent": sent, "bound": Fraction(proof["bound"])})
    data["hop"] = None if data["hop"] is None else tuple(data["hop"])
    return Verdict(**data)
