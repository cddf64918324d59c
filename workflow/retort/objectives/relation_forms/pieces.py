"""What the forms that hold the relations of some heads have in common."""

from __future__ import annotations

import torch
from torch import Tensor

from retort.objectives.base import NEVER


def head_chunks(heads: int, keys: Tensor, numbers: int) -> list[slice]:
    """Return slices of heads to compute at once, so that their relations have at most about so many numbers.

    Args:
        heads: number of heads.
        keys: (batch, length); the relation of one head has batch x length x length numbers.
        numbers: the numbers of a relation to hold at once; at least one head is held.
    """
    step = max(1, numbers // (keys.shape[0] * keys.shape[1] ** 2))
    return [slice(first, first + step) for first in range(0, heads, step)]


def padding_bias(keys: Tensor, like: Tensor) -> Tensor:
    """Return what is added to scores, (batch, 1, 1, column): 0 where `keys` is True, else NEVER; dtype as `like`."""
    bias = torch.zeros(keys.shape, dtype=like.dtype, device=like.device).masked_fill_(~keys, NEVER)
    return bias[:, None, None, :]


def merged(chunks: list[Tensor]) -> Tensor:
    """Join chunks of (batch, chunk, length, size), all heads together, to (batch, length, width)."""
    return torch.cat(chunks, dim=1).transpose(1, 2).flatten(2)
