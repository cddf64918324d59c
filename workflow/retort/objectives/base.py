"""What an objective receives, and operations that most objectives share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from retort.batch import Batch, Shape
from retort.errors import RetortError
from retort.registry import Registry

Activations = Mapping[str, Tensor]

objectives: Registry[type] = Registry("objective")

# "tokens": the mean over all tokens of a batch, in which a long text counts more; "texts": the mean of each text's mean
MeanOver = Literal["tokens", "texts"]
REDUCTIONS = {"tokens": "tokens", "texts": "examples"}  # MeanOver -> `reduction` of an objective

ODD = 0x9E3779B97F4A7C1  # the top 60 bits of 2^64 / golden ratio; odd, so that a product modulo 2^64 loses nothing
LOW = (1 << 31) - 1  # keeps 31 bits, so that a pseudo-random integer is never negative
# log2(e), for exp(x) as 2^(x log2(e)): on a CPU, exp takes ten times as long where it underflows, as for padding
TO_BASE_2 = 1 / math.log(2)
NEVER = -1e9  # a score that softmax turns into 0; finite, so that a row without any key has finite gradients


@dataclass(frozen=True)
class TrainingRows:
    """What an objective may know about the training data before the first batch.

    Args:
        count: the number of rows of a task, or of blocks of a corpus; None if unknown.
        labels: the labels of all rows, (rows, ...) as in a batch; None without labels.
    """

    count: int | None = None
    labels: np.ndarray | None = None


UNKNOWN = TrainingRows()


@dataclass(frozen=True)
class Pair:
    """The sizes of both models, and the training data.

    Args:
        student: the student's sizes.
        teacher: the teacher's sizes.
        layers: the numbers of student and teacher layers that an objective of level 'layers' reads at once.
        rows: the rows that the student is trained on.
    """

    student: Shape
    teacher: Shape
    layers: tuple[int, int] = (1, 1)
    rows: TrainingRows = UNKNOWN


def in_float32(x: Tensor) -> Tensor:
    """Return the tensor in float32, or unchanged if it is in float64."""
    return x if x.dtype == torch.float64 else x.float()


def precise_product(a: Tensor, b: Tensor) -> Tensor:
    """Return the matrix product in float32 or float64, even where autocast would round it to 16 bits."""
    with torch.autocast(a.device.type, enabled=False):
        return in_float32(a) @ in_float32(b)


def counted_tokens(batch: Batch, count_padding: bool) -> Tensor:
    """Return the (batch, length) mask of tokens that count: all if `count_padding` is True, else real ones."""
    return torch.ones_like(batch.attention_mask) if count_padding else batch.attention_mask


def token_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of (batch, length) values over all tokens of the batch where the mask is True."""
    return torch.where(mask, values, 0).sum() / mask.sum().clamp(min=1)  # no product with the mask: 0 * NaN is NaN


def text_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of (batch, length) values where the mask is True: first over each text, then over texts."""
    means = torch.where(mask, values, 0).sum(1) / mask.sum(1).clamp(min=1)  # (batch,): 1/|x| sum_i of one text
    return means.mean()


def mean_square(student: Tensor, teacher: Tensor, mask: Tensor, mean_over: MeanOver = "tokens") -> Tensor:
    """Return the mean squared difference of (batch, length, width) tensors over unmasked tokens and width."""
    difference = torch.where(mask[..., None], in_float32(student) - in_float32(teacher), 0)  # (batch, length, width)
    if mean_over == "texts":
        return text_mean(difference.square().mean(-1), mask)
    return difference.square().sum() / (mask.sum().clamp(min=1) * teacher.shape[-1])  # tokens x width


def heads_of(x: Tensor, heads: int) -> Tensor:
    """Split (batch, length, width) along its width into (batch, heads, length, width / heads)."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(1, 2)


def required_values(values: Tensor | None, name: str, what: str = "labels") -> Tensor:
    """Return the values of a batch that an objective needs.

    Args:
        values: the values; None if the batch has none.
        name: the name of the objective, for the error.
        what: what the values are, for the error.

    Raises:
        RetortError: the values are None.
    """
    if values is None:
        raise RetortError(f"objective '{name}' needs {what}, and this batch has none", "use a data set that has them")
    return values


def hash_integers(counts: Tensor) -> Tensor:
    """Hash integers to pseudo-random integers from 0 to 2^31 - 1, the same on every device."""
    # multiply and xor-shift, twice: close inputs give distant outputs; int64 products wrap alike on every device
    for shift in (29, 32):
        counts = counts * ODD
        counts = counts ^ (counts >> shift)
    return (counts * ODD >> 31) & LOW


def draw_integers(seed: int, calls: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return pseudo-random integers for each row of a batch, (batch, count), from 0 to 2^31 - 1.

    Args:
        seed: seed of the draws.
        calls: number of earlier calls with this seed, scalar int64.
        rows: the numbers of the rows in their data set, (batch,).
        count: number of integers for each row.
    """
    each = torch.arange(count, device=rows.device)
    first = hash_integers(seed + hash_integers(calls + 1))  # scalar, another one for each call
    return hash_integers(hash_integers(first + rows[:, None]) + each)


def _labels(batch: Batch) -> Tensor:
    """Return the number of labels other than -100, which marks a position that does not count."""
    assert batch.labels is not None
    return torch.ne(batch.labels, -100).sum()


def _number(tensor: Tensor) -> Tensor:
    """Return the length of a tensor, as a scalar on its device."""
    return torch.full((), len(tensor), device=tensor.device)


# what an objective's value is the mean over, its `reduction` -> the number of these in a batch
COUNTS: dict[str, Callable[[Batch], Tensor]] = {
    "examples": lambda batch: _number(batch.input_ids),
    "tokens": lambda batch: batch.attention_mask.sum(),
    "token-pairs": lambda batch: batch.attention_mask.sum(1).square().sum(),  # n x n of an example with n tokens
    "labels": _labels,
    # rows of the logits: the masked positions of masked-LM, else the examples
    "predictions": lambda batch: _number(batch.input_ids if batch.positions is None else batch.positions),
}


def of_part(value: Tensor, reduction: str, part: Batch, whole: Batch) -> Tensor:
    """Return what a part of a batch adds to the value of an objective on the whole batch: share x value.

    Args:
        value: the scalar value of the objective on the part.
        reduction: what the value is the mean over, a key of `COUNTS`.
        part: some rows of the batch, padded to its length.
        whole: the batch.
    """
    count, total = (COUNTS[reduction](batch) for batch in (part, whole))
    share = (count.double() / total.double().clamp(min=1)).to(value.dtype)
    return torch.where(count > 0, value, 0) * share  # with a count of 0, the mean may be NaN
