"""How the rows of a batch are divided: among processes, and into parts that a device holds one after another.

Loss and gradient are those of the whole batch. Most terms of a loss are means over rows, tokens or labels: a part adds
its share of them, and the gradients of the parts add up. A joint term, such as a contrast of examples, needs all
examples at once. Its gradient is cached: first all parts run without a graph, and the term is computed on the
activations of all of them. Then each part runs again with the same dropout, and backpropagation starts from the term's
gradient with respect to its activations. Gao et al. (2021), "Scaling deep contrastive learning batch size under memory
limited setup", section 3.2.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from retort.batch import Batch
from retort.models.recorder import Key
from retort.objectives import WeightedSum
from retort.training.checkpoint import RandomState
from retort.training.how import processes

Activations = dict[Key, Tensor]
Values = dict[str, Tensor]  # the value of each term of a loss by its label
Autocast = Callable[[], AbstractContextManager[Any]]


def no_teacher(batch: Batch) -> Activations:
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
        first_row: the first row of this process, as an index in the whole batch.
        first_position: its first masked position, as an index among those of the whole batch.
        counts: the weight of this process's gradient: 1, or 0 if it has no row of its own and computes row 0 only to
            run the same operations as the others.
    """

    whole: Batch
    parts: list[Batch]
    first_row: int = 0
    first_position: int = 0
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
        before = 0 if batch.positions is None else int((batch.positions < first * batch.input_ids.shape[1]).sum())
        return DividedBatch(batch, [batch.part(a, b) for a, b in itertools.pairwise(ends)], first, before, counts)

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


def backward_in_parts(
    loss: Comparison, batch: DividedBatch, autocast: Autocast, parameters: Iterable[nn.Parameter], size: int
) -> tuple[Tensor, Values]:
    """Add the gradient of a whole batch to the parameters, part by part.

    Args:
        loss: the loss.
        batch: the batch, on the device of the models.
        autocast: the context of the forward passes.
        parameters: the parameters that are trained.
        size: the number of processes, of which each has parts of its own.

    Returns:
        The scalar loss of the whole batch and its terms, without a graph.
    """
    passes = [_Pass(part) for part in batch.parts]
    values = _joint_terms(loss, batch, passes, autocast, size) if loss.loss.joint else {}
    for each in passes:
        for label, value in _backward(loss, batch, each, autocast).items():
            values[label] = values[label] + value if label in values else value
    values = {term.label: values[term.label] for term in loss.loss.terms}
    total = torch.stack(list(values.values())).sum()
    if size > 1:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        processes.add_up([*gradients, total, *values.values()])
    return total, values


def _joint_terms(loss: Comparison, batch: DividedBatch, passes: list[_Pass], autocast: Autocast, size: int) -> Values:
    """Run all parts without a graph and cache the gradient of the joint terms; return this process's share of them.

    The objectives' own parameters get their gradient here. Their buffers are updated once, as for a whole batch.
    """
    of_student, of_teacher = zip(*(_run_without_graph(loss, each, autocast) for each in passes), strict=True)
    joint = loss.loss.joint
    ours, theirs = (sorted(set().union(*(term.keys(side) for term in joint))) for side in ("student", "teacher"))
    student = {key: _whole(batch, key, [part[key] for part in of_student], size).requires_grad_() for key in ours}
    teacher = {key: _whole(batch, key, [part[key] for part in of_teacher], size) for key in theirs}
    with autocast():
        values = loss.loss.of_joint(student, teacher, batch.whole)
    # every process computes these terms whole, and adds 1/size of them to the sums
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


def _whole(batch: DividedBatch, key: Key, of_parts: list[Tensor], size: int) -> Tensor:
    """Return an activation of the whole batch from those of this process's parts."""
    own = torch.cat(of_parts)
    if size == 1:
        return own
    rows, first = batch.whole.input_ids, batch.first_row
    if _is_of_positions(key, batch):
        assert batch.whole.positions is not None
        rows, first = batch.whole.positions, batch.first_position
    return processes.joined(own if batch.counts else own[:0], first, len(rows))


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
