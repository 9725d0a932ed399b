"""Exercises 10 and 12: AdamW on a slice, and clipping by a norm that nobody holds whole."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zerolit.comm import RankProgram

from .exercise import Exercise, Wrong
from .ranks import asked, run

SIZES = (2, 3, 4, 8, 1)  # one rank comes last: it hides most mistakes

# Exercise 10

HOW = {"lr": 0.01, "wd": 0.5, "beta1": 0.9, "beta2": 0.95, "eps": 1e-3}
STEPS, N = 3, 11
# float64 has 53 bits; a dozen operations in three steps, in whatever order, stay far below.
CLOSE = 1e-12


def _gradients() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(N, dtype=torch.float64, generator=generator) for _ in range(STEPS)]


def _start() -> Tensor:
    return torch.linspace(-2, 2, N, dtype=torch.float64)


def pytorchs() -> list[Tensor]:
    """The parameters `[N]` after each step of torch.optim.AdamW on the whole vector."""
    parameter = torch.nn.Parameter(_start())
    betas = (HOW["beta1"], HOW["beta2"])
    adamw = torch.optim.AdamW([parameter], HOW["lr"], betas, HOW["eps"], HOW["wd"])
    after = []
    for gradient in _gradients():
        parameter.grad = gradient
        adamw.step()
        after.append(parameter.detach().clone())
    return after


def _adamw_slice(solution: Callable) -> dict[str, Any]:
    right = pytorchs()
    for size in SIZES:
        for rank, got in enumerate(_updated(solution, size)):
            for step, (mine, whole) in enumerate(zip(got, right, strict=True), 1):
                wanted = whole.tensor_split(size)[rank]
                if not torch.allclose(mine, wanted, rtol=CLOSE, atol=CLOSE):
                    kind = _slip(mine, rank, size, step)
                    raise Wrong(kind, size=size, rank=rank, step=step)
    return {"size": max(SIZES), "steps": STEPS}


def _updated(solution: Callable, size: int) -> list[list[Tensor]]:
    """For each rank its slice of the parameters after each step."""
    parameters = [part.clone() for part in _start().tensor_split(size)]
    m, v = ([torch.zeros_like(part) for part in parameters] for _ in "mv")
    after: list[list[Tensor]] = [[] for _ in range(size)]
    for step, gradient in enumerate(_gradients(), 1):
        for rank, part in enumerate(gradient.tensor_split(size)):
            solution(parameters[rank], part.clone(), m[rank], v[rank], step, **HOW)
            after[rank].append(parameters[rank].clone())
    return after


def _slip(got: Tensor, rank: int, size: int, step: int) -> str:
    """The mistake that gives just these numbers, if it is one that people make."""
    for kind, slip in SLIPS.items():
        parameter, m, v = _start(), torch.zeros(N).double(), torch.zeros(N).double()
        for number, gradient in enumerate(_gradients()[:step], 1):
            slip(parameter, gradient, m, v, number)
        if torch.allclose(got, parameter.tensor_split(size)[rank], rtol=CLOSE, atol=CLOSE):
            return kind
    return "wrong"


def _adam(
    p: Tensor,
    g: Tensor,
    m: Tensor,
    v: Tensor,
    t: int,
    corrected: bool = True,
    late: int = 0,
    decay: str = "apart",
    eps_inside: bool = False,
    square: bool = True,
    keeps: bool = True,
    moves: bool = True,
) -> None:
    """AdamW, or a mistake in it, on a whole vector in place."""
    lr, wd, beta1, beta2, eps = HOW.values()
    g = g + wd * p if decay == "in the gradient" else g
    start = p.clone()
    if decay == "apart":
        p.mul_(1 - lr * wd)
    m_now = beta1 * m + (1 - beta1) * g
    v_now = beta2 * v + (1 - beta2) * (g * g if square else g.abs())
    if keeps:
        m.copy_(m_now)
        v.copy_(v_now)
    m_hat = m_now / (1 - beta1 ** (t + late)) if corrected else m_now
    v_hat = v_now / (1 - beta2 ** (t + late)) if corrected else v_now
    p -= lr * m_hat / ((v_hat + eps).sqrt() if eps_inside else v_hat.sqrt() + eps)
    if not moves:
        p.copy_(start)


SLIPS = {
    "unmoved": partial(_adam, moves=False),
    "uncorrected": partial(_adam, corrected=False),
    "miscounted": partial(_adam, late=1),
    "coupled": partial(_adam, decay="in the gradient"),
    "no_decay": partial(_adam, decay="none"),
    "eps_inside": partial(_adam, eps_inside=True),
    "no_square": partial(_adam, square=False),
    "forgets": partial(_adam, keeps=False),
}


def _adamw_is(en: str, zh: str) -> tuple[str, str]:
    return (
        f"{{size}} slices, step {{step}}: slice {{rank}} is not what torch.optim.AdamW gives; {en}",
        f"切成 {{size}} 段，第 {{step}} 步：第 {{rank}} 段与 torch.optim.AdamW 的结果不同；{zh}",
    )


ADAMW_SLICE = Exercise(
    10,
    "adamw-slice",
    "adamw_slice(parameters, gradient, m, v, step, lr, wd, beta1, beta2, eps)",
    "zero.md#zero-same-bits",
    _adamw_slice,
    {
        "right": (
            "right: in 1 to {size} slices, over {steps} steps, it is torch.optim.AdamW on the "
            "whole vector",
            "正确：切成 1 到 {size} 段，{steps} 步之内都与 torch.optim.AdamW "
            "更新整个向量的结果一致",
        ),
        "unmoved": _adamw_is(
            "the parameters did not change: change them in place",
            "参数没有变：要就地修改",
        ),
        "uncorrected": _adamw_is(
            "m and v start at 0, so both are divided by 1 − βᵗ",
            "m 和 v 从 0 开始，因此都要除以 1 − βᵗ",
        ),
        "miscounted": _adamw_is(
            "`step` counts from 1 already: β¹ in the first step",
            "`step` 已经从 1 数起：第一步用 β¹",
        ),
        "coupled": _adamw_is(
            "decay was added to the gradient, which is Adam with L2; AdamW shrinks the parameter "
            "itself",
            "权重衰减加进了梯度，那是带 L2 的 Adam；AdamW 直接缩小参数本身",
        ),
        "no_decay": _adamw_is("the weight decay is left out", "漏了权重衰减"),
        "eps_inside": _adamw_is(
            "ε is added after the root, not under it", "ε 加在开方之后，不在根号里"
        ),
        "no_square": _adamw_is(
            "v is the average of g², not of |g|",
            "v 是 g² 的平均，不是 |g| 的平均",
        ),
        "forgets": _adamw_is(
            "m and v are not as they should be: change them in place, too, for the next step",
            "m 和 v 不对：它们也要就地修改，留给下一步用",
        ),
        "wrong": _adamw_is(
            "compare each line with the formulas",
            "请逐行与公式对照",
        ),
    },
)

# Exercise 12

SHARES = [3.0, -4.0, 12.0, 84.0, 0.0, 0.0, 132.0, 8.0]  # of one rank: norms of 3, 5, 13, 85, …


def _share(rank: int, size: int) -> Tensor:
    """A rank's slice of the gradient: whole numbers, so that squares are summed exactly."""
    return torch.tensor([SHARES[rank], float(rank % 3)])


def _clip(solution: Callable, engine: str) -> dict[str, Any]:
    sizes = (3,) if engine == "torch" else SIZES
    for size in sizes:
        for bound in (1.0, 1e6):
            facts = run(partial(_clipped, max_norm=bound, solution=solution), size, engine)
            for rank, one in enumerate(facts):
                _the_same_factor(one.result, rank, size, bound)
        sent = max(one.sent for one in facts)
        if sent >= 2 * size > 2:
            raise Wrong("sends", size=size, sent=sent, least=size)
    return {"size": max(sizes)}


def _clipped(rank: int, size: int, max_norm: float, solution: Callable) -> RankProgram:
    share = _share(rank, size)
    yield from asked(solution(rank, size, share, max_norm))
    return share


def _the_same_factor(got: Tensor, rank: int, size: int, bound: float) -> None:
    each = [_share(r, size) for r in range(size)]
    norm = torch.cat(each).norm()
    right = each[rank] * torch.clamp(bound / (norm + 1e-6), max=1.0)  # as clip_grad_norm_ does
    if torch.allclose(got, right, rtol=1e-5, atol=0):  # 1e-6 may be left out, or stand elsewhere
        return
    own, norms = each[rank].norm(), torch.stack([share.norm() for share in each])
    factors = {
        "unclipped": torch.tensor(1.0),
        "unclamped": bound / norm,
        "local": (bound / own).clamp(max=1),
        "sum_of_norms": (bound / norms.sum()).clamp(max=1),
        "no_root": (bound / norm**2).clamp(max=1),
        "split": (bound / size / norm).clamp(max=1),
        "mean_square": (bound / (norm**2 / size).sqrt()).clamp(max=1),
    }
    kinds = (k for k, f in factors.items() if torch.allclose(got, each[rank] * f, rtol=1e-5))
    raise Wrong(next(kinds, "wrong"), size=size, rank=rank, bound=f"{bound:g}", norm=f"{norm:.4g}")


def _clip_is(en: str, zh: str) -> tuple[str, str]:
    return (
        f"{{size}} ranks, norm {{norm}}, at most {{bound}}; rank {{rank}}: {en}",
        f"{{size}} 个 rank，范数 {{norm}}，上限 {{bound}}；rank {{rank}}：{zh}",
    )


CLIP = Exercise(
    12,
    "clip",
    "clip(rank, size, share, max_norm)",
    "zero.md#zero-same-bits",
    _clip,
    {
        "right": (
            "right: on 1 to {size} ranks every slice is scaled by the norm of the whole gradient",
            "正确：1 到 {size} 个 rank 上，每一段都按整个梯度的范数缩放",
        ),
        "unclipped": _clip_is(
            "the slice is not scaled: change it in place", "这一段没有缩放：要就地修改"
        ),
        "unclamped": _clip_is(
            "a gradient below the bound is scaled up; the factor is at most 1",
            "把没有超限的梯度放大了；系数最大是 1",
        ),
        "local": _clip_is(
            "the slice is scaled by its own norm, so each rank takes another factor",
            "按自己这一段的范数缩放，于是各 rank 的系数不同",
        ),
        "sum_of_norms": _clip_is(
            "norms were added up; add up their squares, and take the root once",
            "把范数直接相加了；应当把范数的平方相加，最后开一次方",
        ),
        "no_root": _clip_is("the root of the sum of squares is missing", "平方和没有开方"),
        "split": _clip_is(
            "the bound was divided by the number of ranks; it holds for the whole norm",
            "把上限除以了 rank 数；上限针对的是整体范数",
        ),
        "mean_square": _clip_is(
            "squares were averaged over the ranks; add them up",
            "把平方在 rank 间取了平均；应当求和",
        ),
        "wrong": _clip_is(
            "the slice is not what clipping by the whole norm gives",
            "这一段与按整体范数裁剪的结果不同",
        ),
        "sends": (
            "the slices are right, but a rank of {size} sends {sent} numbers; about {least} are "
            "enough: a norm is one number, the gradient stays where it is",
            "结果正确，但 {size} 个 rank 时有一个发送 {sent} 个数；约 {least} 个就够："
            "范数只是一个数，梯度不必动",
        ),
    },
    engine=True,
)
