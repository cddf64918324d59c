"""What an objective is given, and the few operations that most of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from retort.errors import RetortError
from retort.registry import Registry, unknown

Taps = Mapping[str, Tensor]

objectives: Registry[type] = Registry("objective")

NEVER = -1e9  # finite, so that a row without any key still has finite gradients


@dataclass
class Batch:
    """What both models have read.

    Args:
        input_ids: (batch, length).
        token_types: (batch, length).
        mask: (batch, length), bool, True at real tokens.
        labels: (batch,) classes or scores of a task; (batch, 2) positions where an answer starts and ends;
            (positions,) token numbers of masked-LM; None without labels.
        rows: (batch,) each example's number in its data set, for memory banks.
        positions: (positions,) of masked-LM: where the labels' tokens stand in the flattened batch.
    """

    input_ids: Tensor
    token_types: Tensor
    mask: Tensor
    labels: Tensor | None = None
    rows: Tensor | None = None
    positions: Tensor | None = None

    def to(self, device: torch.device | str) -> Batch:
        """The batch on a device."""
        moved = {name: None if value is None else value.to(device) for name, value in vars(self).items()}
        return Batch(**moved)


@dataclass(frozen=True)
class Shape:
    """The sizes of one model that an objective may depend on."""

    width: int
    heads: int
    intermediate: int
    classes: int


@dataclass(frozen=True)
class Pair:
    """The sizes of both models.

    Args:
        layers: how many layers of the student and of the teacher an objective of level 'layers' reads at once.
    """

    student: Shape
    teacher: Shape
    layers: tuple[int, int] = (1, 1)


def wide(x: Tensor) -> Tensor:
    """The tensor in float32, or in float64 if it was that."""
    return x if x.dtype == torch.float64 else x.float()


def product(a: Tensor, b: Tensor) -> Tensor:
    """The matrix product in float32 or better, also where autocast would round it to 16 bits."""
    with torch.autocast(a.device.type, enabled=False):
        return wide(a) @ wide(b)


def counted(batch: Batch, count_padding: bool) -> Tensor:
    """(batch, length), True at the tokens that count: the real ones, unless padding is to count too."""
    return torch.ones_like(batch.mask) if count_padding else batch.mask


def token_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean of (batch, length) values over the tokens of the whole batch where the mask is True."""
    return torch.where(mask, values, 0).sum() / mask.sum().clamp(min=1)


def mean_square(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """The mean squared difference of (batch, length, width) over real tokens and width."""
    difference = torch.where(mask[..., None], wide(student) - wide(teacher), 0)
    return difference.square().sum() / (mask.sum().clamp(min=1) * teacher.shape[-1])


def heads_of(x: Tensor, heads: int) -> Tensor:
    """(batch, length, width) cut along its width into (batch, heads, length, width / heads)."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(1, 2)


def required(values: Tensor | None, name: str, what: str = "labels") -> Tensor:
    """The labels or rows; an error if the batch has none."""
    if values is None:
        raise RetortError(f"objective '{name}' needs {what}, and this batch has none", "use a data set that has them")
    return values


def one_of(kind: str, value: str, allowed: Iterable[str]) -> str:
    """The value, when it is one of those allowed."""
    allowed = list(allowed)
    if value not in allowed:
        raise unknown(kind, value, allowed)
    return value


def divides(heads: int, shapes: Pair) -> int:
    """The number of heads, when both widths can be cut into as many."""
    for side, shape in (("student", shapes.student), ("teacher", shapes.teacher)):
        if heads < 1 or shape.width % heads:
            raise RetortError(
                f"the {side}'s width {shape.width} cannot be cut into {heads} heads",
                "both widths must be multiples of the number of heads",
            )
    return heads
