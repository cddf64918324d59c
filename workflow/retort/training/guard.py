"""Keep a loss or a gradient that is not finite from the weights, without waiting for the device."""

from __future__ import annotations

import torch
from torch import Tensor


class Guard:
    """The first step of a training run whose loss or gradient is not finite, kept on the device.

    From that step on `found_inf` is 1, and the fused AdamW leaves weights and moments as they are. So the host may ask
    some steps later, and the weights are those before the divergence.

    Args:
        device: where the losses are.
    """

    def __init__(self, device: str) -> None:
        self.first = torch.zeros((), dtype=torch.int64, device=device)  # 0: none so far

    def found_inf(self, step: int, value: Tensor, norm: Tensor) -> Tensor:
        """Take the scalar loss and gradient norm of a step; return 1 if this step or one before diverged, else 0."""
        bad = ~(value.isfinite() & norm.isfinite())
        self.first = torch.where(bad & (self.first == 0), step, self.first)
        return (self.first > 0).float()
