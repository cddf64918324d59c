"""Let the processes of a training agree on the step after which all end.

They look at the clock at different moments.
"""

from __future__ import annotations

import json
import time
from typing import Any

import torch
from torch import distributed

from retort.engine.clock import Clock
from retort.training.random_state import uses_gpu

SECONDS = 3.0  # between two exchanges: little of the time that a clock keeps for writing the state
SHORTEST = 1e-6  # seconds of a step, at least; it only prevents a division by zero
WIDTH = 1024  # bytes of a value that processes exchange


def are_several() -> bool:
    """Return whether this process is one of several that train together."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def gather(own: Any) -> list[Any]:
    """Return the value of each process of a training, by rank; `[own]` if there is only one process.

    A value travels as JSON in a tensor. PyTorch's functions for objects would pickle it, and what is unpickled can run
    code.

    Args:
        own: the value of this process: text, a number, None, or a list of these, with at most `WIDTH` bytes as JSON.

    Raises:
        ValueError: it is longer.
    """
    if not are_several():
        return [own]
    text = json.dumps(own).encode().ljust(WIDTH)  # JSON may end in spaces
    if len(text) > WIDTH:
        raise ValueError(f"{len(text)} bytes for another process; {WIDTH} is the most")
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    sent = torch.frombuffer(bytearray(text), dtype=torch.uint8).to(device)  # (WIDTH,)
    received = [torch.empty_like(sent) for _ in range(distributed.get_world_size())]
    distributed.all_gather(received, sent)
    return [json.loads(bytes(tensor.tolist())) for tensor in received]


class Agreement:
    """An exchange between the processes every few steps: is the time of one of them short?

    They also exchange how long their steps took. From it follows after how many steps all of them exchange again.

    Args:
        clock: the clock of this process.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.steps = self.left = 1  # steps from the last exchange to the next, and how many of them are left
        self.exchanged = time.monotonic()

    def after_step(self) -> bool:
        """Return whether all processes end after the step just taken."""
        if not are_several():
            return self.clock.is_short()
        self.left -= 1
        return not self.left and self._exchange()

    def _exchange(self) -> bool:
        if uses_gpu():
            torch.cuda.synchronize()  # the device may be some steps behind
        gathered = gather([self.clock.is_short(), (time.monotonic() - self.exchanged) / self.steps])
        slowest = max(SHORTEST, *(seconds for _, seconds in gathered))
        self.steps = self.left = max(1, int(SECONDS / slowest))
        self.exchanged = time.monotonic()
        return any(is_short for is_short, _ in gathered)
