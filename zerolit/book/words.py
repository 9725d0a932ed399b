"""Words in both languages: they stand side by side where they are used; common ones stand here."""

from typing import NamedTuple

from zerolit.press import current


class Words(NamedTuple):
    """One text in both languages; what stands in braces is filled in."""

    en: str
    zh: str

    def fill(self, language: str, **facts: object) -> str:
        """The text in `"en"` or `"zh"`."""
        return (self.zh if language == "zh" else self.en).format(**facts)


class Word(str):
    """A cell of a table: the ledger keeps its key, a reader sees its words."""

    words: Words

    def __new__(cls, key: str, en: str, zh: str = "") -> "Word":
        word = super().__new__(cls, key)
        word.words = Words(en, zh or en)
        return word


def say(words: Words | Word, **facts: object) -> str:
    """The text in the language of the page."""
    words = words.words if isinstance(words, Word) else words
    return words.fill(current().language, **facts)


def choose(key: str, among: dict[str, tuple[str, str]]) -> Word:
    """The word of a chapter that has this key.

    Raises:
        ValueError: it has none.
    """
    if key not in among:
        raise ValueError(f"there are no words for {key!r}; there are for {', '.join(among)}")
    return Word(key, *among[key])


CARD = Words("card", "卡")
START = Words("start", "开始")
STEP_N = Words("step {n}", "第 {n} 步")
AFTER_N = Words("after step {n}", "第 {n} 步后")
NUMBER_OF_CARDS = Words("number of cards", "卡数")
TRAINING_STEP = Words("step", "训练步")
LOSS = Words("loss", "损失")
RANK_N = Words("rank {n}", "rank {n}")
STAGES = (
    Word("stage 0", "data parallel", "数据并行"),
    Word("stage 1", "ZeRO-1"),
    Word("stage 2", "ZeRO-2"),
    Word("stage 3", "ZeRO-3"),
)
