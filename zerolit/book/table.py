"""Tables: one object that a page shows as HTML and a terminal prints with rich."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import rich.table

from .labels import UNITS, label
from .page import current


@dataclass
class Table:
    """Rows of numbers and words.

    Attributes:
        name: the table's id on the page; its caption is the label `table <name>`.
        columns: for each column its label and how its cells are shown: a format specification
            such as `",d"` or `".3f"`, `"s"` for text as it is, `"sentence"` for what may break,
            `"code"` for code, `"label"` for a word that is translated, `"link"` for a text and its
            address.
        rows: one sequence per row, as long as `columns`; None is shown as a dash.
        facts: what the placeholders of the caption and the columns are filled with.
        caption_label: the caption's label, if it is another.
        linkable: whether the table is a place to link to; one that comes and goes is not.
        tolerances: for a column, how far a rebuild may be off, if not by default; see `result`.
    """

    name: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    tolerances: Mapping[str, str] = field(default_factory=dict)
    caption_label: str = ""
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
        classes = [_align(spec) for spec in self.columns.values()]
        head = "".join(
            f'<th scope="col"{cls}>{escape(label(key, language, **self.facts))}</th>'
            for key, cls in zip(self.columns, classes, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{cls}>{_html(value, spec, language)}</td>"
                for value, spec, cls in zip(row, self.columns.values(), classes, strict=True)
            )
            + "</tr>\n"
            for row in self.rows
        )
        place = f'id="{self.name}"' if self.linkable else f'data-table="{self.name}"'
        link = permalink(self.name) if self.linkable else ""
        return (
            f'<div class="zl-table" {place} tabindex="0" role="group" '
            f'aria-labelledby="{self.name}-caption">\n<table>'
            f'<caption id="{self.name}-caption">{escape(self.caption(language))}'
            f"{link}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n</div>\n"
        )

    def _record(self) -> None:
        """Enter every column in the ledger."""
        for i, key in enumerate(self.columns):
            name, values = f"{self.name}.{key.replace(' ', '-')}", [row[i] for row in self.rows]
            current().record(name, values, self.tolerances.get(key, ""), UNITS.get(key, ""))

    def caption(self, language: str) -> str:
        """The caption in one language."""
        return label(self.caption_label or f"table {self.name}", language, **self.facts)

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
    if spec == "link":
        return value[0]
    return format(value, "" if spec in ("code", "sentence") else spec)


def _html(value: Any, spec: str, language: str) -> str:
    text = escape(_cell(value, spec, language))
    if spec == "link" and value is not None:
        return f'<a href="{escape(value[1])}">{text}</a>'
    return f"<code>{text}</code>" if spec == "code" else text


def _numeric(spec: str) -> bool:
    return spec not in ("s", "sentence", "label", "link", "code")


def _align(spec: str) -> str:
    kind = "number" if _numeric(spec) else "sentence" if spec == "sentence" else ""
    return f' class="zl-{kind}"' if kind else ""


def permalink(name: str) -> str:
    """The `#` beside a caption, which links to the table or figure itself."""
    sign = "链接" if current().language == "zh" else "Permanent link"
    return f' <a class="headerlink" href="#{name}" title="{sign}" aria-label="{sign}">#</a>'
