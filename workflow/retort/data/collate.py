"""Batches of rows of similar length, padded to the longest row of the batch, in an order set by a seed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from retort.batch import Batch
from retort.data.encoded import Encoded

POOL = 8  # batches whose rows are sorted by length together: less padding, and the order stays random


def row_order(lengths: np.ndarray, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the row numbers (batch,) of each batch, without end; every epoch has its own random order.

    Rows left over in an epoch, too few for a batch, are skipped.
    """
    size = min(batch_size, len(lengths))
    for epoch in itertools.count():
        random = np.random.default_rng([seed, epoch])
        rows = random.permutation(len(lengths))  # (rows,)
        for start in range(0, len(rows) - size + 1, size * POOL):
            pool = rows[start : start + size * POOL]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            cut = [pool[i : i + size] for i in range(0, len(pool) - size + 1, size)]
            for index in random.permutation(len(cut)):  # else each pool would go from short to long rows
                yield cut[index]


def positions(encoded: Encoded, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each token's index in the flat arrays (0 at padding) and the attention mask, (batch, length) each."""
    lengths = encoded.lengths[rows]
    steps = np.arange(int(lengths.max()))  # (length,)
    mask = steps < lengths[:, None]  # (batch, length), True at real tokens
    return np.where(mask, encoded.offsets[rows][:, None] + steps, 0), mask  # index = offset of the row + step


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


def batches(encoded: Encoded, batch_size: int, seed: int, start: int = 0) -> Iterator[Batch]:
    """Yield training batches without end, from batch number `start` on; the order depends on the seed alone."""
    for rows in itertools.islice(row_order(encoded.lengths, batch_size, seed), start, None):
        yield collate(encoded, rows)


def in_order(encoded: Encoded, batch_size: int) -> Iterator[tuple[Tensor, Batch]]:
    """Yield (row numbers, batch) over all rows once, the longest rows last, for scoring."""
    order = np.argsort(encoded.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield torch.from_numpy(rows), collate(encoded, rows)
