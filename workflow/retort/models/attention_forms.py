"""Attention inside a layer: PyTorch's fused form, or the plain form where that is faster, in trainings on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from retort.objectives.base import wide

ATTENTION = "retort"  # the `attn_implementation` of every model that is loaded or built

# With dropout, PyTorch has no fused form on a CPU. Without, the backward pass of its fused form takes several times as
# long as the plain form on short texts, and half as long on texts of 512 tokens.
LONGEST = 128  # tokens of a short text, at most


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Compute attention as transformers asks for it; return (batch, query, heads, head size), and no weights.

    Args:
        module: the module of the layer's attention.
        query: (batch, heads, query, head size).
        key: (batch, heads, key, head size).
        value: (batch, heads, key, head size).
        attention_mask: True at real keys, broadcast to (batch, heads, query, key); None if all are real.
        dropout: the probability with which a weight is dropped.
        scaling: the factor of the scores; None for 1 / sqrt(head size).
        others: arguments for attention of other kinds than an encoder's.
    """
    return context_of(query, key, value, attention_mask, dropout, scaling).transpose(1, 2).contiguous(), None


def context_of(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float = 0.0, scaling: float | None = None
) -> Tensor:
    """Return dropout(softmax(Q K^T * scaling)) V, (batch, heads, query, head size); see `attend` for the arguments."""
    if _plain_is_faster(query, dropout):
        return plain(query, key, value, mask, dropout, scaling)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout, scale=scaling)


def _plain_is_faster(query: Tensor, dropout: float) -> bool:
    """Return whether this is a training in bfloat16 on a CPU, with dropout or on short texts."""
    trains = query.requires_grad and query.device.type == "cpu" and query.dtype == torch.bfloat16
    return trains and (dropout > 0 or query.shape[-2] <= LONGEST)


def plain(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float = 0.0, scaling: float | None = None
) -> Tensor:
    """Compute attention in the plain form; the softmax is in float32, or in float64 if its input is."""
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query * scaling, key.transpose(-1, -2))  # (batch, heads, query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = F.softmax(wide(scores), dim=-1).to(value.dtype)  # each row sums to 1
    return torch.matmul(F.dropout(weights, dropout), value)


AttentionInterface.register(ATTENTION, attend)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)
