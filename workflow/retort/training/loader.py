"""Prepare batches beside the training: torch's DataLoader, with worker processes where there is a GPU."""

from __future__ import annotations

from collections.abc import Generator

import torch
from torch.utils.data import DataLoader, Dataset

from retort.batch import Batch
from retort.signals import leave_to_parent


def loaded(batches: Dataset[Batch], start: int, stop: int, device: str, num_workers: int) -> Generator[Batch]:
    """Yield the batches with the numbers from `start` to `stop` - 1, on the device.

    Their bytes do not depend on `num_workers`. Close the generator (`contextlib.closing`) to end the worker processes;
    if this process is killed, they notice within seconds and end by themselves.

    Args:
        batches: the batches by number.
        start: the number of the first batch.
        stop: one more than the number of the last batch.
        device: 'cpu' or 'cuda'; for a GPU the batches are pinned, and copied while it computes.
        num_workers: processes that prepare batches; with 0 this process does.
    """
    loader = DataLoader(
        batches,
        batch_size=None,  # an item of the data set is a whole batch
        sampler=range(start, stop),
        num_workers=num_workers,
        pin_memory=device == "cuda",
        # forked workers share the data that are mapped to memory; nothing of a data set is pickled
        multiprocessing_context="fork" if num_workers else None,
        # its seed for the workers, which draw nothing from it; else it would draw from the random state of dropout
        generator=torch.Generator(),
        worker_init_fn=leave_to_parent if num_workers else None,
    )
    for batch in loader:
        yield batch.to(device, non_blocking=True)
