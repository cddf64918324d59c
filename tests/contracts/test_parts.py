"""Contract that every registered objective keeps: a batch in parts has the loss and gradient of the whole batch."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
import torch
from retort.batch import Batch
from retort.models.recorder import Key
from retort.objectives import LossTerm, WeightedSum, objectives
from retort.objectives.base import COUNTS
from retort.objectives.compose import activations_of as read_by
from retort.training.how.micro_batches import Division, TrainingLoss, backward_in_parts
from torch import Tensor

from tests.references.examples import LENGTH, PADDED, Case, activations_of, batch_of
from tests.references.objectives import CASES

POSITIONS = torch.tensor([0, 5, LENGTH, 2 * LENGTH + 1])  # of the four labels of masked-LM: 2, 1 and 1 a row
OTHERS = [  # without labels of their own: logits of masked positions, of which the second row has none
    (Case("soft-labels"), torch.tensor([0, 3, 2 * LENGTH, 2 * LENGTH + 1])),
]
SEPARABLE = [case for case in CASES if not case.is_joint]
MARKED = [(case, POSITIONS if case.name == "masked-lm" else None) for case in SEPARABLE] + OTHERS


def recorded(case: Case, side: str, positions: Tensor | None) -> dict[Key, Tensor]:
    """Return random activations of one model as a recorder returns them: by activation and layer."""
    shape, seed = (case.student, 1) if side == "student" else (case.teacher, 2)
    tensors = activations_of(case, shape, len(PADDED), seed)
    level = getattr(objectives[case.name], "level", "layer")
    if level == "layers":
        return {(name, layer): x for name, layers in tensors.items() for layer, x in enumerate(layers, 1)}
    if positions is not None and case.name != "masked-lm":
        tensors["logits"] = tensors["logits"][:1].expand(len(positions), -1) * torch.arange(1.0, 5.0)[:, None]
    return {(name, None if level in ("input", "output") else 1): x for name, x in tensors.items()}


def rows_of(x: Tensor, key: Key, part: Batch, whole: Batch) -> Tensor:
    """Return the rows of an activation of the whole batch that belong to a part of it."""
    rows = torch.isin(whole.rows, part.rows)
    if key[0] == "logits" and whole.positions is not None:
        rows = rows[whole.positions // LENGTH]
    return x[rows]


def built(case: Case) -> WeightedSum:
    """Return a loss of the objective alone, in float64, with weight 3."""
    instance = case.build()
    level, layers = getattr(objectives[case.name], "level", "layer"), case.layers
    pairs = {"layer": (1, 1), "layers": tuple(tuple(range(1, count + 1)) for count in layers)}
    return WeightedSum([LossTerm(case.name, 3.0, [pairs.get(level, (None, None))], [instance])])


def steps(case: Case, positions: Tensor | None, micro_batch: int | None) -> list[Tensor]:
    """Take two steps of a loss; return values and gradients."""
    batch = dataclasses.replace(batch_of(case, PADDED), positions=positions)
    batch.labels = batch.labels if positions is None else torch.tensor([4, -100, 0, 2])
    student = {key: x.requires_grad_() for key, x in recorded(case, "student", positions).items()}
    teacher, loss = recorded(case, "teacher", positions), built(case)
    comparison = TrainingLoss(
        loss,
        lambda part: {key: rows_of(2 * x, key, part, batch) for key, x in student.items()},
        lambda part: {key: rows_of(x, key, part, batch) for key, x in teacher.items()},
    )
    results = []
    for _ in range(2):
        divided = Division(micro_batch).divide(batch)
        if divided.is_undivided:
            value, values = comparison(batch)
            value.backward()
        else:
            value, values = backward_in_parts(comparison, divided, contextlib.nullcontext, loss.parameters(), 1)
        results += [value.detach(), *values.values()]
    read = read_by(loss.terms[0].instances[0], "student")
    gradients = [x.grad for (name, _), x in student.items() if name in read]
    assert all(gradient is not None for gradient in gradients)
    learned = [p.grad for p in loss.parameters() if p.grad is not None]
    return [*results, *gradients, *learned]


@pytest.mark.parametrize("micro_batch", [1, 2])
@pytest.mark.parametrize(("case", "positions"), MARKED, ids=str)
def test_a_batch_may_be_computed_in_parts(case: Case, positions: Tensor | None, micro_batch: int) -> None:
    whole = steps(case, positions, None)
    for one, other in zip(whole, steps(case, positions, micro_batch), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_objective_says_what_a_part_adds_or_that_it_needs_the_whole_batch(case: Case) -> None:
    assert case.is_joint or case.build().reduction in COUNTS


def test_a_part_that_is_the_whole_batch_is_computed_as_ever() -> None:
    batch = batch_of(Case("contrast"), PADDED)
    assert Division(3).divide(batch).parts[0] is batch
    assert not Division(2).divide(batch).is_undivided
