"""What the others see when nobody watches, and what our launcher makes of it."""

import pytest

from zerolit.engine import watch
from zerolit.engine.faults import FAULTS, what_the_launcher_says, what_the_others_see

SEEN = {
    "killed": "closed",
    "exits": "closed",
    "raises": "closed",
    "returns early": "closed",
    "hangs": "timed out",
    "another shape": "aborted",
    "another dtype": "aborted",
    "another collective": None,  # all return, and nobody notices
}


def test_every_fault_is_here():
    assert set(SEEN) == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_others_see_no_cause(fault):
    for _ in range(2):
        assert what_the_others_see(fault, timeout=4.0) == SEEN[fault]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("culprit", [0, 2])
def test_the_launcher_names_the_culprit(fault, culprit, monkeypatch):
    monkeypatch.setattr(watch, "SETTLE", 2.0)  # ranks that share the cores may come late
    told = what_the_launcher_says(fault, culprit=culprit, timeout=4.0)
    assert told.startswith(f"rank {culprit} ")
