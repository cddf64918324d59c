"""Objectives that compare attention scores head by head."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.batch import Batch
from retort.objectives.base import (
    NEVER,
    TO_BASE_2,
    Activations,
    Pair,
    counted_tokens,
    in_float32,
    objectives,
    token_mean,
)


def divergence(student: Tensor, teacher: Tensor, keys: Tensor, floor: float = 0.0) -> Tensor:
    """Return KL(teacher's attention || student's attention) for each query, (batch, heads, query).

    Args:
        student: the student's scores before softmax, (batch, heads, query, key).
        teacher: the teacher's scores, of the same shape.
        keys: (batch, key), True at the keys over which the softmax runs.
        floor: student probabilities below it are raised to it; 0 leaves them as they are.
    """
    padding = ~keys[:, None, None, :]  # (batch, 1, 1, key)
    log_p = F.log_softmax(in_float32(teacher).masked_fill(padding, NEVER), dim=-1)  # (batch, heads, query, key)
    log_q = F.log_softmax(in_float32(student).masked_fill(padding, NEVER), dim=-1)
    if floor:
        log_q = log_q.clamp(min=math.log(floor))  # a row of q may then sum to more than one
    return ((log_p * TO_BASE_2).exp2() * (log_p - log_q)).sum(-1)  # sum over keys of p (log p - log q)


def set_to_zero(scores: Tensor, below: float | None) -> Tensor:
    """Set the scores at or below `below` to 0; None changes nothing."""
    return scores if below is None else torch.where(scores <= below, 0, scores)


@objectives.register("attention-mse")
class AttentionMSE:
    """Mean squared error between attention scores before softmax, over heads and real query-key pairs.

    Activations are (batch, heads, query, key). Wang et al. (2023), section 3, 'Att-MSE':
    L_att = 1/h sum_i MSE(A_i^S, A_i^T) over the h heads.

    Args:
        count_padding: take the mean over all positions: padded queries count, and padded keys count as equal.
        zero_below: scores at or below it count as 0; None changes none.
    """

    activations = ("scores",)
    equal_heads = True
    reads_padding = {"count_padding": [True]}
    limits = {"zero_below": {"lt": 0}}

    def __init__(self, shapes: Pair, *, count_padding: bool = False, zero_below: float | None = None) -> None:
        self.count_padding, self.zero_below = count_padding, zero_below
        self.reduction = "examples" if count_padding else "token-pairs"  # with padding all examples have as many

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        tokens = counted_tokens(batch, self.count_padding)  # (batch, length)
        real = tokens[:, None, :, None] & batch.attention_mask[:, None, None, :]  # (batch, 1, query, key)
        ours, theirs = (
            set_to_zero(in_float32(activations["scores"]), self.zero_below) for activations in (student, teacher)
        )
        difference = torch.where(real, ours - theirs, 0)  # (batch, heads, query, key)
        # the mean over heads is the 1/h of L_att; an example with n tokens that count has n * n query-key pairs
        return difference.square().mean(1).sum() / tokens.sum(1).square().sum().clamp(min=1)


@objectives.register("attention-kl")
class AttentionKL:
    """KL divergence from the teacher's attention to the student's, averaged over heads and real queries.

    Activations are (batch, heads, query, key), before softmax. Wang et al. (2023), section 3, 'Att-KL':
    L_att = 1/(TH) sum_t sum_h KL(a_{t,h}^T || a_{t,h}^S) over T queries and H heads; the first term of MiniLM
    (Wang et al., 2020).

    Args:
        padded_queries: let padding count as queries; padded keys never count.
        floor: student probabilities below it are raised to it; 0 leaves them as they are.
    """

    activations = ("scores",)
    equal_heads = True
    reads_padding = {"padded_queries": [True]}
    limits = {"floor": {"ge": 0, "lt": 1}}

    def __init__(self, shapes: Pair, *, padded_queries: bool = False, floor: float = 0.0) -> None:
        self.padded_queries, self.floor = padded_queries, floor
        self.reduction = "examples" if padded_queries else "tokens"  # with padding all examples have as many

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        kl = divergence(student["scores"], teacher["scores"], batch.attention_mask, self.floor)  # (batch, heads, query)
        return token_mean(kl.mean(1), counted_tokens(batch, self.padded_queries))  # 1/H, then 1/T over the whole batch
