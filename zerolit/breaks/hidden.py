"""Bugs without their names, to be found from what they do."""

import hashlib

from .catalogue import BUGS, find
from .observe import STEPS, checks_in_words, observe

# In an order that says nothing, and is the same on every machine.
_ORDER = sorted(BUGS, key=lambda name: hashlib.sha256(name.encode()).digest())
_SENTENCES = {
    "unknown": (
        "there is no bug {name!r}; the names are {names}",
        "没有名为 {name!r} 的 bug；名字有 {names}",
    ),
    "right": (
        "right: number {number} is {name}: {title}. It is told by {told}",
        "正确：第 {number} 号是 {name}：{title}。能发现它的是：{told}",
    ),
    "checks": (
        "no: {name} is told by {guessed}, number {number} by {told}",
        "不对：能发现 {name} 的是：{guessed}；能发现第 {number} 号的是：{told}",
    ),
    "losses": (
        "no: the same checks tell {name}, but after {steps} steps its loss is {a:.3f} with AdamW "
        "and {b:.3f} with SGD; of number {number} it is {c:.3f} and {d:.3f}",
        "不对：能发现 {name} 的检查相同，但 {steps} 步后它的损失用 AdamW 为 {a:.3f}、"
        "用 SGD 为 {b:.3f}；第 {number} 号的是 {c:.3f} 和 {d:.3f}",
    ),
}


def hidden(number: int) -> str:
    """The name behind a number; for programs: a reader who looks it up learns nothing.

    Raises:
        ValueError: there is no such number.
    """
    if not 1 <= number <= len(_ORDER):
        raise ValueError(f"number is {number}; it must be 1 to {len(_ORDER)}")
    return _ORDER[number - 1]


def guess(number: int, name: str, language: str = "en") -> str:
    """Whether the bug behind `number` is the one of this name, and if not, what differs.

    Raises:
        ValueError: there is no such number.
    """
    there, index = hidden(number), ("en", "zh").index(language)
    if name not in BUGS:
        return _SENTENCES["unknown"][index].format(name=name, names=", ".join(BUGS))
    told, guessed = (checks_in_words(each, language) for each in (there, name))
    title, what = find(name).title(language), {"number": number, "name": name, "told": told}
    if name == there:
        return _SENTENCES["right"][index].format(**what, title=title)
    if told != guessed:
        return _SENTENCES["checks"][index].format(**what, guessed=guessed)
    both = [observe(each, way).losses[-1] for each in (name, there) for way in ("adamw", "sgd")]
    ends = dict(zip("abcd", both, strict=True))
    return _SENTENCES["losses"][index].format(**what, steps=STEPS, **ends)
