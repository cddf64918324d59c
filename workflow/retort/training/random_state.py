"""The random state of a training that takes turns with others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


class RandomState:
    """A random state of torch, that of the CPU and of the GPU: at first the one that torch has now."""

    def __init__(self) -> None:
        self._keep()

    def _keep(self) -> None:
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Give torch this state for a block, and keep the state that it then has."""
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state(self.cuda)
        yield
        self._keep()
