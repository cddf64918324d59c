"""A random state that torch takes for a block, so that companions, and the passes of a part, have one each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
