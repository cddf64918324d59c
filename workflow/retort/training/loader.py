"""Prepare batches beside the training: torch's DataLoader, with worker processes where there is a GPU."""

from __future__ import annotations

from collections.abc import Callable, Generator

import torch
from torch.utils.data import DataLoader, Dataset

from retort.batch import Batch
from retort.training.how.parts import DividedBatch


def load_batches(
    batches: Dataset[Batch],
    divide: Callable[[Batch], DividedBatch],
    start: int,
    stop: int,
    device: str,
    num_workers: int,
) -> Generator[DividedBatch]:
    """Yield the batches with the numbers from `start` to `stop` - 1, divided, on the device.

    They do not depend on `num_workers`. Close the generator (`contextlib.closing`) to end the worker processes; if this
    process is killed, they end by themselves within seconds.

    Args:
        batches: the batches by number.
        divide: divides a batch, see `Division.divide`.
        start: the number of the first batch.
        stop: one more than the number of the last batch.
        device: 'cpu' or 'cuda'; for a GPU the batches are pinned, so that this process does not wait for copies.
        num_workers: processes that prepare batches; 0 for this process.
    """
    loader = DataLoader(
        batches,
        batch_size=None,  # an item of the data set is a whole batch
        sampler=range(start, stop),
        collate_fn=divide,  # type: ignore[arg-type] # without a batch size, it gets a single item
        num_workers=num_workers,
        pin_memory=device == "cuda",
        # forked workers share memory-mapped data, so no data set is pickled
        multiprocessing_context="fork" if num_workers else None,
        # the loader draws a seed for its workers; without a generator, it would change the random state of dropout
        generator=torch.Generator(),
    )
    for batch in loader:
        yield batch.to(device, non_blocking=True)
