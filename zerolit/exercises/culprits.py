"""Exercise 16: whose fault it is, from what the ranks were doing when everything stood still."""

from collections.abc import Callable, Iterator
from typing import Any

from zerolit.comm import Chunks, CommError, RankProgram, Swap, ring, tree
from zerolit.comm.chunks import Symbol
from zerolit.comm.lockstep import Transport, lock_step

from .exercise import Exercise, Wrong

Report = tuple[str, int | None]  # ("waits", for whom), ("computes", None), ("returned", None), …
ENDS = {"killed": "gone", "hangs": "computes", "returns early": "returned"}


class _Standing(Transport):
    """Which halves of its swap each rank still waits for."""

    def __init__(self, size: int):
        self.open: list[set[int]] = [set() for _ in range(size)]

    def carry(self, step: int, source: int, swap: Swap) -> Any:
        to: int = swap.to  # type: ignore[assignment]
        self.open[source].discard(to)
        self.open[to].discard(source)
        return swap.payload

    def watch(self, rank: int, program: RankProgram, ends_at: int | None) -> RankProgram:
        """The program with its open halves noted; it ends at its swap number `ends_at`."""
        arrived, number = None, 0
        while number != ends_at:
            try:
                swap = program.send(arrived)
            except StopIteration:
                return
            self.open[rank] = {peer for peer in (swap.to, swap.frm) if peer is not None}
            number += 1
            arrived = yield swap


def reports(collective: Callable, size: int, culprit: int, at: int, how: str) -> list[Report]:
    """What each rank is doing once nothing moves, after `culprit` ended at its swap number `at`.

    Nothing at all if all others end in spite of it.
    """
    standing, pieces = _Standing(size), collective.pieces(size)  # type: ignore[attr-defined]
    programs = [
        collective(rank, size, Chunks(Symbol(0) for _ in range(pieces))) for rank in range(size)
    ]
    ends = [at if rank == culprit else None for rank in range(size)]
    try:
        lock_step(list(map(standing.watch, range(size), programs, ends)), standing)
    except CommError:
        pass
    else:
        return []
    told: list[Report] = [
        ("waits", max(peers)) if peers else ("returned", None) for peers in standing.open
    ]
    told[culprit] = (ENDS[how], None)
    return told


def cases() -> Iterator[tuple[list[Report], int]]:
    """Reports and whose fault they are: the ring and the tree, each rank, at several moments."""
    for collective in (ring.all_reduce, tree.all_reduce):
        for size in (2, 3, 4, 8):
            for culprit in range(size):
                for at in (0, 1, size // 2):
                    for how in ENDS:
                        if told := reports(collective, size, culprit, at, how):
                            yield told, culprit


def _culprit(solution: Callable) -> dict[str, Any]:
    count = 0
    for told, culprit in cases():
        got = solution(list(told))
        if got != culprit:
            _refuse(got, told, culprit)
        count += 1
    return {"cases": count}


def _refuse(got: Any, told: list[Report], culprit: int) -> None:
    what: dict[str, Any] = {"got": repr(got), "culprit": culprit, "reports": _told(told)}
    if type(got) is not int or not 0 <= got < len(told):
        raise Wrong("no_rank", **what, last=len(told) - 1)
    doing, peer = told[got]
    if doing == "waits":
        kind = "victim" if peer == culprit else "victims_victim"
        raise Wrong(kind, **what, peer=peer)
    raise Wrong("nobody_waits", **what)


def _told(told: list[Report]) -> tuple[str, str]:
    words = {"gone": "没有回应", "computes": "在计算", "returned": "已返回"}
    en = (f"waits for {peer}" if doing == "waits" else doing for doing, peer in told)
    zh = (f"在等 {peer}" if doing == "waits" else words[doing] for doing, peer in told)
    return (
        ", ".join(f"{rank} {doing}" for rank, doing in enumerate(en)),
        "，".join(f"{rank} {doing}" for rank, doing in enumerate(zh)),
    )


CULPRIT = Exercise(
    16,
    "culprit",
    "culprit(reports)",
    "when-a-rank-dies.md#how-the-launcher-knows",
    _culprit,
    {
        "right": (
            "right: in {cases} cases, on the ring and on the tree, it names the rank at fault",
            "正确：在环和树上的 {cases} 种情形里，都找到了出错的 rank",
        ),
        "no_rank": (
            "{reports}: returns {got}, not the number of a rank, 0 to {last}",
            "{reports}：返回了 {got}，而不是 0 到 {last} 之间的 rank 编号",
        ),
        "victim": (
            "{reports}: rank {got} only waits for rank {peer}, and that one is at fault",
            "{reports}：rank {got} 只是在等 rank {peer}，出错的是后者",
        ),
        "victims_victim": (
            "{reports}: rank {got} only waits, for rank {peer}; follow on whom that one waits, to "
            "rank {culprit}",
            "{reports}：rank {got} 只是在等 rank {peer}；再看后者在等谁，一路追到 rank {culprit}",
        ),
        "nobody_waits": (
            "{reports}: nobody who stands still waits, directly or through others, for rank {got}; "
            "it is rank {culprit}",
            "{reports}：停住的 rank 里，没有谁直接或间接在等 rank {got}；出错的是 rank {culprit}",
        ),
    },
)
