"""Prepare batches beside the training: torch's DataLoader, with worker processes where there is a GPU."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import torch
from torch.utils.data import DataLoader, Dataset

from retort.batch import Batch


def load_batches(batches: Dataset[Batch], start: int, stop: int, device: str, num_workers: int) -> Generator[Batch]:
    """Yield the batches with the numbers from `start` to `stop` - 1, on the device.

    They do not depend on `num_workers`. Close the generator (`contextlib.closing`) to end the worker processes; if this
    process is killed, they end by themselves within seconds.

    Args:
        batches: the batches by number.
        start: the number of the first batch.
        stop: one more than the number of the last batch.
        device: 'cpu' or 'cuda'; for a GPU the batches are pinned, so that this process does not wait for copies.
        num_workers: processes that prepare batches; 0 for this process.
    """
    loader = DataLoader(
        batches,
        batch_size=None,  # an item of the data set is a whole batch
        sampler=range(start, stop),
        num_workers=num_workers,
        pin_memory=device == "cuda",
        # forked workers share memory-mapped data, so no data set is pickled
        multiprocessing_context="fork" if num_workers else None,
        # the loader draws a seed for its workers; without a generator, it would change the random state of dropout
        generator=torch.Generator(),
    )
    for batch in loader:
        yield batch.to(device, non_blocking=True)


# A random state that torch takes for a block, so that companions have one each.


def uses_gpu() -> bool:
    """Return whether this process uses a GPU; to ask an unused one for its random state would begin to use it."""
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


class RandomState:
    """A random state of torch's CPU and GPU generators; it begins as the present one."""

    def __init__(self) -> None:
        self._copy()

    def _copy(self) -> None:
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state() if uses_gpu() else None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Set torch to this state for a block, and update it to the state at the end of the block."""
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state(self.cuda)
        yield
        self._copy()
