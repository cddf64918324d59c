"""The processes that train one model together, each with its rows of every batch."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
import torch.distributed
from torch import Tensor, distributed

from retort.engine.attempts import Clock
from retort.training.loader import uses_gpu

BUCKET = 1 << 25  # elements that one all-reduce sums, at most: 128 MiB of float32


class Processes(Protocol):
    """The operations between the processes that train one model together."""

    rank: int  # of this process, from 0
    size: int  # the number of processes

    def sum(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over the processes; all must call this with tensors of the same shapes."""

    def whole(self, rows: Tensor, first: int, total: int) -> Tensor:
        """Return the rows (total, ...) of all processes; `rows` are this one's, from index `first` on."""

    def seed_dropout(self, seed: int, step: int) -> None:
        """Seed the dropout of a step differently in each process."""


class Alone:
    """A single process, which has every row; its random state goes on from step to step."""

    rank, size = 0, 1

    def sum(self, tensors: Sequence[Tensor]) -> None:
        """Leave the tensors as they are."""

    def whole(self, rows: Tensor, first: int, total: int) -> Tensor:
        """Return the rows."""
        return rows

    def seed_dropout(self, seed: int, step: int) -> None:
        """Leave the random state as it is."""


class Group:
    """The processes of the default group of `torch.distributed`, which is initialised."""

    def __init__(self) -> None:
        self.rank, self.size = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def sum(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over the processes; every process gets the same bytes."""
        for bucket in buckets(tensors):
            flat = torch.cat([tensor.flatten() for tensor in bucket])
            torch.distributed.all_reduce(flat)
            for tensor, summed in zip(bucket, torch.split(flat, [tensor.numel() for tensor in bucket]), strict=True):
                tensor.copy_(summed.view_as(tensor))

    def whole(self, rows: Tensor, first: int, total: int) -> Tensor:
        """Return the rows (total, ...) of all processes."""
        joined = rows.new_zeros((total, *rows.shape[1:]))
        joined[first : first + len(rows)] = rows
        torch.distributed.all_reduce(joined)  # each row is 0 in all processes but its own
        return joined

    def seed_dropout(self, seed: int, step: int) -> None:
        """Seed the dropout by the seed, the step and the rank, so that a checkpoint holds no state of each process."""
        (drawn,) = np.random.SeedSequence([seed, step, self.rank]).generate_state(1, np.uint64)
        torch.manual_seed(int(drawn))


def buckets(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """Return the tensors in order, in lists of one dtype and of at most BUCKET elements, or of one larger tensor."""
    lists: list[list[Tensor]] = []
    count = 0
    for tensor in tensors:
        if not lists or lists[-1][0].dtype != tensor.dtype or count + tensor.numel() > BUCKET:
            lists.append([])
            count = 0
        lists[-1].append(tensor)
        count += tensor.numel()
    return lists


ALONE = Alone()


# Let the processes of a training agree on the step after which all end.
#
# They look at the clock at different moments.


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
