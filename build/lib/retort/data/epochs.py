"""The rows of each batch of a training run: a function of the seed and the batch's number, the same in any process."""

from __future__ import annotations

import numpy as np

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
