"""Prove a reader's rank program, and count its steps and what it sends."""

from collections.abc import Callable
from typing import Any

from zerolit.comm import Proof, collective, judge

from .exercise import Wrong

SIZES = (2, 3, 4, 8, 1)  # one rank comes last: what is wrong there means little to a reader
SECONDS = 5.0  # for a rank program on all sizes


def proved(
    solution: Callable,
    goal: str,
    least: Callable[[int], int],
    pieces: Callable[[int], int] = lambda size: size,
    by_traffic: bool = True,
    **marks: Any,
) -> dict[str, Any]:
    """Prove a program for every size of `SIZES`, in a process of its own.

    Args:
        goal: what the program is to reach, one of `zerolit.comm`'s.
        least: how many steps are enough, given the size.
        pieces: into how many chunks the array is cut, given the size.
        by_traffic: whether the busiest rank must not send more than the bound.
        marks: further ones of `collective`.

    Raises:
        Wrong: the prover's verdict; or more steps, or more traffic, than it takes.
    """
    program, praise = collective(goal, pieces=pieces, **marks)(solution), dict[str, Any]()
    for size in SIZES:
        verdict = judge(program, size, seconds=SECONDS)
        if verdict.proof is None:
            raise Wrong("prover" if size > 1 else "alone", verdict)
        what = told(verdict.proof, least(size))
        praise = what if size > 1 else praise
        if by_traffic and not verdict.proof.optimal:
            raise Wrong("too_much", **what)
        if what["steps"] > what["least"]:
            raise Wrong("too_slow", **what)
    return praise


def told(proof: Proof, least: int) -> dict[str, Any]:
    """What sentences say of a proof."""
    shares = {"sent": str(max(proof.sent)), "bound": str(proof.bound)}
    return {"size": proof.size, "steps": proof.steps, "least": least, **shares}


PROVED = {
    "right": (
        "right: proved on 1, 2, 3, 4 and 8 cards; on {size} it takes {steps} steps, and the "
        "busiest card sends {sent} of the array, the least that is possible",
        "正确：已对 1、2、3、4、8 张卡证明；{size} 张卡用 {steps} 步，"
        "发得最多的卡发出整个数组的 {sent}，已是下界",
    ),
    "too_much": (
        "the result is right, but on {size} cards the busiest sends {sent} × the array; "
        "{bound} × is enough",
        "结果正确，但 {size} 张卡时发得最多的卡发出整个数组的 {sent} 倍；{bound} 倍就够了",
    ),
    "too_slow": (
        "the result is right, but on {size} cards it takes {steps} steps; {least} are enough: "
        "send and receive in one swap",
        "结果正确，但 {size} 张卡用了 {steps} 步；{least} 步就够了：一次 Swap 同时收发",
    ),
}
