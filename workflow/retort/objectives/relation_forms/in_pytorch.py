"""The KL divergence between relations in PyTorch alone: a form for CPUs, and one for GPUs.

A relation has heads x length x length numbers: at 48 heads, relations are most of what a step writes to memory. Both
forms compute a few heads at a time, with their gradient in closed form, and drop them.

With scores S, q = softmax(S), row weight w and teacher p, the loss is the sum over heads and rows of w sum_k p (log p -
log q), and d loss / d S = w (q - p). A floor f under q has no gradient where q <= f: with p' = p where q > f and 0
elsewhere, d loss / d S = w (q sum(p') - p').

Arguments of both autograd functions: the student's vectors a (rows) and b (columns), (batch, length, width); the
teacher's c and d, likewise; keys, weights, heads and floor as in `relation_divergence`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.objectives.base import NEVER, TO_BASE_2, heads_of, in_float32

Vectors = tuple[Tensor, Tensor]  # rows and columns, (batch, length, width) each
Form = Callable[[Vectors, Vectors, int, Tensor, Tensor, float], Tensor]  # the arguments of `relation_divergence`

CACHED = 1 << 18  # numbers of a relation that fit into a CPU's cache: 1 MiB of float32
LAUNCHED = 1 << 25  # numbers of a relation computed at once, enough to keep a GPU busy: 128 MiB of float32


def form_of(function: type[torch.autograd.Function]) -> Form:
    """Return a form that calls an autograd function, which takes the four tensors one by one."""

    def form(student: Vectors, teacher: Vectors, heads: int, keys: Tensor, weights: Tensor, floor: float) -> Tensor:
        total: Tensor = function.apply(*student, *teacher, keys, weights, heads, floor)  # type: ignore[no-untyped-call, unused-ignore]
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


def _stored(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """Return the gradients with respect to a and b that `forward` stored; the other inputs have none."""
    by_rows, by_columns = ctx.saved_tensors
    return gradient.to(by_rows.dtype) * by_rows, gradient.to(by_columns.dtype) * by_columns, *[None] * 6


class _Cached(torch.autograd.Function):
    """The form for CPUs: the relations of so few heads at once that they fit into a cache."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor, keys: Tensor, weights: Tensor, heads: int, floor: float
    ) -> Tensor:
        """Return the scalar loss."""
        with torch.autocast(a.device.type, enabled=False):
            rows, columns, *theirs = (
                heads_of(in_float32(x), heads) for x in (a, b, c, d)
            )  # (batch, heads, length, size)
            # S = a b^T / sqrt(size)
            rows, theirs[0] = (x / math.sqrt(x.shape[-1]) for x in (rows, theirs[0]))
            bias = padding_bias(keys, rows)
            row_weights = weights.to(rows.dtype)[:, None, :]  # (batch, 1, row)
            weighted = rows * row_weights[..., None]
            total, by_rows, by_columns = rows.new_zeros(()), [], []
            for chunk in head_chunks(heads, keys, CACHED):
                log_q = F.log_softmax((rows[:, chunk] @ columns[:, chunk].mT).add_(bias), dim=-1)
                log_p = F.log_softmax((theirs[0][:, chunk] @ theirs[1][:, chunk].mT).add_(bias), dim=-1)
                p = (log_p * TO_BASE_2).exp2_()  # (batch, chunk, row, column)
                bounded = log_q.clamp(min=math.log(floor)) if floor else log_q
                # w sum_k p (log p - log q), in place: each new tensor of this size is another pass through memory
                total += (log_p.sub_(bounded).mul_(p).sum(-1) * row_weights).sum()
                if ctx.needs_input_grad[0] or ctx.needs_input_grad[1]:
                    if floor:
                        p *= log_q > math.log(floor)  # p'
                    d_scores = log_q.mul_(TO_BASE_2).exp2_()  # q
                    d_scores = (d_scores.mul_(p.sum(-1, keepdim=True)) if floor else d_scores).sub_(p)  # q sum(p') - p'
                    by_rows.append(d_scores @ columns[:, chunk])  # d loss / d rows, without w
                    by_columns.append(d_scores.mT @ weighted[:, chunk])  # d loss / d columns = (w d S)^T rows
        if by_rows:
            scale = row_weights.mT / math.sqrt(rows.shape[-1])  # w; rows were a / sqrt(size)
            ctx.save_for_backward(merge_heads(by_rows).mul_(scale).to(a.dtype), merge_heads(by_columns).to(b.dtype))
        return total

    backward = staticmethod(_stored)


class _Plain(torch.autograd.Function):
    """The form for GPUs: 20 passes through memory for value and gradient, where `cached` has 30.

    Every operation on a relation reads or writes it once more. Operations on vectors take their place: the row weights
    multiply inputs and outputs of matrix products; the padding bias is an extra feature of the columns, and the rows
    have a 1 there.
    """

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor, keys: Tensor, weights: Tensor, heads: int, floor: float
    ) -> Tensor:
        """Return the scalar loss."""
        with torch.autocast(a.device.type, enabled=False):
            # (batch, heads, length, size + 1) each
            factors = [*_add_bias(a, b, keys, heads), *_add_bias(c, d, keys, heads)]
            row_weights = weights.to(factors[0].dtype)[:, None, :]  # (batch, 1, row)
            differentiate = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
            total, by_rows, by_columns = row_weights.new_zeros(()), [], []
            for chunk in head_chunks(heads, keys, LAUNCHED):
                rows, columns, *theirs = (x[:, chunk] for x in factors)
                kl, d_scores = _chunk(rows @ columns.mT, theirs[0] @ theirs[1].mT, floor, differentiate)
                total += (kl * row_weights).sum()
                if d_scores is not None:
                    by_rows.append(d_scores @ columns[..., :-1])  # d loss / d rows, without w
                    by_columns.append(d_scores.mT @ (rows[..., :-1] * row_weights[..., None]))  # (w d S)^T rows
                del d_scores  # free the memory of a relation before the next chunk
        if differentiate:
            scale = row_weights.mT / math.sqrt(a.shape[-1] // heads)  # w; rows were a / sqrt(size)
            ctx.save_for_backward(merge_heads(by_rows).mul_(scale).to(a.dtype), merge_heads(by_columns).to(b.dtype))
        return total

    backward = staticmethod(_stored)


def _add_bias(rows: Tensor, columns: Tensor, keys: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Return [rows / sqrt(size), 1] and [columns, bias], (batch, heads, length, size + 1); the product is S + bias."""
    rows, columns = (heads_of(in_float32(x), heads) for x in (rows, columns))
    bias = padding_bias(keys, rows).mT.expand(*columns.shape[:-1], 1)  # (batch, heads, column, 1)
    rows = F.pad(rows / math.sqrt(rows.shape[-1]), (0, 1), value=1.0)
    return rows, torch.cat([columns, bias], dim=-1)


def _chunk(s: Tensor, u: Tensor, floor: float, differentiate: bool) -> tuple[Tensor, Tensor | None]:
    """Return the divergence of each row, (batch, chunk, row), and d S / w, (batch, chunk, row, column), or None.

    Args:
        s: scores of the student, (batch, chunk, row, column).
        u: scores of the teacher, likewise.
        floor: student probabilities below it are raised to it; 0 leaves them as they are.
        differentiate: whether to compute d S.
    """
    log_q = F.log_softmax(s, dim=-1)
    log_p = F.log_softmax(u, dim=-1)
    del s, u
    p = log_p.exp()
    bounded = log_q.clamp(min=math.log(floor)) if floor else log_q
    # sum_k p (log p - log q), as a matrix product
    kl = (p[..., None, :] @ log_p.sub_(bounded)[..., None]).flatten(-3)
    del log_p, bounded
    if not differentiate:
        return kl, None
    if not floor:
        return kl, log_q.exp_().sub_(p)  # q - p
    p *= log_q > math.log(floor)  # p'
    return kl, log_q.exp_().mul_(p.sum(-1, keepdim=True)).sub_(p)  # q sum(p') - p'


cached, plain = form_of(_Cached), form_of(_Plain)
