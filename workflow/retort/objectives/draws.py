"""Pseudo-random integers computed from a seed and the numbers of rows, the same on every device."""

from __future__ import annotations

import torch
from torch import Tensor

ODD = 0x9E3779B97F4A7C1  # the top 60 bits of 2^64 / golden ratio; odd, so that a product modulo 2^64 loses nothing
LOW = (1 << 31) - 1  # keeps 31 bits, so that the result is never negative


def hash_integers(counts: Tensor) -> Tensor:
    """Hash integers to pseudo-random integers from 0 to 2^31 - 1, the same on every device."""
    # multiply and xor-shift, twice: close inputs give distant outputs; int64 products wrap alike on every device
    for shift in (29, 32):
        counts = counts * ODD
        counts = counts ^ (counts >> shift)
    return (counts * ODD >> 31) & LOW


def draw_integers(seed: int, calls: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return pseudo-random integers for each row of a batch, (batch, count), from 0 to 2^31 - 1.

    Args:
        seed: seed of the draws.
        calls: number of earlier calls with this seed, scalar int64.
        rows: the numbers of the rows in their data set, (batch,).
        count: number of integers for each row.
    """
    each = torch.arange(count, device=rows.device)
    first = hash_integers(seed + hash_integers(calls + 1))  # scalar, another one for each call
    return hash_integers(hash_integers(first + rows[:, None]) + each)
