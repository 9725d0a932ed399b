"""Have the blocks of a site's pages run; in a draft, only where something else may come out."""

from collections import Counter
from collections.abc import Mapping

from .page import Site
from .run import Outcome, Session, run_all, sessions_of
from .source import LANGUAGES, Source
from .store import Store


def run_blocks(site: Site, sources: Mapping[str, Source]) -> None:
    """Have the blocks of these pages run, and note in `site` what they gave, and which ran.

    In a draft those run whose entry the store lacks, else all.

    Args:
        sources: pages by name, each in both languages.

    Raises:
        PageError: a block that raises, warns, exits, hangs or shows nothing.
    """
    progress = _Progress(site, sources)
    store, keys, site.fresh = Store(site.root), {}, []
    for session in progress.sessions if site.draft else ():
        keys[id(session)] = store.keys(session)
        if kept := store.look_up(keys[id(session)]):
            progress.note(session, kept)

    def done(session: Session, outcome: Outcome) -> None:
        site.fresh.extend(outcome.ran)
        if site.draft and store.keys(session) == keys[id(session)]:  # no file changed meanwhile
            store.keep(keys[id(session)], outcome)
        progress.note(session, outcome)

    run_all(progress.open, site.limit, done)


class _Progress:
    """Which sessions are still open, and which pages are therefore done."""

    def __init__(self, site: Site, sources: Mapping[str, Source]) -> None:
        uris = dict.fromkeys(source.uri for source in sources.values())
        twins = [[sources[f"{language}/{uri}"] for language in LANGUAGES] for uri in uris]
        self.site, self.sessions = site, [s for pair in twins for s in sessions_of(pair)]
        self.open = list(self.sessions)
        self.left = Counter(twin.page for session in self.sessions for twin in session.twins)
        site.seconds |= dict.fromkeys(sources, 0.0)
        for page in sources:
            if not self.left[page]:
                site.on_page(page)

    def note(self, session: Session, outcome: Outcome) -> None:
        self.open.remove(session)
        self.site.ran |= outcome.ran
        for page, seconds in outcome.seconds.items():
            self.site.seconds[page] += seconds
            self.left[page] -= 1
            if not self.left[page]:
                self.site.on_page(page)
