"""Objectives on attention scores, head by head."""

from __future__ import annotations

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


def divergence(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """(batch, heads, query): the KL divergence from the teacher's softmax over real keys to the student's.

    Args:
        student: (batch, heads, query, key), before softmax; teacher likewise.
        mask: (batch, key), True at the keys that count.
    """
    padding = ~mask[:, None, None, :]
    log_p = F.log_softmax(wide(teacher).masked_fill(padding, NEVER), dim=-1)
    log_q = F.log_softmax(wide(student).masked_fill(padding, NEVER), dim=-1)
    return F.kl_div(log_q, log_p, reduction="none", log_target=True).sum(-1)


@objectives.register("attention-mse")
class AttentionMSE:
    """Mean squared error between attention scores before softmax, over heads and real query-key pairs.

    Taps are (batch, heads, query, key). Wang et al. (2023), section 3, 'Att-MSE'.

    Args:
        count_padding: let padding count as queries and as keys.
    """

    version = 1
    taps = ("scores",)

    def __init__(self, shapes: Pair, *, count_padding: bool = False) -> None:
        same_heads(shapes)
        self.count_padding = count_padding

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        mask = counted(batch, self.count_padding)
        real = mask[:, None, :, None] & mask[:, None, None, :]
        difference = torch.where(real, wide(student["scores"]) - wide(teacher["scores"]), 0)
        return difference.square().mean(1).sum() / real.sum().clamp(min=1)


@objectives.register("attention-kl")
class AttentionKL:
    """KL divergence from the teacher's attention to the student's, averaged over heads and real queries.

    Taps are (batch, heads, query, key), before softmax. Wang et al. (2023), section 3, 'Att-KL'; the first term of
    MiniLM (Wang et al., 2020).

    Args:
        count_padding: let padding count as queries and as keys.
    """

    version = 1
    taps = ("scores",)

    def __init__(self, shapes: Pair, *, count_padding: bool = False) -> None:
        same_heads(shapes)
        self.count_padding = count_padding

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        mask = counted(batch, self.count_padding)
        return token_mean(divergence(student["scores"], teacher["scores"], mask).mean(1), mask)
