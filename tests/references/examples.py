"""Example cases of objectives, with random activations of small models of odd sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from retort.batch import Batch, Shape
from retort.objectives import Pair, WeightedSum, loss_of, objectives
from retort.objectives.base import TrainingRows
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.mappings import pairs_of
from retort.specs.student import is_joint
from torch import Tensor

LENGTHS = {"padded": (7, 4, 1), "alone": (5,), "one token": (1,)}  # real tokens per example; all are padded to 7
PADDED = LENGTHS["padded"]
LENGTH = 7
VOCABULARY = 5
CLASSES = [0, 2, 1, 1, 0, 1, 2, 0, 0, 0, 1, 0, 2, 1]  # of the training rows; a batch has rows 3, 8 and 13 of them

PER_TOKEN = ("embeddings", "words", "hidden", "queries", "keys", "values", "context", "undropped-context")
NARROW = Shape(width=12, heads=3, intermediate=20, num_labels=3)
WIDE = Shape(width=24, heads=3, intermediate=40, num_labels=3)
MANY_HEADS = Shape(width=24, heads=6, intermediate=40, num_labels=3)
SCORE = Shape(width=12, heads=3, intermediate=20, num_labels=1)


@dataclass
class Case:
    """An objective with its options and the shapes of the two models.

    Args:
        same: its value where the student equals the teacher: "zero", "entropy" (the least possible), or "" for neither.
        span: True if the logits are those of an answer's start and end, (batch, length, 2).
        layers: how many layers of the student and of the teacher an objective of level 'layers' reads.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    student: Shape = NARROW
    teacher: Shape = WIDE
    same: str = "zero"
    span: bool = False
    layers: tuple[int, int] = (1, 1)

    def __str__(self) -> str:
        said = [f"{key}={value}" for key, value in self.options.items()]
        said += ["span"] * self.span + [f"layers={self.layers}"] * (self.layers != (1, 1))
        return " ".join([self.name, *said, f"{self.student.width}-{self.teacher.width}"])

    @property
    def padded(self) -> bool:
        """True if padding counts in the objective."""
        return any(self.options.get(switch) for switch in ("count_padding", "padded_queries", "padded_keys"))

    @property
    def is_joint(self) -> bool:
        """True if the objective needs all examples of a batch at once."""
        return is_joint(self.name, {**catalogue.objectives()[self.name].options, **self.options})

    def build(self, dtype: torch.dtype | None = torch.float64) -> Callable[..., Tensor]:
        """Build the objective in `dtype` (None: unchanged), with the same maps and state every time."""
        torch.manual_seed(3)
        rows = TrainingRows(len(CLASSES), np.array(CLASSES))
        built = objectives[self.name](Pair(self.student, self.teacher, self.layers, rows), **self.options)
        return built.to(dtype) if dtype is not None and isinstance(built, torch.nn.Module) else built


def batch_of(case: Case, lengths: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Batch:
    """Return a batch of examples with these numbers of real tokens."""
    size = len(lengths)
    generator = torch.Generator().manual_seed(11)
    mask = torch.arange(LENGTH)[None, :] < torch.tensor(lengths)[:, None]
    if case.name == "masked-lm":
        labels = torch.tensor([4, -100, 0, 2])
    elif case.span:
        last = torch.tensor(lengths)[:, None] - 1
        labels = torch.tensor([[1, 3], [0, 2], [0, 0]])[:size].minimum(last).clamp(min=0)
    elif case.student.num_labels == 1:
        labels = torch.randn(size, generator=generator, dtype=dtype)
    else:
        labels = torch.tensor([1, 0, 1])[:size]
    ids = torch.randint(1, 50, (size, LENGTH), generator=generator) * mask
    return Batch(ids, torch.zeros_like(ids), mask, labels, torch.tensor([3, 8, 13])[:size])


def activations_of(
    case: Case, shape: Shape, size: int, seed: int, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    """Return random tensors for all activations that an objective may read from a model of this shape."""
    generator = torch.Generator().manual_seed(seed)
    tokens = (size, LENGTH, shape.width)
    sizes = dict.fromkeys(PER_TOKEN, tokens)
    sizes["cls"] = sizes["pooled"] = (size, shape.width)
    sizes["scores"] = (size, shape.heads, LENGTH, LENGTH)
    if getattr(objectives[case.name], "level", "layer") == "layers":
        layers = case.layers[0 if shape is case.student else 1]
        sizes = {activation: (layers, *size) for activation, size in sizes.items()}
    sizes["logits"] = (4, VOCABULARY) if case.name == "masked-lm" else (size, shape.num_labels)
    if case.span:
        sizes["logits"] = (size, LENGTH, 2)
    return {activation: torch.randn(*shape, generator=generator, dtype=dtype) for activation, shape in sizes.items()}


def both(
    case: Case, dtype: torch.dtype = torch.float64, size: int = len(PADDED)
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return random activations of the case's student and of its teacher for so many examples."""
    return activations_of(case, case.student, size, 1, dtype), activations_of(case, case.teacher, size, 2, dtype)


def compose(
    terms: list[dict[str, Any]], student: Shape, teacher: Shape, student_layers: int, teacher_layers: int
) -> WeightedSum:
    """Build the loss of terms that are written as in a student's file."""
    settings = [
        TermSettings(
            objective=term["objective"],
            version=1,
            pairs=pairs_of(term["mapping"], student_layers, teacher_layers) if "mapping" in term else [],
            weight=term.get("weight", 1.0),
            options={**catalogue.objectives()[term["objective"]].options, **term.get("options", {})},
        )
        for term in terms
    ]
    return loss_of(settings, student, teacher)
