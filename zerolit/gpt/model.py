"""A tiny GPT in one readable module: embedding, blocks, head.

The model is a list of units, so that a ZeRO stage can walk them one by one.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    """The model's sizes.

    Attributes:
        qkv_bias: without it every parameter has a gradient that is not zero in exact arithmetic;
            the key's bias has none, since the softmax does not see it.
        tied: the head uses the token embedding's weights.
        dtype: of the parameters.
    """

    vocab: int = 44
    layers: int = 2
    width: int = 64
    heads: int = 4
    context: int = 96
    qkv_bias: bool = True
    tied: bool = False
    dtype: torch.dtype = torch.float32


BASE_CONFIG = Config()  # 111 872 parameters


class Embedding(nn.Module):
    """Token plus position."""

    def __init__(self, config: Config):
        super().__init__()
        self.token = nn.Embedding(config.vocab, config.width, dtype=config.dtype)
        self.position = nn.Embedding(config.context, config.width, dtype=config.dtype)

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1], device=x.device)
        return self.token(x) + self.position(positions)  # [batch, context, width]


class Attention(nn.Module):
    """Every position looks at itself and what came before."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(
            config.width, 3 * config.width, bias=config.qkv_bias, dtype=config.dtype
        )
        self.out = nn.Linear(config.width, config.width, dtype=config.dtype)

    def forward(self, h: Tensor) -> Tensor:
        batch, context, width = h.shape
        heads = (batch, context, self.heads, width // self.heads)
        q, k, v = (part.view(heads).transpose(1, 2) for part in self.qkv(h).split(width, dim=2))
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=True
        )  # [batch, heads, context, ·]
        return self.out(mixed.transpose(1, 2).reshape(batch, context, width))


class Block(nn.Module):
    """Attention, then two linear layers, each added to what comes in."""

    def __init__(self, config: Config):
        super().__init__()
        width, kind = config.width, config.dtype
        self.norm1 = nn.LayerNorm(width, dtype=kind)
        self.attention = Attention(config)
        self.norm2 = nn.LayerNorm(width, dtype=kind)
        self.up = nn.Linear(width, 4 * width, dtype=kind)
        self.down = nn.Linear(4 * width, width, dtype=kind)

    def forward(self, h: Tensor) -> Tensor:
        h = h + self.attention(self.norm1(h))  # [batch, context, width]
        return h + self.down(F.gelu(self.up(self.norm2(h))))


class Head(nn.Module):
    """From the last hidden state to the logits of the next character."""

    def __init__(self, config: Config):
        super().__init__()
        self.norm = nn.LayerNorm(config.width, dtype=config.dtype)
        self.linear = nn.Linear(config.width, config.vocab, bias=False, dtype=config.dtype)

    def forward(self, h: Tensor) -> Tensor:
        return self.linear(self.norm(h))  # [batch, context, vocab]


class GPT(nn.Module):
    """The units in a row: embedding, blocks, head."""

    def __init__(self, config: Config):
        super().__init__()
        blocks = [Block(config) for _ in range(config.layers)]
        self.config = config
        self.units = nn.ModuleList([Embedding(config), *blocks, Head(config)])
        if config.tied:
            self.units[-1].linear.weight = self.units[0].token.weight  # type: ignore[union-attr]

    def forward(self, x: Tensor) -> Tensor:
        """Logits `[batch, context, vocab]` for tokens x `[batch, context]`."""
        h = x
        for unit in self.units:
            h = unit(h)
        return h


def make_model(config: Config = BASE_CONFIG, seed: int = 0) -> GPT:
    """A fresh model; the same seed gives the same bits, and the global generator is left alone.

    Raises:
        ValueError: a width that the heads do not divide.
    """
    if config.width % config.heads:
        raise ValueError(f"width is {config.width}; it must be a multiple of heads, {config.heads}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPT(config)
        torch.manual_seed(seed)  # the weights below do not depend on which biases there are
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:  # GPT-2: normal(0, 0.02); biases 0, norms 1
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
    return model


def loss_sum(logits: Tensor, y: Tensor) -> Tensor:
    """The summed cross-entropy over all tokens; who divides, and by what, is the caller's."""
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
