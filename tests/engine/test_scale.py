"""FSDP2 on ranks that do not exist: what it stores and sends is the paper's, padding counted."""

import pytest

from zerolit.engine import at_scale


def padded(size):
    """By hand: a GPT of one layer of width 64, vocabulary 100; every parameter by its rows."""

    def up(rows):
        return -(-rows // size) * size

    embedding = up(100) * 64 + up(128) * 64
    norms = 3 * 2 * up(64)
    attention = up(192) * 64 + up(192) + up(64) * 64 + up(64)
    mlp = up(256) * 64 + up(256) + up(64) * 256 + up(64)
    head = up(100) * 64
    return embedding + norms + attention + mlp + head


@pytest.mark.parametrize("ranks", [4, 64, 300])
def test_stored_and_sent_are_the_formulas_on_the_padded_model(ranks):
    seen = at_scale(ranks, layers=1, width=64, vocab=100)
    assert seen.padded == padded(ranks)
    assert seen.stored == 4 * padded(ranks) // ranks
    assert seen.sent == 3 * (ranks - 1) * (padded(ranks) // ranks)
    assert seen.parameters == padded(1)


@pytest.mark.parametrize("bad", [(1, 1, 64), (2, 0, 64), (2, 1, 100)])
def test_sizes_that_cannot_be(bad):
    with pytest.raises(ValueError, match="they must be at least 2, at least 1, and a multiple"):
        at_scale(*bad)
