"""A batch and the sizes of a model: what data, models, objectives and training have in common."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Batch:
    """One batch of inputs, the same for both models.

    Args:
        input_ids: (batch, length).
        token_type_ids: token type ids, (batch, length).
        attention_mask: attention mask, (batch, length), bool, True at real tokens.
        labels: (batch,) class numbers or scores of a task; (batch, 2) positions where an answer starts and ends;
            (positions,) input ids of the masked tokens of masked-LM; None without labels.
        rows: (batch,) the number of each example in its data set, for memory banks; None where it has none.
        positions: (positions,) of masked-LM: indices of the labels' tokens in the batch flattened to
            (batch * length,); None for other tasks.
    """

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor
    labels: Tensor | None = None
    rows: Tensor | None = None
    positions: Tensor | None = None

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch with every tensor on the device."""
        return Batch(
            input_ids=self.input_ids.to(device),
            token_type_ids=self.token_type_ids.to(device),
            attention_mask=self.attention_mask.to(device),
            labels=None if self.labels is None else self.labels.to(device),
            rows=None if self.rows is None else self.rows.to(device),
            positions=None if self.positions is None else self.positions.to(device),
        )


@dataclass(frozen=True)
class Shape:
    """The sizes of one model that an objective may depend on.

    Args:
        width: hidden size.
        heads: attention heads in a layer.
        intermediate: size of the feed-forward layer.
        num_labels: the number of outputs of the head: 1 for regression, the vocabulary size for masked-LM.
    """

    width: int
    heads: int
    intermediate: int
    num_labels: int
