"""How the loss and the gradient of a batch are computed: all rows at once, or in parts that need less memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.models.recorder import Key
from retort.objectives import WeightedSum

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
