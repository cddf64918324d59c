"""Types and functions that the forms share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from retort.objectives.base import NEVER

Vectors = tuple[Tensor, Tensor]  # rows and columns, (batch, length, width) each
Form = Callable[[Vectors, Vectors, int, Tensor, Tensor, float], Tensor]  # the arguments of `relation_divergence`


def form_of(function: type[torch.autograd.Function]) -> Form:
    """Return a form that calls an autograd function, which takes the four tensors one by one."""

    def form(student: Vectors, teacher: Vectors, heads: int, keys: Tensor, weights: Tensor, floor: float) -> Tensor:
        total: Tensor = function.apply(*student, *teacher, keys, weights, heads, floor)  # type: ignore[no-untyped-call]
        return total

    return form


def head_chunks(heads: int, keys: Tensor, numbers: int) -> list[slice]:
    """Return slices of the heads that are computed at once.

    Args:
        heads: number of heads.
        keys: (batch, length); the relation of one head has batch x length x length numbers.
        numbers: the most numbers of a relation in one slice; a slice has at least one head.
    """
    step = max(1, numbers // (keys.shape[0] * keys.shape[1] ** 2))
    return [slice(first, first + step) for first in range(0, heads, step)]


def padding_bias(keys: Tensor, like: Tensor) -> Tensor:
    """Return the bias to add to scores, (batch, 1, 1, column): 0 where `keys` is True, else NEVER; dtype as `like`."""
    bias = torch.zeros(keys.shape, dtype=like.dtype, device=like.device).masked_fill_(~keys, NEVER)
    return bias[:, None, None, :]


def merge_heads(chunks: list[Tensor]) -> Tensor:
    """Join chunks of heads, (batch, chunk, length, size) each, to (batch, length, width)."""
    return torch.cat(chunks, dim=1).transpose(1, 2).flatten(2)
