"""Objectives on attention scores, head by head."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.errors import RetortError
from retort.objectives.base import NEVER, Batch, Pair, Taps, counted, objectives, token_mean, wide


def same_heads(shapes: Pair) -> None:
    """Nothing; two models whose heads cannot be compared one by one are an error."""
    student, teacher = shapes.student.heads, shapes.teacher.heads
    if student != teacher:
        raise RetortError(
            f"the student has {student} attention heads and its teacher {teacher}",
            "attention is compared head by head; 'relations' works with any two numbers",
        )


def divergence(student: Tensor, teacher: Tensor, keys: Tensor, floor: float = 0.0) -> Tensor:
    """(batch, heads, query): the KL divergence from the teacher's softmax over the keys to the student's.

    Args:
        student: (batch, heads, query, key), before softmax; teacher likewise.
        keys: (batch, key), True at the keys that count.
        floor: student probabilities below it are taken to be it.
    """
    padding = ~keys[:, None, None, :]
    log_p = F.log_softmax(wide(teacher).masked_fill(padding, NEVER), dim=-1)
    log_q = F.log_softmax(wide(student).masked_fill(padding, NEVER), dim=-1)
    if floor:
        log_q = log_q.clamp(min=math.log(floor))
    return F.kl_div(log_q, log_p, reduction="none", log_target=True).sum(-1)


def silenced(scores: Tensor, below: float | None) -> Tensor:
    """The scores, with 0 in place of those at or below a value, where one is given."""
    return scores if below is None else torch.where(scores <= below, 0, scores)


@objectives.register("attention-mse")
class AttentionMSE:
    """Mean squared error between attention scores before softmax, over heads and real query-key pairs.

    Taps are (batch, heads, query, key). Wang et al. (2023), section 3, 'Att-MSE'.

    Args:
        count_padding: take the mean over all positions: padded queries count, padded keys as no difference.
        zero_below: scores at or below it count as 0.
    """

    version = 1
    taps = ("scores",)
    over = "token-pairs"

    def __init__(self, shapes: Pair, *, count_padding: bool = False, zero_below: float | None = None) -> None:
        same_heads(shapes)
        self.count_padding, self.zero_below = count_padding, zero_below

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        tokens = counted(batch, self.count_padding)
        real = tokens[:, None, :, None] & batch.mask[:, None, None, :]
        ours, theirs = (silenced(wide(taps["scores"]), self.zero_below) for taps in (student, teacher))
        difference = torch.where(real, ours - theirs, 0)
        return difference.square().mean(1).sum() / tokens.sum(1).square().sum().clamp(min=1)


@objectives.register("attention-kl")
class AttentionKL:
    """KL divergence from the teacher's attention to the student's, averaged over heads and real queries.

    Taps are (batch, heads, query, key), before softmax. Wang et al. (2023), section 3, 'Att-KL'; the first term of
    MiniLM (Wang et al., 2020).

    Args:
        padded_queries: let padding count as queries; its keys never do.
        floor: student probabilities below it are taken to be it.
    """

    version = 1
    taps = ("scores",)
    over = "tokens"

    def __init__(self, shapes: Pair, *, padded_queries: bool = False, floor: float = 0.0) -> None:
        same_heads(shapes)
        self.padded_queries, self.floor = padded_queries, floor

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        kl = divergence(student["scores"], teacher["scores"], batch.mask, self.floor)
        return token_mean(kl.mean(1), counted(batch, self.padded_queries))
