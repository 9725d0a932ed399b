"""What blocks gave in earlier drafts, so that an author who corrects a comma waits for nothing.

A block's entry lies under a key of all that it depends on: its text and those before it in its
session, the files that they reach, the language, and the versions of Python and of the libraries.
It never feeds what is published, may be deleted at any time, and holds JSON: data, no code.
"""

import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .ledger import replace_file
from .page import Ran
from .reach import Reach
from .run import PACKAGE, Outcome, Session

FOLDER = Path(".cache/draft")
LIMIT = 64_000_000  # bytes of all entries together
LIBRARIES = ("numpy", "torch", "matplotlib", "rich", "Markdown", "markdown-exec")


Keys = dict[tuple[str, str], str]  # of every block, by its page and id


class Store:
    """The entries in one folder."""

    def __init__(self, root: Path, limit: int = LIMIT) -> None:
        self.root, self.folder, self.limit = root, root / FOLDER, limit

    def keys(self, session: Session) -> Keys:
        """The key of every block of a session, in both languages, as the files are now.

        None at all where a block, or a file that it reaches, is no Python: it has to run and fail.
        """
        try:
            return self._keys(session)
        except SyntaxError:
            return {}

    def _keys(self, session: Session) -> Keys:
        reach, keys = Reach(PACKAGE / "zerolit", self.root / "docs/examples"), {}
        for twin in session.twins:
            key = hashlib.sha256(f"{_versions()} {twin.page}".encode())
            for block in session.blocks:
                key.update(repr((block.options, block.text)).encode())
                for file in sorted(reach.of(block.text)):
                    key.update(os.path.relpath(file, PACKAGE).encode() + file.read_bytes())
                keys[twin.page, block.options["id"]] = key.hexdigest()[:40]
        return keys

    def look_up(self, keys: Keys) -> Outcome | None:
        """What a session gave before; None unless every block of it, at least one, is there."""
        outcome = Outcome(seconds={page: 0.0 for page, _ in keys})
        for at, key in keys.items():
            ran = self._read(key)
            if ran is None:
                return None
            outcome.ran[at] = ran
        return outcome if keys else None

    def keep(self, keys: Keys, outcome: Outcome) -> None:
        """Write what a session gave, and drop what has not been used for longest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for at, key in keys.items():
            content = {"key": key, **outcome.ran[at].to_json()}
            replace_file(self.folder / f"{key}.json", json.dumps(content))
        self._drop()

    def _read(self, key: str) -> Ran | None:
        """An entry; None for one that is missing, damaged or not of this key."""
        path = self.folder / f"{key}.json"
        try:
            content = json.loads(path.read_text())
            if content.pop("key") != key:
                return None
            ran = Ran(**content)
            os.utime(path)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return ran if _well_formed(ran) else None

    def _drop(self) -> None:
        files = sorted(self.folder.glob("*.json"), key=lambda file: -file.stat().st_mtime)
        total = 0
        for file in files:
            total += file.stat().st_size
            if total > self.limit:
                file.unlink(missing_ok=True)


def _well_formed(ran: Ran) -> bool:
    texts = [ran.text, ran.output, *ran.results, *ran.results.values(), *ran.made]
    return all(isinstance(text, str) for text in texts) and all(len(r) == 4 for r in ran.records)


def _versions() -> str:
    return " ".join([platform.python_version(), platform.machine(), *map(_version, LIBRARIES)])


def _version(library: str) -> str:
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return library
