"""Which files a piece of Python reaches: by its imports, and by theirs.

Imports are read, not followed at run time: those inside functions count, too, so that a file is
rather reached once too often than missed. A string that is the name of a file in `docs/examples`
reaches that file, since a page may run it.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


class Reach:
    """The files of a package and of the examples, as they are now."""

    def __init__(self, package: Path, examples: Path) -> None:
        self.package, self.examples = package, examples
        self._direct = cache(self._read)

    def of(self, code: str) -> set[Path]:
        """All files that `code` reaches.

        Raises:
            SyntaxError: `code`, or a file that it reaches, is no Python.
        """
        found: set[Path] = set()
        new = set(self._named(ast.parse(code), None))
        while new:
            found |= new
            new = {there for file in new for there in self._direct(file)} - found
        return found

    def _read(self, file: Path) -> frozenset[Path]:
        tree = ast.parse(file.read_text(), str(file))
        return frozenset(self._named(tree, file if self.package in file.parents else None))

    def _named(self, tree: ast.AST, file: Path | None) -> Iterator[Path]:
        """The files that one text names itself; `file` is where it stands, for relative imports."""
        for node in _walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._files(alias.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                start = self._start(node, file)
                for alias in node.names if start is not None else ():
                    yield from self._files([*start, alias.name])  # type: ignore[misc]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from self._example(node.value)

    def _start(self, node: ast.ImportFrom, file: Path | None) -> list[str] | None:
        """The module that is imported from, as parts."""
        parts = node.module.split(".") if node.module else []
        if not node.level:
            return parts
        if file is None:
            return None
        folder = file.parents[node.level - 1].relative_to(self.package.parent)
        return [*folder.parts, *parts]

    def _files(self, parts: list[str]) -> Iterator[Path]:
        """The files that are run when a module is imported; the last part may be a name in it."""
        if parts[0] != self.package.name:
            return
        for end in range(1, len(parts) + 1):
            path = self.package.parent.joinpath(*parts[:end])
            for file in (path / "__init__.py", path.with_suffix(".py")):
                if file.is_file():
                    yield file

    def _example(self, name: str) -> Iterator[Path]:
        if name.endswith(".py") and "/" not in name and (self.examples / name).is_file():
            yield self.examples / name


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but what is there for the checker of types alone."""
    yield tree
    if isinstance(tree, ast.If) and getattr(tree.test, "id", "") == "TYPE_CHECKING":
        return
    for child in ast.iter_child_nodes(tree):
        yield from _walk(child)
