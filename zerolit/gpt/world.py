"""A small invented world, and a text about it that a tiny model can learn."""

from dataclasses import dataclass
from random import Random

MARKS = ".,?:+="
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 \n" + MARKS  # 44 characters

_NAMES = (
    "ada bruno celia dmitri elza felix greta hugo ines jakob katya liam maud nils olga pavel "
    "quinn rosa sven tilda ursula viktor wanda xaver yara zeno"
).split()
_PLACES = "arvik bexley corvo dunmere elgin fjordby galway hexham ivory jarrow".split()
_TRADES = "baker weaver smith piper joiner quilter dyer glazier fisher potter".split()
_THINGS = "boxes kettles lamps vases jugs quilts zithers oxen".split()


@dataclass(frozen=True)
class Person:
    """Somebody in the world: everything that the text can say of them."""

    name: str
    place: str
    trade: str
    thing: str
    number: int


@dataclass(frozen=True)
class World:
    """People, where they live and what they do. The same seed gives the same world everywhere."""

    people: tuple[Person, ...]
    seed: int

    def train_text(self, length: int = 80_000) -> str:
        """Sentences about the world, at least `length` characters, every one of the alphabet."""
        rng = Random(self.seed + 1)
        lines, so_far = [], 0
        while so_far < length:
            lines.append(_sentence(self.people, rng))
            so_far += len(lines[-1])
        return "".join(lines)


def build_world(seed: int = 0) -> World:
    """Settle who lives where and does what."""
    rng = Random(seed)
    people = [
        Person(name, _pick(_PLACES, rng), _pick(_TRADES, rng), _pick(_THINGS, rng), _number(rng))
        for name in _NAMES
    ]
    return World(tuple(people), seed)


def _sentence(people: tuple[Person, ...], rng: Random) -> str:
    a, b = _pick(people, rng), _pick(people, rng)
    kind = int(rng.random() * 5)
    if kind == 0:
        return f"{a.name} is a {a.trade} and lives in {a.place}.\n"
    if kind == 1:
        return f"where does {a.name} live? in {a.place}.\n"
    if kind == 2:
        return f"{a.name} of {a.place} has {a.number} {a.thing}, {b.name} has {b.number}.\n"
    if kind == 3:
        return f"a {a.trade}: {a.name}.\n"
    return f"{a.number} + {b.number} = {a.number + b.number}\n"


# `Random.random` is the one method that Python promises to keep the same for ever.
def _pick(items, rng: Random):
    return items[int(rng.random() * len(items))]


def _number(rng: Random) -> int:
    return 1 + int(rng.random() * 99)
