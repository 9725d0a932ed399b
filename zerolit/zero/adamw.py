"""AdamW on a flat vector or any slice of one, written out for reading."""

import math

import torch
from torch import Tensor


class FlatAdamW:
    """AdamW (Loshchilov & Hutter, arXiv 1711.05101) for `n` elements.

    Every operation is elementwise, so a slice of a vector is updated to the same bits as the whole:
    that is why ZeRO may cut the update among the ranks.
    """

    def __init__(
        self,
        n: int,
        lr: float = 3e-3,
        wd: float = 0.1,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ):
        self.n, self.lr, self.wd, self.betas, self.eps = n, lr, wd, betas, eps
        self.m = torch.zeros(n, dtype=dtype, device=device)
        self.v = torch.zeros(n, dtype=dtype, device=device)
        self.steps = 0

    def step(self, params: Tensor, grads: Tensor, keep: Tensor | None = None) -> None:
        """Update `params` `[n]` in place from `grads` `[n]`; costs one temporary vector.

        Where the mask `keep` `[n]` is true the parameter, m and v stay as they are, as torch.optim
        leaves a parameter without `.grad`; but steps are counted for the whole vector.

        Raises:
            ValueError: vectors of another length.
        """
        if params.shape != self.m.shape or grads.shape != self.m.shape:
            raise ValueError(
                f"params have shape {tuple(params.shape)}, grads {tuple(grads.shape)}; "
                f"both must be {tuple(self.m.shape)}"
            )
        kept = [] if keep is None else [vector[keep] for vector in (params, self.m, self.v)]
        self.steps += 1
        # --8<-- [start:update]
        beta1, beta2 = self.betas
        params.mul_(1 - self.lr * self.wd)  # decay: p ← p − lr·wd·p
        self.m.lerp_(grads, 1 - beta1)  # m ← β₁m + (1 − β₁)g
        self.v.mul_(beta2)
        self.v.addcmul_(grads, grads, value=1 - beta2)  # v ← β₂v + (1 − β₂)g²
        correction1 = 1 - beta1**self.steps  # both averages start at 0
        correction2 = 1 - beta2**self.steps
        denominator = (self.v.sqrt() / math.sqrt(correction2)).add_(self.eps)
        params.addcdiv_(self.m, denominator, value=-self.lr / correction1)
        # --8<-- [end:update]
        for vector, old in zip((params, self.m, self.v), kept, strict=False):
            vector[keep] = old
