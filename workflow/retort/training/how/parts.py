"""How the loss and the gradient of a batch are computed: all rows at once, or in parts that need less memory."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.models.recorder import Key
from retort.objectives import WeightedSum
from retort.training.how.processes import ALONE, Processes
from retort.training.loader import RandomState

Values = dict[str, Tensor]  # the value of each term of a loss by its label
Autocast = Callable[[], AbstractContextManager[Any]]
Loss = Callable[[Batch], tuple[Tensor, Values]]


def no_teacher(batch: Batch) -> dict[Key, Tensor]:
    """Return no activations, in place of a teacher, for a training on labels."""
    return {}


@dataclass(frozen=True)
class Comparison:
    """The loss of a training run: the student's activations compared with the teacher's.

    Args:
        loss: the terms of the loss.
        student: batch -> activations of the student that the loss reads.
        teacher: batch -> activations of the teacher that the loss reads.
    """

    loss: WeightedSum
    student: Callable[[Batch], dict[Key, Tensor]]
    teacher: Callable[[Batch], dict[Key, Tensor]] = no_teacher

    def of_teacher(self, batch: Batch) -> dict[Key, Tensor]:
        """Return the activations of the teacher, without a graph."""
        with torch.no_grad():
            return self.teacher(batch)

    def __call__(self, batch: Batch) -> tuple[Tensor, Values]:
        """Return the scalar loss of a batch, and its terms by label."""
        teacher = self.of_teacher(batch)
        loss_and_terms: tuple[Tensor, Values] = self.loss(self.student(batch), teacher, batch)
        return loss_and_terms


class Division(Protocol):
    """A way to divide a batch into passes through the device."""

    def batches(self, batches: Dataset[Batch]) -> Dataset[Any]:
        """Return the batches by number, in the form that `backward` takes."""

    def seed_dropout(self, seed: int, step: int) -> None:
        """Seed the dropout of a step, counted from 1, if several processes train together."""

    def backward(
        self, loss: Any, batch: Any, autocast: Autocast, parameters: Iterable[nn.Parameter]
    ) -> tuple[Tensor, Values]:
        """Add the gradient of a batch to the parameters; return the scalar loss and its terms, without a graph."""


class Undivided:
    """Batches that go through the device at once."""

    def batches(self, batches: Dataset[Batch]) -> Dataset[Batch]:
        """Return the batches as they are."""
        return batches

    def seed_dropout(self, seed: int, step: int) -> None:
        """Leave the random state as it is: it goes on from step to step."""

    def backward(
        self, loss: Loss, batch: Batch, autocast: Autocast, parameters: Iterable[nn.Parameter]
    ) -> tuple[Tensor, Values]:
        """Add the gradient of a batch to the parameters; return the scalar loss and its terms, without a graph."""
        with autocast():
            value, values = loss(batch)
        value.backward()  # type: ignore[no-untyped-call]
        return value.detach(), values


UNDIVIDED = Undivided()


# Batches in parts: loss and gradient of the whole batch, while only some of its rows are in a device's memory.
#
# Most terms of a loss are means over rows, tokens or labels: a part adds its share of them, and the gradients of the
# parts add up. A joint term, such as a contrast of examples, needs all examples at once. Its gradient is cached: first
# all parts run without a graph, and the term is computed on the activations of all of them. Then each part runs again
# with the same dropout, and backpropagation starts from the term's gradient with respect to its activations. Gao et al.
# (2021), "Scaling deep contrastive learning batch size under memory limited setup", section 3.2.


Activations = dict[Key, Tensor]


@dataclass
class DividedBatch:
    """A batch, and the parts of it that this process computes.

    Args:
        whole: all rows.
        parts: the rows of this process in parts, in order, padded to the length of the whole batch.
        first_row: the first row of this process, as an index in the whole batch.
        first_position: its first masked position, as an index among those of the whole batch.
        counts: the weight of this process's gradient: 1, or 0 if it has no row of its own and computes row 0 only to
            run the same operations as the others.
    """

    whole: Batch
    parts: list[Batch]
    first_row: int
    first_position: int
    counts: int

    def to(self, device: torch.device | str, non_blocking: bool = False) -> DividedBatch:
        """Return the batch with every tensor on the device; see `Batch.to`."""
        return self._map(lambda batch: batch.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> DividedBatch:
        """Return the batch in pinned memory; torch's DataLoader calls this."""
        return self._map(lambda batch: batch.pin_memory())

    def _map(self, function: Callable[[Batch], Batch]) -> DividedBatch:
        return replace(self, whole=function(self.whole), parts=[function(part) for part in self.parts])


def divide(batch: Batch, micro_batch: int | None, rank: int = 0, size: int = 1) -> DividedBatch:
    """Divide a batch among processes, and the rows of this process into parts of nearly equal size.

    Args:
        batch: the batch, on the CPU.
        micro_batch: the most rows of a part; None for one part.
        rank: the number of this process, from 0.
        size: the number of processes.
    """
    rows = len(batch.input_ids)
    first, last = rows * rank // size, rows * (rank + 1) // size
    counts = int(first < last)
    if not counts:
        first, last = 0, 1
    number = -(-(last - first) // (micro_batch or rows))  # rounded up
    ends = [first + (last - first) * part // number for part in range(number + 1)]
    before = 0 if batch.positions is None else int((batch.positions < first * batch.input_ids.shape[1]).sum())
    return DividedBatch(batch, [batch.part(a, b) for a, b in itertools.pairwise(ends)], first, before, counts)


class DividedBatches(Dataset[DividedBatch]):
    """Batches by number, each divided; the arguments are those of `divide`."""

    def __init__(self, batches: Dataset[Batch], micro_batch: int | None, rank: int, size: int) -> None:
        self.batches, self.micro_batch, self.rank, self.size = batches, micro_batch, rank, size

    def __getitem__(self, number: int) -> DividedBatch:
        """Return the divided batch with this number."""
        return divide(self.batches[number], self.micro_batch, self.rank, self.size)


@dataclass
class _Pass:
    """The passes of a part of a batch through both models.

    Args:
        part: the part.
        teacher: the teacher's activations; None before the teacher has run.
        random: the random state before the student's first pass; None before that pass.
        gradients: the cached gradient of each activation of the student that a joint term reads.
    """

    part: Batch
    teacher: Activations | None = None
    random: RandomState | None = None
    gradients: Activations = field(default_factory=dict)


@dataclass(frozen=True)
class InParts:
    """Batches that go through the device in parts, or through several devices with a process for each.

    Args:
        micro_batch: the most rows of a part; None for one part in each process.
        processes: the processes that train the model together.
    """

    micro_batch: int | None
    processes: Processes = ALONE

    def batches(self, batches: Dataset[Batch]) -> Dataset[DividedBatch]:
        """Return the batches by number, each divided."""
        return DividedBatches(batches, self.micro_batch, self.processes.rank, self.processes.size)

    def seed_dropout(self, seed: int, step: int) -> None:
        """Seed the dropout of a step if several processes train together."""
        self.processes.seed_dropout(seed, step)

    def backward(
        self, loss: Comparison, batch: DividedBatch, autocast: Autocast, parameters: Iterable[nn.Parameter]
    ) -> tuple[Tensor, Values]:
        """Add the gradient of a batch to the parameters; return the scalar loss and its terms, without a graph."""
        if self.processes.size == 1 and len(batch.parts) == 1:
            return UNDIVIDED.backward(loss, batch.parts[0], autocast, parameters)
        passes = [_Pass(part) for part in batch.parts]
        values = self._joint(loss, batch, passes, autocast) if loss.loss.joint else {}
        for each in passes:
            for label, value in _backward(loss, batch, each, autocast).items():
                values[label] = values[label] + value if label in values else value
        values = {term.label: values[term.label] for term in loss.loss.terms}
        total = torch.stack(list(values.values())).sum()
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        self.processes.sum([*gradients, total, *values.values()])
        return total, values

    def _joint(self, loss: Comparison, batch: DividedBatch, passes: list[_Pass], autocast: Autocast) -> Values:
        """Run all parts without a graph and cache the gradient of the joint terms; return this process's share of them.

        The objectives' own parameters get their gradient here. Their buffers are updated once, as for a whole batch.
        """
        of_student, of_teacher = zip(*(_run_without_graph(loss, each, autocast) for each in passes), strict=True)
        joint = loss.loss.joint
        ours, theirs = (sorted(set().union(*(term.keys(side) for term in joint))) for side in ("student", "teacher"))
        student = {key: self._whole(batch, key, [part[key] for part in of_student]).requires_grad_() for key in ours}
        teacher = {key: self._whole(batch, key, [part[key] for part in of_teacher]) for key in theirs}
        with autocast():
            values = loss.loss.of_joint(student, teacher, batch.whole)
        size = self.processes.size  # every process computes these terms whole, and adds 1/size of them to the sums
        learned = [parameter for parameter in loss.loss.parameters() if parameter.requires_grad]
        total = torch.stack(list(values.values())).sum()
        gradients = torch.autograd.grad(total, [*student.values(), *learned], allow_unused=True)
        for parameter, gradient in zip(learned, gradients[len(ours) :], strict=True):
            if gradient is not None:
                parameter.grad = gradient / size + (0 if parameter.grad is None else parameter.grad)
        for key, gradient in zip(ours, gradients, strict=False):
            if gradient is not None:
                start = batch.first_position if _is_of_positions(key, batch) else batch.first_row
                for each, part in zip(passes, of_student, strict=True):
                    each.gradients[key] = gradient[start : start + len(part[key])]
                    start += len(part[key])
        return {label: value.detach() / size for label, value in values.items()}

    def _whole(self, batch: DividedBatch, key: Key, of_parts: list[Tensor]) -> Tensor:
        """Return an activation of the whole batch from those of this process's parts."""
        rows, first = batch.whole.input_ids, batch.first_row
        if _is_of_positions(key, batch):
            assert batch.whole.positions is not None
            rows, first = batch.whole.positions, batch.first_position
        own = torch.cat(of_parts)
        return self.processes.whole(own if batch.counts else own[:0], first, len(rows))


def _is_of_positions(key: Key, batch: DividedBatch) -> bool:
    """Return whether an activation has a row for each masked position, in place of one for each example."""
    return key == ("logits", None) and batch.whole.positions is not None


def _run_without_graph(loss: Comparison, each: _Pass, autocast: Autocast) -> tuple[Activations, Activations]:
    """Run both models on a part without a graph, and return the activations of student and teacher."""
    with torch.no_grad(), autocast():
        each.teacher = loss.of_teacher(each.part)
        each.random = RandomState()
        return loss.student(each.part), each.teacher


def _backward(loss: Comparison, batch: DividedBatch, each: _Pass, autocast: Autocast) -> Values:
    """Add the gradient of a part to the parameters; return the part's share of the terms that are not joint."""
    with autocast():
        teacher = loss.of_teacher(each.part) if each.teacher is None else each.teacher
        with each.random.in_use() if each.random else contextlib.nullcontext():
            student = loss.student(each.part)
        values = loss.loss.of_part(student, teacher, each.part, batch.whole)
    roots = [(value, torch.full_like(value, batch.counts)) for value in values.values()]
    roots += [(student[key], gradient * batch.counts) for key, gradient in each.gradients.items()]
    roots = [(root, gradient) for root, gradient in roots if root.requires_grad]  # frozen modules have no graph
    torch.autograd.backward([root for root, _ in roots], [gradient for _, gradient in roots])
    return {label: value.detach() * batch.counts for label, value in values.items()}
