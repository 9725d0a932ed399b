"""What a page shows of the other pages: their titles and questions, known before any is rendered.

A line such as `<!-- early: zerolit.book.index.chapters -->` is replaced by the Markdown that the
function `chapters` makes of the pages in the navigation's order, in the language of the page.
"""

import re
from importlib import import_module

from .fences import PageError
from .page import Site
from .source import Source

_EARLY = re.compile(r"^<!-- early: ([\w.]+)\.(\w+) -->$", re.M)


def fill_in(site: Site, page: str, markdown: str) -> str:
    """The Markdown of `page`, with what is due in it.

    Raises:
        PageError: a function that is not there.
    """
    source = site.sources.get(page)
    if source is None:
        raise PageError(f"{page}: it was not there when the build began; build again")

    def one(match: re.Match) -> str:
        module, name = match.groups()
        try:
            function = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise PageError(f"{page}: {match[0]} cannot be filled in: {error}") from None
        return function(in_order(site, source.language))

    return _EARLY.sub(one, markdown)


def in_order(site: Site, language: str) -> list[Source]:
    """The pages of one language, as the navigation has them."""
    uris = [page.removesuffix(".html") + ".md" for page in site.pages]
    found = (site.sources.get(f"{language}/{uri}") for uri in uris)
    return [source for source in found if source]
