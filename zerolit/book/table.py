"""Tables: one object that a page shows as HTML and a terminal prints with rich."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import rich.table

from zerolit.press import current

from .words import Word, Words

_TOGETHER = {  # where a head does not break
    "en": re.compile(r" (?=\S{1,2}$)"),
    "zh": re.compile(r"(?<=[第前后]) (?=\d)|(?<=\d) (?=[张步块段个卡])| (?=\S{1,2}$)"),
}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        key: its name in the ledger, after the table's.
        spec: how its cells are shown: a format specification such as `",d"` or `".3f"`, `"s"` for
            text as it is and for `Word`s, `"sentence"` for what may break, `"code"` for code,
            `"link"` for a text and its address.
        en, zh: its head.
        unit: of its numbers, for the ledger.
        tolerance: how far a rebuild may be off, if not by default; see `result`.
    """

    key: str
    spec: str
    en: str
    zh: str
    unit: str = ""
    tolerance: str = ""

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers, which stand under each other."""
        return self.spec not in ("s", "sentence", "link", "code")

    @property
    def align(self) -> str:
        """The class of its cells."""
        kind = "number" if self.numeric else "sentence" if self.spec == "sentence" else ""
        return f' class="zl-{kind}"' if kind else ""

    def head(self, language: str, facts: Mapping[str, Any]) -> str:
        """What stands above it; a unit or a number is not left alone in a line."""
        head = Words(self.en, self.zh).fill(language, **facts)
        return _TOGETHER[language].sub("\u00a0", head)

    def text(self, value: Any, language: str) -> str:
        """A cell as it is shown; None is a dash."""
        if value is None:
            return "–"
        if isinstance(value, Word):
            return value.words.fill(language)
        if self.spec == "link":
            return value[0]
        return format(value, "" if self.spec in ("code", "sentence") else self.spec)

    def html(self, value: Any, language: str) -> str:
        """The same as HTML."""
        text = escape(self.text(value, language))
        if self.spec == "link" and value is not None:
            return f'<a href="{escape(value[1])}">{text}</a>'
        return f"<code>{text}</code>" if self.spec == "code" else text


@dataclass
class Table:
    """Rows of numbers and words.

    Attributes:
        name: the table's id on the page.
        caption: what stands above it.
        rows: one sequence per row, as long as `columns`.
        facts: what the placeholders of the caption and the columns are filled with.
        linkable: whether the table is a place to link to; one that comes and goes is not.

    Raises:
        ValueError: a row that is not as long as `columns`.
    """

    name: str
    caption: Words
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    linkable: bool = True

    def __post_init__(self) -> None:
        current().made.append(self.name)
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name}: a row has {len(row)} cells; it must have "
                    f"{len(self.columns)}, one per column"
                )

    def __str__(self) -> str:
        """The table as HTML, in the language of the page."""
        language = current().language
        self._record()
        head = "".join(
            f'<th scope="col"{column.align}>{escape(column.head(language, self.facts))}</th>'
            for column in self.columns
        )
        body = "".join(f"<tr>{self._row(row, language)}</tr>\n" for row in self.rows)
        place = f'id="{self.name}"' if self.linkable else f'data-table="{self.name}"'
        link = permalink(self.name) if self.linkable else ""
        caption = escape(self.caption.fill(language, **self.facts))
        return (
            f'<div class="zl-table" {place} tabindex="0" role="group" '
            f'aria-labelledby="{self.name}-caption">\n<table>'
            f'<caption id="{self.name}-caption">{caption}'
            f"{link}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n</div>\n"
        )

    def _row(self, row: Sequence[Any], language: str) -> str:
        return "".join(
            f"<td{column.align}>{column.html(value, language)}</td>"
            for value, column in zip(row, self.columns, strict=True)
        )

    def _record(self) -> None:
        """Enter every column in the ledger."""
        for i, column in enumerate(self.columns):
            name, values = f"{self.name}.{column.key.replace(' ', '-')}", [r[i] for r in self.rows]
            current().record(name, values, column.tolerance, column.unit)

    def text(self, language: str) -> list[list[str]]:
        """The cells as they are shown."""
        return [
            [column.text(value, language) for value, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]

    def terminal(self, language: str) -> rich.table.Table:
        """The table for a terminal."""
        caption = self.caption.fill(language, **self.facts)
        table = rich.table.Table(caption=caption, caption_justify="left")
        for column in self.columns:
            justify = "right" if column.numeric else "left"
            table.add_column(column.head(language, self.facts), justify=justify, overflow="fold")  # type: ignore[arg-type]
        for row in self.text(language):
            table.add_row(*row)
        return table


def permalink(name: str) -> str:
    """The `#` beside a caption, which links to the table or figure itself."""
    sign = "链接" if current().language == "zh" else "Permanent link"
    return f' <a class="headerlink" href="#{name}" title="{sign}" aria-label="{sign}">#</a>'
