"""Every small change of a solution is found wrong, or changes nothing that is judged."""

import ast
import re
import warnings
from difflib import ndiff

import pytest

from tests.comm.mutants import mutants_of
from zerolit.exercises import NAMES, find, proof

from .graded import judged, solution

# Lines of right mutants, and why they do the same.
_LABEL = r"yield Swap\(x\[send\], right, left, x\[receive\], \w+\)"  # a name in the log, no more
_ROUND = r"rank - step( \+ 1)?\)?$|= \(rank - step \+ 1, "  # Python counts below 0 from the end
SAME = {
    "reduce-scatter": [_LABEL, _ROUND],
    "all-gather": [_LABEL, _ROUND],
    "broadcast": [
        r"Swap\(x\[0\], to=rank \+ distance(, chunk=-?\d)?\)",  # a name in the log
        r"x\[-1\]",  # there is one chunk
        "while distance <= size:",  # then all cards have it, and none is left to send to
    ],
    "zero1": [r"FlatAdamW\(len\(mine\)\)"],  # as long as the slice of the parameters
    "clip": [r"squares\.sqrt\(\)( - 1e-06)?\)?$"],  # the 10⁻⁶ is below what is compared
    "zero3": [
        r"kept\.get\(layer, 0\)"
    ],  # but for the tied layer, which comes first, layer i uses i
    "two-level": [
        _LABEL,
        r"for \w+ in range\(size\)\]",  # more parts than are used
        r"\(mates, rank, x, shares|= \(rank \+ 1\) % cards",  # the rank is taken modulo the cards
        r"ranks\[me - 1\]|parts\[at - 1\]",  # counts below 0 from the end
    ],
    "culprit": [r"next\(\(_ for"],  # starts one further on the same way
}
EVERY = {"two-level": 8}  # 1513 mutants: one in eight is tried


@pytest.mark.parametrize("name", NAMES)
def test_every_mutant_of_a_solution_is_wrong_or_does_the_same(name, monkeypatch):
    monkeypatch.setattr(proof, "SECONDS", 1.0)
    right = ast.unparse(ast.parse(solution(name)))
    texts = list(dict.fromkeys(mutants_of(right, find(name).arguments)))[:: EVERY.get(name, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch's, of what mutants index by
        passed = [text for text in texts if judged(name, text).right]
    print(f"{name}: {len(texts)} mutants, {len(passed)} do the same")
    assert len(texts) >= 10
    assert [line for text in passed if not _same(name, line := _changed(right, text))] == []


def _changed(right: str, text: str) -> str:
    """The line that differs."""
    lines = ndiff(right.splitlines(), text.splitlines())
    return next(line[1:].strip() for line in lines if line.startswith("+"))


def _same(name: str, line: str) -> bool:
    return any(re.search(pattern, line) for pattern in SAME.get(name, ()))
