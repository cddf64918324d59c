"""The KL divergence between relations, which most objectives on pairs of tokens minimise."""

from __future__ import annotations

from torch import Tensor

from retort.objectives.relation_forms.choice import form_on


def token_weights(tokens: Tensor, heads: int) -> Tensor:
    """Return (batch, length) weights: a sum over heads and rows with them is the mean over heads and `tokens`."""
    return tokens / (tokens.sum().clamp(min=1).double() * heads)  # 1 / (A_r |x|) of MiniLMv2 (Wang et al., 2021), eq. 6


def text_weights(tokens: Tensor, heads: int) -> Tensor:
    """Return (batch, length) weights: a sum over heads and rows with them is the mean of each text's mean."""
    return tokens / (tokens.sum(1, keepdim=True).clamp(min=1).double() * heads * len(tokens))  # |x| of each text


WEIGHTS = {"tokens": token_weights, "texts": text_weights}  # MeanOver -> function for the weights of rows


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
    return form_on(keys.device)(student, teacher, heads, keys, weights, floor)
