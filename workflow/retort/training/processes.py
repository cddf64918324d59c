"""The processes that train one model together, each with its rows of every batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
import torch.distributed
from torch import Tensor

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
