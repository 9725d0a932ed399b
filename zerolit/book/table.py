"""Tables: one object that a page shows as HTML and a terminal prints with rich."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import rich.table

from .labels import label
from .page import current


@dataclass
class Table:
    """Rows of numbers and words.

    Attributes:
        name: the table's id on the page; its caption is the label `table <name>`.
        columns: for each column its label and how its cells are shown: a format specification
            such as `",d"` or `".3f"`, `"s"` for text as it is, `"label"` for a word that is
            translated.
        rows: one sequence per row, as long as `columns`; None is shown as a dash.
        facts: what the placeholders of the caption and the columns are filled with.
    """

    name: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name}: a row has {len(row)} cells; it must have "
                    f"{len(self.columns)}, one per column"
                )

    def __str__(self) -> str:
        """The table as HTML, in the language of the page."""
        language = current().language
        classes = [_align(spec) for spec in self.columns.values()]
        head = "".join(
            f'<th scope="col"{cls}>{escape(label(key, language, **self.facts))}</th>'
            for key, cls in zip(self.columns, classes, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{cls}>{escape(text)}</td>" for text, cls in zip(row, classes, strict=True)
            )
            + "</tr>\n"
            for row in self.text(language)
        )
        return (
            f'<div class="zl-table" id="{self.name}" tabindex="0" role="group" '
            f'aria-labelledby="{self.name}-caption">\n<table>'
            f'<caption id="{self.name}-caption">{escape(self.caption(language))}'
            f"{permalink(self.name)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n</div>\n"
        )

    def caption(self, language: str) -> str:
        """The caption in one language."""
        return label(f"table {self.name}", language, **self.facts)

    def text(self, language: str) -> list[list[str]]:
        """The cells as they are shown."""
        specs = list(self.columns.values())
        return [
            [_cell(value, spec, language) for value, spec in zip(row, specs, strict=True)]
            for row in self.rows
        ]

    def terminal(self, language: str) -> rich.table.Table:
        """The table for a terminal."""
        table = rich.table.Table(caption=self.caption(language), caption_justify="left")
        for key, spec in self.columns.items():
            table.add_column(
                label(key, language, **self.facts), justify="right" if _numeric(spec) else "left"
            )
        for row in self.text(language):
            table.add_row(*row)
        return table


def _cell(value: Any, spec: str, language: str) -> str:
    if value is None:
        return "–"
    if spec == "label":
        return label(value, language)
    return format(value, spec)


def _numeric(spec: str) -> bool:
    return spec not in ("s", "label")


def _align(spec: str) -> str:
    return ' class="zl-number"' if _numeric(spec) else ""


def permalink(name: str) -> str:
    """The `#` beside a caption, which links to the table or figure itself."""
    sign = "链接" if current().language == "zh" else "Permanent link"
    return f' <a class="headerlink" href="#{name}" title="{sign}" aria-label="{sign}">#</a>'
