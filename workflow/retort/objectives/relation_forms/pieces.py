"""What the forms have in common."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from retort.objectives.base import NEVER

Vectors = tuple[Tensor, Tensor]  # rows and columns, (batch, length, width) each
Form = Callable[[Vectors, Vectors, int, Tensor, Tensor, float], Tensor]  # the arguments of `relation_divergence`


def form_of(function: type[torch.autograd.Function]) -> Form:
    """Return the form that a function computes, which takes both vectors of student and of teacher one by one."""

    def form(student: Vectors, teacher: Vectors, heads: int, keys: Tensor, weights: Tensor, floor: float) -> Tensor:
        total: Tensor = function.apply(*student, *teacher, keys, weights, heads, floor)  # type: ignore[no-untyped-call]
        return total

    return form


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
