"""Pages that are made of something else: a lab, of its notebook's cells.

Such a page's file is one line, `<!-- made: zerolit.labs.page.page lab-ring -->`: the function
`page` is called with the language and the word that follows, and returns the page's Markdown.
"""

import re
from importlib import import_module
from pathlib import Path

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
    try:
        return getattr(import_module(module), name)(language, about)
    except (ImportError, AttributeError, ValueError) as error:
        raise PageError(f"{language}/{uri}: it cannot be made: {error}") from None
