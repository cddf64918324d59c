"""The share of a part of a batch in the loss of the batch.

An objective declares its `reduction`: what its value is the mean over, such as tokens. The value on a batch is then the
sum over its parts of share x value, with share = count of the part / count of the batch. All parts of a batch are
padded to one length.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from retort.batch import Batch

JOINT = "batch"  # the reduction of an objective that needs all examples of a batch at once


def _labels(batch: Batch) -> Tensor:
    """Return the number of labels other than -100, which marks a position that does not count."""
    assert batch.labels is not None
    return torch.ne(batch.labels, -100).sum()


def _predictions(batch: Batch) -> Tensor:
    """Return the number of rows of the logits: the masked positions of masked-LM, else the examples."""
    return _number(batch.input_ids if batch.positions is None else batch.positions)


def _number(tensor: Tensor) -> Tensor:
    """Return the length of a tensor, as a scalar on its device."""
    return torch.full((), len(tensor), device=tensor.device)


COUNTS: dict[str, Callable[[Batch], Tensor]] = {
    "examples": lambda batch: _number(batch.input_ids),
    "tokens": lambda batch: batch.attention_mask.sum(),
    "token-pairs": lambda batch: batch.attention_mask.sum(1).square().sum(),  # n x n of an example with n tokens
    "labels": _labels,
    "predictions": _predictions,
}


def of_part(value: Tensor, reduction: str, part: Batch, whole: Batch) -> Tensor:
    """Return what a part of a batch adds to the value of an objective on the whole batch.

    Args:
        value: the scalar value of the objective on the part.
        reduction: what the value is the mean over, a key of `COUNTS`.
        part: some rows of the batch.
        whole: the batch.
    """
    count, total = (COUNTS[reduction](batch) for batch in (part, whole))
    share = (count.double() / total.double().clamp(min=1)).to(value.dtype)
    return torch.where(count > 0, value, 0) * share  # with a count of 0, the mean may be NaN
