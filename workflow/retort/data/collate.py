"""Batches: rows of like length together, padded to the longest of each batch, drawn by a seed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from retort.data.tasks import Encoded
from retort.objectives.base import Batch

POOL = 8  # batches that are sorted by length together: less padding, and still a random order


def row_order(lengths: np.ndarray, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """Row numbers of one batch after another, without end; epoch after epoch, each in an order of its own."""
    size = min(batch_size, len(lengths))
    for epoch in itertools.count():
        random = np.random.default_rng([seed, epoch])
        rows = random.permutation(len(lengths))
        for start in range(0, len(rows) - size + 1, size * POOL):
            pool = rows[start : start + size * POOL]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            cut = [pool[i : i + size] for i in range(0, len(pool) - size + 1, size)]
            for index in random.permutation(len(cut)):
                yield cut[index]


def positions(encoded: Encoded, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each token of the rows stands in the flat arrays, (batch, length), and which are real."""
    lengths = encoded.lengths[rows]
    steps = np.arange(int(lengths.max()))
    mask = steps < lengths[:, None]
    return np.where(mask, encoded.offsets[rows][:, None] + steps, 0), mask


def collate(encoded: Encoded, rows: np.ndarray) -> Batch:
    """The rows as one padded batch."""
    place, mask = positions(encoded, rows)
    return Batch(
        input_ids=torch.from_numpy(np.where(mask, encoded.ids[place], 0).astype(np.int64)),
        token_types=torch.from_numpy(np.where(mask, encoded.types[place], 0).astype(np.int64)),
        mask=torch.from_numpy(mask),
        labels=torch.from_numpy(encoded.labels[rows]),
        rows=torch.from_numpy(rows.astype(np.int64)),
    )


def batches(encoded: Encoded, batch_size: int, seed: int, start: int = 0) -> Iterator[Batch]:
    """Training batches without end, from the batch number `start` on: the order is a function of the seed alone."""
    for rows in itertools.islice(row_order(encoded.lengths, batch_size, seed), start, None):
        yield collate(encoded, rows)


def in_order(encoded: Encoded, batch_size: int) -> Iterator[tuple[Tensor, Batch]]:
    """(row numbers, batch) over all rows once, longest last, for scoring."""
    order = np.argsort(encoded.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield torch.from_numpy(rows), collate(encoded, rows)
