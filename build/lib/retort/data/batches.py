"""The rows of each batch of a training run: a function of the seed and the batch's number, the same in any process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.data.blocks import Blocks, CorpusInfo
from retort.data.encoded import Encoded
from retort.data.epochs import EpochOrder

# Batches of the rows of a task, padded to the longest row of the batch, or all to one length.


def collate(encoded: Encoded, rows: np.ndarray, length: int | None = None) -> Batch:
    """Return the rows as one batch, padded with zeros to `length`; None takes the length of the longest row."""
    indices, mask = encoded.positions(rows, length)
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
        length: that all batches are padded to; None pads each to its longest row.
    """

    def __init__(
        self,
        encoded: Encoded,
        batch_size: int,
        seed: int,
        group_by_length: bool = True,
        length: int | None = None,
    ) -> None:
        lengths = encoded.lengths if group_by_length else None
        self.encoded, self.length = encoded, length
        self.order = EpochOrder(len(encoded), batch_size, seed, lengths)

    def __getitem__(self, number: int) -> Batch:
        """Return a batch; it depends on the seed and its number alone."""
        return collate(self.encoded, self.order[number], self.length)


def in_order(encoded: Encoded, batch_size: int) -> Iterator[tuple[Tensor, Batch]]:
    """Yield (row numbers, batch) over all rows once, the longest rows last, for scoring."""
    order = np.argsort(encoded.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield torch.from_numpy(rows), collate(encoded, rows)


# Dynamic masking: each time a block is used, different tokens of it are masked.


def mask_tokens(
    input_ids: np.ndarray, probability: float, info: CorpusInfo, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose tokens for masked language modelling; return the masked input ids and a mask of the chosen tokens.

    Both are (batch, block). Of the chosen tokens 80 % become [MASK], 10 % become a random token and 10 % stay as they
    are (Devlin et al., 2019, section 3.1). The random token may be [MASK] itself or the true one, for BERT's code
    draws it from the whole vocabulary. It is never one of `info.special`: a padding token would shift the position ids
    of all later tokens in RoBERTa. At least one token is chosen, so that the loss is defined.
    """
    usable = ~np.isin(input_ids, info.special)  # (batch, block)
    chosen = (random.random(input_ids.shape) < probability) & usable
    if not chosen.any():
        chosen.flat[np.flatnonzero(usable)[:1]] = True
    # uniform: [0, 0.8) -> [MASK], [0.8, 0.9) -> unchanged, [0.9, 1) -> random token
    fate = random.random(input_ids.shape)
    masked = np.where(chosen & (fate < 0.8), info.mask, input_ids)
    anything = random.integers(0, info.vocabulary, input_ids.shape)
    anything = np.where(np.isin(anything, info.special), input_ids, anything)  # a special token: the true id stays
    return np.where(chosen & (fate >= 0.9), anything, masked).astype(np.int64), chosen


class MaskedBatches(Dataset[Batch]):
    """The batches of masked blocks of a corpus by number, for any number of epochs; see `EpochOrder` for their blocks.

    The labels of a batch are the true input ids at `positions` of the flat batch.

    Args:
        folder: the folder of the corpus.
        probability: of each token to be chosen.
        batch_size: the most blocks that a batch has.
        seed: of the order and of the masks.
    """

    def __init__(
        self,
        folder: Path | str,
        probability: float,
        batch_size: int,
        seed: int,
    ) -> None:
        self.blocks, self.probability, self.seed = Blocks(folder), probability, seed
        self.order = EpochOrder(len(self.blocks), batch_size, seed)

    def __getitem__(self, number: int) -> Batch:
        """Return a batch; its blocks and its masks depend on the seed and its number alone."""
        rows = self.order[number]
        block, info = self.blocks[rows], self.blocks.info  # (batch, block)
        masked, chosen = mask_tokens(block, self.probability, info, np.random.default_rng([self.seed, number, 1]))
        return Batch(
            input_ids=torch.from_numpy(masked),
            token_type_ids=torch.zeros(block.shape, dtype=torch.long),
            attention_mask=torch.from_numpy(block != info.pad),
            labels=torch.from_numpy(block[chosen]),  # (positions,)
            rows=torch.from_numpy(rows.astype(np.int64)),
            positions=torch.from_numpy(np.flatnonzero(chosen)),  # (positions,), row * block + column
        )
