"""What the processes that train one model together exchange: gradients, and when they end."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed

from retort.job.attempts import Clock
from retort.training.checkpoint import in_groups, uses_gpu

BUCKET = 1 << 25  # elements that one all-reduce sums, at most: 128 MiB of float32
SECONDS = 3.0  # between two exchanges of the time: little of what a clock keeps for writing the state
SHORTEST = 1e-6  # seconds of a step, at least; it only prevents a division by zero
WIDTH = 1024  # bytes of a value that processes exchange


def are_several() -> bool:
    """Return whether this process is one of several that train together."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def add_up(tensors: Sequence[Tensor]) -> None:
    """Replace each tensor by its sum over the processes, of which every one gets the same bytes.

    All must call this with tensors of the same shapes.
    """
    for _, same in itertools.groupby(tensors, lambda tensor: tensor.dtype):
        for bucket in in_groups(same, Tensor.numel, BUCKET):
            flat = torch.cat([tensor.flatten() for tensor in bucket])
            distributed.all_reduce(flat)
            for tensor, summed in zip(bucket, torch.split(flat, [tensor.numel() for tensor in bucket]), strict=True):
                tensor.copy_(summed.view_as(tensor))


def seed_dropout(seed: int, step: int, rank: int) -> None:
    """Seed the dropout of a step in one of several processes, so that a checkpoint holds no random state of each."""
    (drawn,) = np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)
    torch.manual_seed(int(drawn))


def gather_values(own: Any) -> list[Any]:
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
    """An exchange every few steps, so that processes that look at the clock at different moments end after one step.

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
        gathered = gather_values([self.clock.is_short(), (time.monotonic() - self.exchanged) / self.steps])
        slowest = max(SHORTEST, *(seconds for _, seconds in gathered))
        self.steps = self.left = max(1, int(SECONDS / slowest))
        self.exchanged = time.monotonic()
        return any(is_short for is_short, _ in gathered)
