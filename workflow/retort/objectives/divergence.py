"""The KL divergence between relations, computed a few heads at a time.

Relations are as large as heads x length x length: at 48 heads they are most of what a step writes to memory. Only a few
heads' worth exist at any time here, small enough for a cache, and the gradient is formed while they do.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.objectives.base import NEVER, heads_of, wide

CACHED = 1 << 18  # numbers of a relation that a CPU's cache holds; a GPU wants more at a time
LAUNCHED = 1 << 25


def pieces(heads: int, size: int, device: torch.device) -> list[slice]:
    """Runs of heads whose relations, of `size` numbers each, are worth computing at once."""
    step = max(1, (CACHED if device.type == "cpu" else LAUNCHED) // size)
    return [slice(first, first + step) for first in range(0, heads, step)]


class _Divergence(torch.autograd.Function):
    """The scalar sum over heads and rows of weight x KL(teacher's softmax || student's), and its gradient."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor, keys: Tensor, weights: Tensor, heads: int, floor: float
    ) -> Tensor:
        """The scalar, of student vectors a (rows) and b (columns) and the teacher's c and d."""
        with torch.autocast(a.device.type, enabled=False):
            rows, columns, *theirs = (heads_of(wide(x), heads) for x in (a, b, c, d))
            rows, theirs[0] = (x / math.sqrt(x.shape[-1]) for x in (rows, theirs[0]))
            bias = torch.zeros(keys.shape, dtype=rows.dtype, device=rows.device).masked_fill_(~keys, NEVER)
            bias = bias[:, None, None, :]
            share = weights.to(rows.dtype)[:, None, :, None]
            total, by_rows, by_columns = rows.new_zeros(()), [], []
            for piece in pieces(heads, keys.shape[0] * keys.shape[1] ** 2, a.device):
                log_q = F.log_softmax((rows[:, piece] @ columns[:, piece].mT).add_(bias), dim=-1)
                log_p = F.log_softmax((theirs[0][:, piece] @ theirs[1][:, piece].mT).add_(bias), dim=-1)
                p = log_p.exp()
                bounded = log_q.clamp(min=math.log(floor)) if floor else log_q
                total += (p * log_p.sub_(bounded) * share).sum()
                if ctx.needs_input_grad[0] or ctx.needs_input_grad[1]:
                    if floor:
                        p *= log_q > math.log(floor)
                    pull = (log_q.exp_() * p.sum(-1, keepdim=True)).sub_(p).mul_(share)
                    by_rows.append(pull @ columns[:, piece])
                    by_columns.append(pull.mT @ rows[:, piece])
        if by_rows:
            scale = 1 / math.sqrt(rows.shape[-1])
            ctx.save_for_backward(_merged(by_rows).mul_(scale).to(a.dtype), _merged(by_columns).to(b.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """The gradients by a and b."""
        by_rows, by_columns = ctx.saved_tensors
        return given.to(by_rows.dtype) * by_rows, given.to(by_columns.dtype) * by_columns, *[None] * 6


def _merged(parts: list[Tensor]) -> Tensor:
    """(batch, length, width) of parts (batch, some heads, length, size)."""
    return torch.cat(parts, dim=1).transpose(1, 2).flatten(2)


def token_weights(tokens: Tensor, heads: int) -> Tensor:
    """(batch, length): weights under which a sum over heads and rows is the mean over heads and the tokens named."""
    return tokens / (tokens.sum().clamp(min=1).double() * heads)


def relation_divergence(
    student: tuple[Tensor, Tensor],
    teacher: tuple[Tensor, Tensor],
    heads: int,
    keys: Tensor,
    weights: Tensor,
    floor: float = 0.0,
) -> Tensor:
    """The scalar sum over heads and rows of weight x KL divergence, from the teacher's relation to the student's.

    A relation is softmax(a b^T / root of head size) over the keys, of a head's part of the vectors a and b.

    Args:
        student: two of (batch, length, width), whose tokens are rows and columns; teacher likewise.
        heads: into how many parts both widths are cut.
        keys: (batch, length), True at the columns that count.
        weights: (batch, length), how much each row counts.
        floor: student probabilities below it are taken to be it.
    """
    total: Tensor = _Divergence.apply(*student, *teacher, keys, weights, heads, floor)
    return total
