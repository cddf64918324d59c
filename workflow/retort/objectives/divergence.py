"""The KL divergence between relations, computed a few heads at a time.

A relation has heads x length x length numbers: at 48 heads, relations are most of what a step writes to memory. Here
only those of a few heads exist at any time, small enough for a cache, and the gradient is computed before they are
dropped.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.objectives.base import NEVER, heads_of, wide

CACHED = 1 << 18  # numbers of a relation that fit into a CPU's cache: 1 MiB of float32
LAUNCHED = 1 << 25  # a GPU wants more work in one kernel: 128 MiB of float32


def head_chunks(heads: int, size: int, device: torch.device) -> list[slice]:
    """Return slices of heads to compute at once; the relation of one head has `size` numbers."""
    step = max(1, (CACHED if device.type == "cpu" else LAUNCHED) // size)
    return [slice(first, first + step) for first in range(0, heads, step)]


class _Divergence(torch.autograd.Function):
    """The scalar sum over heads and rows of weight x KL(teacher || student), with its gradient in closed form.

    With scores S, q = softmax(S), row weight w and teacher p: d loss / d S = w (q - p). A floor f under q has no
    gradient where q <= f: with p' = p where q > f and 0 elsewhere, d loss / d S = w (q sum(p') - p').
    """

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor, keys: Tensor, weights: Tensor, heads: int, floor: float
    ) -> Tensor:
        """Return the scalar loss of the student's vectors a (rows) and b (columns) and the teacher's c and d.

        Args:
            ctx: keeps the two gradients for `backward`.
            a: (batch, length, width).
            b: (batch, length, width).
            c: (batch, length, teacher width).
            d: (batch, length, teacher width).
            keys: (batch, length), True at the columns that count.
            weights: (batch, length), the weight of each row.
            heads: number of heads that the widths are split into.
            floor: student probabilities below it are raised to it; 0 leaves them as they are.
        """
        with torch.autocast(a.device.type, enabled=False):
            rows, columns, *theirs = (heads_of(wide(x), heads) for x in (a, b, c, d))  # (batch, heads, length, size)
            # S = a b^T / sqrt(size)
            rows, theirs[0] = (x / math.sqrt(x.shape[-1]) for x in (rows, theirs[0]))
            bias = _padding_bias(keys, rows)
            row_weights = weights.to(rows.dtype)[:, None, :, None]  # (batch, 1, row, 1)
            total, by_rows, by_columns = rows.new_zeros(()), [], []
            for chunk in head_chunks(heads, keys.shape[0] * keys.shape[1] ** 2, a.device):
                log_q = F.log_softmax((rows[:, chunk] @ columns[:, chunk].mT).add_(bias), dim=-1)
                log_p = F.log_softmax((theirs[0][:, chunk] @ theirs[1][:, chunk].mT).add_(bias), dim=-1)
                p = log_p.exp()  # (batch, chunk, row, column)
                bounded = log_q.clamp(min=math.log(floor)) if floor else log_q
                # w sum_k p (log p - log q), in place: each new tensor of this size is another pass through memory
                total += (p * log_p.sub_(bounded) * row_weights).sum()
                if ctx.needs_input_grad[0] or ctx.needs_input_grad[1]:
                    if floor:
                        p *= log_q > math.log(floor)  # p' of the class docstring
                    d_scores = (log_q.exp_() * p.sum(-1, keepdim=True)).sub_(p).mul_(row_weights)  # w (q sum(p') - p')
                    by_rows.append(d_scores @ columns[:, chunk])  # d loss / d rows = (d loss / d S) columns
                    by_columns.append(d_scores.mT @ rows[:, chunk])  # d loss / d columns = (d loss / d S)^T rows
        if by_rows:
            scale = 1 / math.sqrt(rows.shape[-1])  # rows were a / sqrt(size)
            ctx.save_for_backward(_merged(by_rows).mul_(scale).to(a.dtype), _merged(by_columns).to(b.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients with respect to a and b; the other inputs have none."""
        by_rows, by_columns = ctx.saved_tensors
        return gradient.to(by_rows.dtype) * by_rows, gradient.to(by_columns.dtype) * by_columns, *[None] * 6


def _padding_bias(keys: Tensor, like: Tensor) -> Tensor:
    """Return what is added to scores, (batch, 1, 1, column): 0 where `keys` is True, else NEVER; dtype as `like`."""
    bias = torch.zeros(keys.shape, dtype=like.dtype, device=like.device).masked_fill_(~keys, NEVER)
    return bias[:, None, None, :]


def _merged(chunks: list[Tensor]) -> Tensor:
    """Join chunks of (batch, chunk, length, size), all heads together, to (batch, length, width)."""
    return torch.cat(chunks, dim=1).transpose(1, 2).flatten(2)


def token_weights(tokens: Tensor, heads: int) -> Tensor:
    """Return (batch, length) weights that turn a sum over heads and rows into the mean over heads and `tokens`."""
    return tokens / (tokens.sum().clamp(min=1).double() * heads)  # 1 / (A_r |x|) of MiniLMv2 (Wang et al., 2021), eq. 6


def relation_divergence(
    student: tuple[Tensor, Tensor],
    teacher: tuple[Tensor, Tensor],
    heads: int,
    keys: Tensor,
    weights: Tensor,
    floor: float = 0.0,
) -> Tensor:
    """Return the scalar sum over heads and rows of weight x KL(teacher's relation || student's relation).

    A relation is softmax(a b^T / sqrt(head size)) over the keys, where a and b are one head's slice of two vectors:
    MiniLMv2 (Wang et al., 2021), eq. 7-8.

    Args:
        student: two tensors (batch, length, width); the tokens of the first are the rows, of the second the columns.
        teacher: two tensors of the teacher, likewise; their width may differ from the student's.
        heads: number of heads that both widths are split into.
        keys: (batch, length), True at the columns that count.
        weights: (batch, length), the weight of each row.
        floor: student probabilities below it are raised to it; 0 leaves them as they are.
    """
    total: Tensor = _Divergence.apply(*student, *teacher, keys, weights, heads, floor)  # type: ignore[no-untyped-call]
    return total
