"""The ledger: what the pages show, by name, beside the committed reference.

Tables, figures and named results enter it by themselves. Both languages run the same blocks, so the
second one is the first repeat: what differs there already fails the build. What differs from the
reference is drift: it is reported by name, and the page "Reproduce" shows it.
"""

import json
import math
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .fences import PageError

REFERENCE = Path("docs/ledger.json")

# How far a value may be from its reference:
EXACT = "exact"  # counts and words
RELATIVE = "rel 1e-06"  # other numbers, unless a block states something else
MACHINE = "machine"  # decided by rounding: shown, but another machine may show another


def rounding(factor: float) -> str:
    """The tolerance of a quantity of rounding's size, such as the difference of two sums.

    Its size is reproducible and its value is not: another processor adds up in another order.
    """
    return f"factor {factor:g}"


@dataclass(frozen=True)
class Entry:
    """One result: a number, a word, or a list of them.

    Attributes:
        page, section: where it is shown: the page's address in English, the heading's id.
    """

    value: Any
    tolerance: str
    unit: str = ""
    page: str = ""
    section: str = ""


@dataclass(frozen=True)
class Drift:
    """One result that is not what the reference says.

    Attributes:
        what: `"drifted"`, `"restated"` (its tolerance or unit), `"appeared"` or `"vanished"`.
        off: by how many tolerances it drifted.
    """

    name: str
    what: str
    page: str = ""
    section: str = ""
    expected: Any = None
    got: Any = None
    off: float = math.inf

    def __str__(self) -> str:
        place = f" ({self.page}#{self.section})" if self.page else ""
        if self.what in ("appeared", "vanished"):
            return f"{self.name}{place} {self.what}"
        if self.what == "restated":
            return f"{self.name}{place} restated: it was {self.expected!r}, it is {self.got!r}"
        by = "it must be equal" if math.isinf(self.off) else f"off by {self.off:.3g} tolerances"
        return f"{self.name}{place} drifted: expected {self.expected}, got {self.got}; {by}"


class Ledger(dict[str, Entry]):
    """The results of one build, by name.

    Attributes:
        repeated: those that the second language has given as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self.repeated: set[str] = set()

    def check_repeated(self) -> None:
        """Raise PageError for a result that only the English run gave."""
        for name, entry in self.items():
            if name not in self.repeated:
                raise PageError(
                    f"zh/{entry.page}: {name!r} is not given when run again, for Chinese"
                )

    def record(self, name: str, value: Any, page: Any, tolerance: str = "", unit: str = "") -> None:
        """Enter a result of `page`, or compare it with the other language's.

        Raises:
            PageError: a name that another result has, or a value that the first run did not give.
        """
        if not page.uri:  # not in a build
            return
        language, uri = page.uri.split("/", 1)
        value = plain(value)
        check_tolerance(tolerance or EXACT)
        entry = Entry(value, tolerance or _default(value), unit, uri, page.section)
        if language == "zh":
            self.repeated.add(name)
        if language == "en":
            if name in self:
                raise PageError(f"{page.uri}: {name!r} is a result of {self[name].page} already")
            self[name] = entry
        elif self.get(name) != entry:
            first = self[name].value if name in self else "nothing"
            raise PageError(
                f"{page.uri}: {name!r} is {value!r} when run again, for Chinese; "
                f"it was {first!r} in English"
            )


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers of numpy and torch as Python's, sequences as lists."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, str):
        return str(value)  # no other string of a kind of its own
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _default(value: Any) -> str:
    if isinstance(value, list):
        return RELATIVE if RELATIVE in map(_default, value) else EXACT
    return RELATIVE if isinstance(value, float) else EXACT


def check_tolerance(tolerance: str) -> None:
    """Raise ValueError for a tolerance that is none of the four."""
    kind, *size = tolerance.split()
    try:
        good = {"rel": lambda: float(*size) > 0, "factor": lambda: float(*size) > 1}[kind]()
    except (KeyError, TypeError, ValueError):
        good = tolerance in (EXACT, MACHINE)
    if not good:
        allowed = "'exact', 'machine', 'rel x' with x above 0, or 'factor x' with x above 1"
        raise ValueError(f"tolerance is {tolerance!r}; it must be {allowed}")


def distance(tolerance: str, expected: Any, got: Any) -> float:
    """How many tolerances `got` is from `expected`; more than 1 is drift."""
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        pairs = zip(expected, got, strict=True)
        return max((distance(tolerance, *pair) for pair in pairs), default=0.0)
    if expected == got or tolerance == MACHINE:
        return 0.0
    numbers = all(isinstance(value, int | float) for value in (expected, got))
    kind, *size = tolerance.split()
    if kind == "rel" and numbers and expected:
        return abs(got - expected) / abs(expected) / float(*size)
    if kind == "factor" and numbers and expected > 0 and got > 0:
        return abs(math.log(got / expected)) / math.log(float(*size))
    return math.inf


def compare(reference: Mapping[str, Entry], ledger: Mapping[str, Entry]) -> list[Drift]:
    """What drifted, appeared, vanished, or has another tolerance or unit, in the pages' order.

    The reference's tolerances count.
    """
    told = []
    for name, entry in ledger.items():
        place = (entry.page, entry.section)
        if name not in reference:
            told.append(Drift(name, "appeared", *place, got=entry.value))
            continue
        wanted = reference[name]
        off = distance(wanted.tolerance, wanted.value, entry.value)
        ours, theirs = ((e.tolerance, e.unit) for e in (entry, wanted))
        if off > 1:
            told.append(Drift(name, "drifted", *place, wanted.value, entry.value, off))
        elif ours != theirs:
            told.append(
                Drift(name, "restated", *place, " ".join(theirs).strip(), " ".join(ours).strip())
            )
    gone = [name for name in reference if name not in ledger]
    return told + [Drift(name, "vanished", expected=reference[name].value) for name in gone]


def read(path: Path) -> dict[str, Entry]:
    """A ledger from its file; where there is none, an empty one.

    Raises:
        ValueError: a file that is not a ledger.
    """
    if not path.is_file():
        return {}
    try:
        results = json.loads(path.read_text())["results"]
        return {name: Entry(**fields) for name, fields in results.items()}
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a ledger: {error}") from None


def write_reference(path: Path, ledger: Mapping[str, Entry]) -> None:
    """Write names, values, units and tolerances: what does not depend on where it was built."""
    kept = {
        name: {key: value for key, value in asdict(entry).items() if key not in ("page", "section")}
        for name, entry in sorted(ledger.items())
    }
    _write(path, {"results": kept})


def write_build(path: Path, ledger: Mapping[str, Entry], root: Path) -> None:
    """Write this build's results with their places, and the environment that gave them."""
    results = {name: asdict(entry) for name, entry in sorted(ledger.items())}
    _write(path, {"environment": environment(root), "results": results})


def _write(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False)
    replace_file(path, text.replace("\n   ", " ").replace("\n  }", " }") + "\n")  # a line a result


def replace_file(path: Path, text: str) -> None:
    """Write beside the file and rename: it is the old one or the new one, never half of it."""
    aside = path.with_name(f".{path.name}-new")
    try:
        aside.write_text(text)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def environment(root: Path) -> dict[str, str]:
    """Python, numpy, torch, processor and commit of this build."""
    return {
        "Python": platform.python_version(),
        "numpy": version("numpy"),
        "torch": version("torch"),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "commit": _commit(root),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit(root: Path) -> str:
    head = git(root, "rev-parse", "HEAD")
    changed = git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{head} with changes" if head and changed else head or "unknown"


def git(root: Path, *arguments: str) -> str:
    """What git says about `root`; nothing where it is no checkout, or there is no git."""
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
