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
from retort.specs.protocol import steps_per_epoch

POOL = 8  # batches whose rows are sorted by length together, at most: less padding, and the order stays random
POOLS = 4  # in an epoch, at least: else the batches of a small data set would be the same in every epoch


def epoch_batches(
    rows: int, batch_size: int, seed: int, epoch: int, lengths: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return the row numbers of each batch of an epoch, (batch,) each; every row is in exactly one batch.

    There are ceil(rows / batch_size) batches, as with the Trainer of Hugging Face. Their sizes differ by at most one,
    and none is larger than `batch_size`: 100 rows at batch size 16 make two batches of 15 rows and five of 14, not six
    of 16 and one of 4. So each row has about the same weight in an epoch, and no batch is so small that a loss which
    compares the examples of a batch with each other has nothing to compare (on a single example it is constant).

    Args:
        rows: number of rows or blocks.
        batch_size: the most rows that a batch has.
        seed: of the order; every epoch has its own.
        epoch: the number of the epoch, from 0.
        lengths: (rows,) tokens of each row, to put rows of like length together; None for batches of random rows.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(rows)  # (rows,)
    count = steps_per_epoch(rows, batch_size)
    sizes = rng.permutation(rows // count + (np.arange(count) < rows % count))  # (batches,)
    if lengths is not None:
        numbers = np.arange(count) // max(1, min(POOL, count // POOLS))  # (batches,), the pool of each batch
        pools = np.repeat(numbers, sizes)  # (rows,), the pool of each place in the order
        order = order[np.lexsort((lengths[order], pools))]  # sorted by length within a pool of random rows
    batches = np.split(order, np.cumsum(sizes)[:-1])
    return [batches[index] for index in rng.permutation(count)]  # else each pool would go from short to long rows


class EpochOrder:
    """The row numbers of every batch of a training run, by the batch's number; epoch follows epoch without end.

    A batch is found without those before it, so that a resumed run goes on at once, and several processes can make
    different batches of one run. The last epoch that was asked for is kept.

    Args:
        rows: number of rows or blocks.
        batch_size: the most rows that a batch has.
        seed: of the order.
        lengths: (rows,) tokens of each row, to put rows of like length together; None for batches of random rows.
    """

    def __init__(self, rows: int, batch_size: int, seed: int, lengths: np.ndarray | None = None) -> None:
        self.rows, self.batch_size, self.seed, self.lengths = rows, batch_size, seed, lengths
        self._epoch: tuple[int, list[np.ndarray]] = (-1, [])

    def __getitem__(self, number: int) -> np.ndarray:
        """Return the row numbers (batch,) of a batch; batches are numbered from 0, over all epochs."""
        epoch, place = divmod(number, steps_per_epoch(self.rows, self.batch_size))
        if self._epoch[0] != epoch:
            self._epoch = epoch, epoch_batches(self.rows, self.batch_size, self.seed, epoch, self.lengths)
        return self._epoch[1][place]


# --- the rows of a task, padded to the longest row of the batch, or all to one length


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


# --- the blocks of a corpus; each time a block is used, different tokens of it are masked


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
