"""Batches of the rows of a task, padded to the longest row of the batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.data.encoded import Encoded
from retort.data.epochs import EpochOrder


def positions(encoded: Encoded, rows: np.ndarray, length: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return each token's index in the flat arrays of `encoded` (0 at padding) and the attention mask.

    Both are (batch, length). Rows are padded to `length`; None takes the length of the longest row.
    """
    starts = encoded.offsets[rows]  # (batch,); not `encoded.lengths`, which is computed for all rows
    lengths = encoded.offsets[rows + 1] - starts
    steps = np.arange(int(lengths.max()) if length is None else length)  # (length,)
    mask = steps < lengths[:, None]  # (batch, length), True at real tokens
    return np.where(mask, starts[:, None] + steps, 0), mask  # index = offset of the row + step


def collate(encoded: Encoded, rows: np.ndarray) -> Batch:
    """Return the rows as one batch, padded with zeros to the longest row."""
    indices, mask = positions(encoded, rows)
    return Batch(
        input_ids=torch.from_numpy(np.where(mask, encoded.input_ids[indices], 0).astype(np.int64)),
        token_type_ids=torch.from_numpy(np.where(mask, encoded.token_type_ids[indices], 0).astype(np.int64)),
        attention_mask=torch.from_numpy(mask),
        labels=torch.from_numpy(encoded.labels[rows]),
        rows=torch.from_numpy(rows.astype(np.int64)),
    )


class TaskBatches(Dataset[Batch]):
    """The training batches of a task by number, for any number of epochs; see `EpochOrder` for their rows.

    Args:
        encoded: the rows.
        batch_size: the most rows that a batch has.
        seed: of the order.
        group_by_length: whether rows of like length are put together.
    """

    def __init__(
        self,
        encoded: Encoded,
        batch_size: int,
        seed: int,
        group_by_length: bool = True,
    ) -> None:
        lengths = encoded.lengths if group_by_length else None
        self.encoded = encoded
        self.order = EpochOrder(len(encoded), batch_size, seed, lengths)

    def __getitem__(self, number: int) -> Batch:
        """Return a batch; it depends on the seed and its number alone."""
        return collate(self.encoded, self.order[number])


def in_order(encoded: Encoded, batch_size: int) -> Iterator[tuple[Tensor, Batch]]:
    """Yield (row numbers, batch) over all rows once, the longest rows last, for scoring."""
    order = np.argsort(encoded.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield torch.from_numpy(rows), collate(encoded, rows)
