"""Protect the weights from a NaN or infinite loss or gradient, without waiting for the device."""

from __future__ import annotations

import torch
from torch import Tensor


class Guard:
    """Store on the device the first step of a training run at which loss or gradient is NaN or infinite.

    From that step on `found_inf` is 1, and the fused AdamW changes neither weights nor moments. So the host may ask
    some steps later, and still finds the weights from before the divergence.

    Args:
        device: the device of the losses.
    """

    def __init__(self, device: str) -> None:
        self.first = torch.zeros((), dtype=torch.int64, device=device)  # 0: none so far

    def found_inf(self, step: int, value: Tensor, norm: Tensor) -> Tensor:
        """Return 1 if this step or an earlier one diverged, else 0, as a scalar tensor.

        Args:
            step: the number of the step, from 1.
            value: the loss of the step, a scalar.
            norm: the norm of the gradient, a scalar.
        """
        bad = ~(value.isfinite() & norm.isfinite())
        self.first = torch.where(bad & (self.first == 0), step, self.first)
        return (self.first > 0).float()
