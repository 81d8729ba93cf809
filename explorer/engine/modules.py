"""Which small modules is the model made of? Weights without values: `weights.py` fills them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class RMSNorm(nn.Module):
    """x / rms(x) · weight over the last axis, computed in float32."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(variance + self.epsilon)).to(x.dtype)


class Linear(nn.Module):
    """x · weightᵀ. nn.Linear would first draw random weights that nobody uses."""

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(output_size, input_size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weight)


class Embedding(nn.Module):
    """One row of `weight` for each token."""

    def __init__(self, vocab_size: int, hidden_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, hidden_size))

    def forward(self, tokens_BL: torch.Tensor) -> torch.Tensor:
        return functional.embedding(tokens_BL, self.weight)
