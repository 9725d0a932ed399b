"""Who is in which chunk of which card, step after step: from the log of a collective."""

from zerolit.comm import CommLog

Holding = list[list[frozenset[int]]]  # [rank][chunk]: whose shares are in it


def holdings(log: CommLog) -> list[Holding]:
    """Who is in which chunk of which card: at the start and after every step of a logged ring."""
    size = log.size
    moments = [[[frozenset([rank])] * size for rank in range(size)]]
    for step in range(1, log.steps + 1):
        before = moments[-1]
        after = [list(row) for row in before]
        for m in (m for m in log.messages if m.step == step):
            after[m.destination][m.chunk] |= before[m.source][m.chunk]  # type: ignore[index]
        moments.append(after)
    return moments
