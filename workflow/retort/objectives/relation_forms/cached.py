"""The KL divergence between relations, computed a few heads at a time.

A relation has heads x length x length numbers: at 48 heads, relations are most of what a step writes to memory. Here
only the relations of a few heads exist at a time, which fit into a cache. Their gradient is computed at once, and they
are dropped.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.objectives.base import heads_of, wide
from retort.objectives.relation_forms.plain import form_of, head_chunks, merge_heads, padding_bias

CACHED = 1 << 18  # numbers of a relation that fit into a CPU's cache: 1 MiB of float32


class _Cached(torch.autograd.Function):
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
            bias = padding_bias(keys, rows)
            row_weights = weights.to(rows.dtype)[:, None, :, None]  # (batch, 1, row, 1)
            total, by_rows, by_columns = rows.new_zeros(()), [], []
            for chunk in head_chunks(heads, keys, CACHED):
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
            ctx.save_for_backward(merge_heads(by_rows).mul_(scale).to(a.dtype), merge_heads(by_columns).to(b.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients with respect to a and b; the other inputs have none."""
        by_rows, by_columns = ctx.saved_tensors
        return gradient.to(by_rows.dtype) * by_rows, gradient.to(by_columns.dtype) * by_columns, *[None] * 6


cached = form_of(_Cached)
