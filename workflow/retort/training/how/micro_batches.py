"""How the rows of a batch are divided: among processes, and into parts that a device holds one after another.

Loss and gradient are those of the whole batch. The terms of a loss are means over rows, tokens or labels: a part adds
its share of them, and the gradients of the parts add up. A joint term, such as a contrast of examples, needs all
examples at once: a training with one is refused if its batches would be divided.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from retort.batch import Batch
from retort.models.recorder import Key
from retort.objectives import WeightedSum
from retort.training.how import processes

Activations = dict[Key, Tensor]
Values = dict[str, Tensor]  # the value of each term of a loss by its label
Autocast = Callable[[], AbstractContextManager[Any]]


def no_teacher(batch: Batch) -> Activations:
    """Return no activations, in place of a teacher, for a training on labels."""
    return {}


@dataclass(frozen=True)
class TrainingLoss:
    """The loss of a training run: the student's activations compared with the teacher's.

    Args:
        loss: the terms of the loss.
        student: batch -> activations of the student that the loss reads.
        teacher: batch -> activations of the teacher that the loss reads.
    """

    loss: WeightedSum
    student: Callable[[Batch], Activations]
    teacher: Callable[[Batch], Activations] = no_teacher

    def of_teacher(self, batch: Batch) -> Activations:
        """Return the activations of the teacher, without a graph."""
        with torch.no_grad():
            return self.teacher(batch)

    def __call__(self, batch: Batch) -> tuple[Tensor, Values]:
        """Return the scalar loss of a batch, and its terms by label."""
        teacher = self.of_teacher(batch)
        loss_and_terms: tuple[Tensor, Values] = self.loss(self.student(batch), teacher, batch)
        return loss_and_terms


@dataclass
class DividedBatch:
    """A batch, and the parts of it that this process computes.

    Args:
        whole: all rows.
        parts: the rows of this process in parts, in order, padded to the length of the whole batch; `[whole]` if the
            batch goes through one device at once.
        counts: the weight of this process's gradient: 1, or 0 if it has no row of its own and computes row 0 only to
            run the same operations as the others.
    """

    whole: Batch
    parts: list[Batch]
    counts: int = 1

    @property
    def is_undivided(self) -> bool:
        """Whether the batch goes through one device at once."""
        return self.parts[0] is self.whole

    def to(self, device: torch.device | str, non_blocking: bool = False) -> DividedBatch:
        """Return the batch with every tensor on the device; see `Batch.to`."""
        return self._map(lambda batch: batch.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> DividedBatch:
        """Return the batch in pinned memory; torch's DataLoader calls this."""
        return self._map(lambda batch: batch.pin_memory())

    def _map(self, function: Callable[[Batch], Batch]) -> DividedBatch:
        whole = function(self.whole)
        return replace(self, whole=whole, parts=[whole] if self.is_undivided else list(map(function, self.parts)))


@dataclass(frozen=True)
class Division:
    """How batches are divided; the default leaves them whole.

    Args:
        micro_batch: the most rows of a part; None for one part in each process.
        rank: the number of this process, from 0.
        size: the number of processes that train the model together.
    """

    micro_batch: int | None = None
    rank: int = 0
    size: int = 1

    def at_once(self, rows: int) -> int:
        """Return how many of the rows of a batch go through a device at once, at most."""
        return min(self.micro_batch or rows, -(-rows // self.size))

    def divide(self, batch: Batch) -> DividedBatch:
        """Divide a batch on the CPU among processes, and the rows of this one into parts of nearly equal size."""
        rows = len(batch.input_ids)
        first, last = rows * self.rank // self.size, rows * (self.rank + 1) // self.size
        counts = int(first < last)
        if not counts:
            first, last = 0, 1
        number = -(-(last - first) // (self.micro_batch or rows))  # rounded up
        if self.size == number == 1:
            return DividedBatch(batch, [batch])
        ends = [first + (last - first) * part // number for part in range(number + 1)]
        return DividedBatch(batch, [batch.part(a, b) for a, b in itertools.pairwise(ends)], counts)

    def load(
        self, batches: Dataset[Batch], start: int, stop: int, device: str, num_workers: int
    ) -> Generator[DividedBatch]:
        """Yield the batches with the numbers from `start` to `stop` - 1, divided, on the device.

        They do not depend on `num_workers`. Close the generator (`contextlib.closing`) to end the worker processes; if
        this process is killed, they end by themselves within seconds.

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
            collate_fn=self.divide,  # type: ignore[arg-type] # without a batch size, it gets a single item
            num_workers=num_workers,
            pin_memory=device == "cuda",
            # forked workers share memory-mapped data, so no data set is pickled
            multiprocessing_context="fork" if num_workers else None,
            # the loader draws a seed for its workers; without a generator, it would change the random state of dropout
            generator=torch.Generator(),
        )
        for batch in loader:
            yield batch.to(device, non_blocking=True)


def backward_in_parts(
    loss: TrainingLoss, batch: DividedBatch, autocast: Autocast, parameters: Iterable[nn.Parameter], size: int
) -> tuple[Tensor, Values]:
    """Add the gradient of a whole batch to the parameters, part by part.

    Args:
        loss: the loss, without joint terms.
        batch: the batch, on the device of the models.
        autocast: the context of the forward passes.
        parameters: the parameters that are trained.
        size: the number of processes, of which each has parts of its own.

    Returns:
        The scalar loss of the whole batch and its terms, without a graph.
    """
    values: Values = {}
    for part in batch.parts:
        for label, value in _backward(loss, batch, part, autocast).items():
            values[label] = values[label] + value if label in values else value
    total = torch.stack(list(values.values())).sum()
    if size > 1:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        processes.add_up([*gradients, total, *values.values()])
    return total, values


def _backward(loss: TrainingLoss, batch: DividedBatch, part: Batch, autocast: Autocast) -> Values:
    """Add the gradient of a part to the parameters; return the part's share of each term."""
    with autocast():
        teacher = loss.of_teacher(part)
        values = loss.loss.of_part(loss.student(part), teacher, part, batch.whole)
    roots = [value for value in values.values() if value.requires_grad]  # frozen modules have no graph
    torch.autograd.backward(roots, [torch.full_like(value, batch.counts) for value in roots])
    return {label: value.detach() * batch.counts for label, value in values.items()}
