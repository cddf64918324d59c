"""Batches in parts: loss and gradient of the whole batch, while only some of its rows are in a device's memory.

Most terms of a loss are means over rows, tokens or labels: a part adds its share of them, and the gradients of the
parts add up. A term that needs all examples at once, such as a contrast of examples, has its gradient cached: all parts
run without a graph, the term is computed on what was recorded of all of them, and its gradient with respect to that is
where backpropagation starts when each part runs again, with the same dropout. Gao et al. (2021), "Scaling deep
contrastive learning batch size under memory limited setup", section 3.2.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.models.recorder import Key
from retort.training.division import UNDIVIDED, Autocast, Comparison, Values
from retort.training.processes import ALONE, Processes
from retort.training.random_state import RandomState

Activations = dict[Key, Tensor]


@dataclass
class DividedBatch:
    """A batch, and the parts of it that this process computes.

    Args:
        whole: all rows.
        parts: some rows each, in order, padded to the length of the whole batch.
        first: the first row of this process, and the first masked position where the batch has some.
        counts: 1; or 0 for a process that has no rows of its own, and computes a row that counts for another.
    """

    whole: Batch
    parts: list[Batch]
    first: tuple[int, int]
    counts: int

    def to(self, device: torch.device | str, non_blocking: bool = False) -> DividedBatch:
        """Return the batch with every tensor on the device; see `Batch.to`."""
        return self._mapped(lambda batch: batch.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> DividedBatch:
        """Return the batch in pinned memory; torch's DataLoader calls this."""
        return self._mapped(lambda batch: batch.pin_memory())

    def _mapped(self, function: Callable[[Batch], Batch]) -> DividedBatch:
        return replace(self, whole=function(self.whole), parts=[function(part) for part in self.parts])


def divided(batch: Batch, micro_batch: int | None, rank: int = 0, size: int = 1) -> DividedBatch:
    """Divide a batch among processes, and the rows of a process into parts of nearly equal size.

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
    return DividedBatch(batch, [batch.part(a, b) for a, b in itertools.pairwise(ends)], (first, before), counts)


class DividedBatches(Dataset[DividedBatch]):
    """Batches by number, each divided; the arguments are those of `divided`."""

    def __init__(self, batches: Dataset[Batch], micro_batch: int | None, rank: int, size: int) -> None:
        self.batches, self.micro_batch, self.rank, self.size = batches, micro_batch, rank, size

    def __getitem__(self, number: int) -> DividedBatch:
        """Return a batch."""
        return divided(self.batches[number], self.micro_batch, self.rank, self.size)


@dataclass
class _Pass:
    """A part on its way through both models.

    Args:
        part: the part.
        teacher: what was recorded of the teacher; None before it has run.
        random: the random state before the student first ran; None if it has not.
        gradients: the cached gradient of each activation of the student that a joint term reads.
    """

    part: Batch
    teacher: Activations | None = None
    random: RandomState | None = None
    gradients: Activations = field(default_factory=dict)


@dataclass(frozen=True)
class InParts:
    """Batches that go through the device in parts, and through several devices where several processes share them.

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
        """Seed the dropout of a step where several processes draw it."""
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

        The maps of these terms get their gradient here, and their state moves on once, as for an undivided batch.
        """
        recorded, taught = zip(*(_without_graph(loss, each, autocast) for each in passes), strict=True)
        joint = loss.loss.joint
        ours, theirs = (sorted(set().union(*(term.keys(side) for term in joint))) for side in ("student", "teacher"))
        student = {key: self._whole(batch, key, [of[key] for of in recorded]).requires_grad_() for key in ours}
        teacher = {key: self._whole(batch, key, [of[key] for of in taught]) for key in theirs}
        with autocast():
            values = loss.loss.of_joint(student, teacher, batch.whole)
        size = self.processes.size  # every process computes these terms, so that each gives its share to the sums
        learned = [parameter for parameter in loss.loss.parameters() if parameter.requires_grad]
        total = torch.stack(list(values.values())).sum()
        gradients = torch.autograd.grad(total, [*student.values(), *learned], allow_unused=True)
        for parameter, gradient in zip(learned, gradients[len(ours) :], strict=True):
            if gradient is not None:
                parameter.grad = gradient / size + (0 if parameter.grad is None else parameter.grad)
        for key, gradient in zip(ours, gradients, strict=False):
            if gradient is not None:
                start = batch.first[_is_of_positions(key, batch)]
                for each, of in zip(passes, recorded, strict=True):
                    each.gradients[key] = gradient[start : start + len(of[key])]
                    start += len(of[key])
        return {label: value.detach() / size for label, value in values.items()}

    def _whole(self, batch: DividedBatch, key: Key, of_parts: list[Tensor]) -> Tensor:
        """Return an activation of the whole batch from its parts."""
        of_positions = _is_of_positions(key, batch)
        rows = batch.whole.positions if of_positions else batch.whole.input_ids
        assert rows is not None
        own = torch.cat(of_parts)
        return self.processes.whole(own if batch.counts else own[:0], batch.first[of_positions], len(rows))


def _is_of_positions(key: Key, batch: DividedBatch) -> bool:
    """Return whether an activation has a row for each masked position, and not for each example."""
    return key == ("logits", None) and batch.whole.positions is not None


def _without_graph(loss: Comparison, each: _Pass, autocast: Autocast) -> tuple[Activations, Activations]:
    """Run both models on a part, and return what was recorded of student and teacher."""
    with torch.no_grad(), autocast():
        each.teacher = loss.of_teacher(each.part)
        each.random = RandomState()
        return loss.student(each.part), each.teacher


def _backward(loss: Comparison, batch: DividedBatch, each: _Pass, autocast: Autocast) -> Values:
    """Add the gradient of a part to the parameters; return what it adds to the terms that are not joint."""
    with autocast():
        teacher = loss.of_teacher(each.part) if each.teacher is None else each.teacher
        with each.random.in_use() if each.random else contextlib.nullcontext():
            student = loss.student(each.part)
        values = loss.loss.of_part(student, teacher, each.part, batch.whole)
    roots = [(value, torch.full_like(value, batch.counts)) for value in values.values()]
    roots += [(student[key], gradient * batch.counts) for key, gradient in each.gradients.items()]
    roots = [(root, gradient) for root, gradient in roots if root.requires_grad]  # frozen parts have no graph
    torch.autograd.backward([root for root, _ in roots], [gradient for _, gradient in roots])
    return {label: value.detach() * batch.counts for label, value in values.items()}
