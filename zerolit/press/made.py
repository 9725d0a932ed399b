"""Pages and files that are made of something else: a lab, of its notebook's cells.

Such a page's file is one line, `<!-- made: zerolit.labs.page.page lab-ring -->`: the function
`page` is called with the language and the word that follows, and returns the page's Markdown.
Files are made by the functions that `extra.files` in `mkdocs.yml` names: they are called with the
language and return texts by names.
"""

import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from .fences import PageError

_MADE = re.compile(r"<!-- made: ([\w.]+)\.(\w+) ([\w-]+) -->\s*")


def page_text(root: Path, language: str, uri: str) -> str:
    """The Markdown of a page, front matter and all.

    Raises:
        PageError: a function that is not there, or that refuses.
    """
    text = (root / "docs" / language / uri).read_text(encoding="utf-8-sig")
    match = _MADE.fullmatch(text)
    if match is None:
        return text
    module, name, about = match.groups()
    return _call(f"{language}/{uri}", f"{module}.{name}", language, about)


def files(names: Iterable[str], language: str) -> dict[str, str]:
    """The texts of the files that these functions make, by name.

    Raises:
        PageError: a function that is not there, or that refuses.
    """
    made: dict[str, str] = {}
    for name in names:
        made |= _call("mkdocs.yml, files", name, language)
    return made


def _call(where: str, function: str, *arguments: str) -> Any:
    module, _, name = function.rpartition(".")
    try:
        return getattr(import_module(module), name)(*arguments)
    except (ImportError, AttributeError, ValueError) as error:
        raise PageError(f"{where}: it cannot be made: {error}") from None
