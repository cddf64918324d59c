"""Tests that every registered objective agrees with its reference, in value and in gradient."""

from __future__ import annotations

import pytest
import torch
from retort.objectives import objectives
from torch import Tensor

from tests.references.examples import LENGTHS, Case, activations_of, batch_of
from tests.references.objectives import CASES, REFERENCES


def test_every_objective_has_a_reference_and_a_case() -> None:
    assert sorted(REFERENCES) == list(objectives)
    assert sorted({case.name for case in CASES}) == list(objectives)


def gradients(value: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(value, inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def assert_agrees_with_its_reference(case: Case, lengths: tuple[int, ...]) -> None:
    batch, objective = batch_of(case, lengths), case.build()
    student = activations_of(case, case.student, len(lengths), seed=1)
    teacher = activations_of(case, case.teacher, len(lengths), seed=2)
    learned = list(objective.parameters()) if isinstance(objective, torch.nn.Module) else []
    for parameter in learned:  # move away from the identity, which would hide many mistakes
        parameter.data += 0.1 * torch.randn(parameter.shape, dtype=parameter.dtype)
    inputs = [*(x.requires_grad_() for x in student.values()), *learned]
    expected = REFERENCES[case.name](student, teacher, batch, case, objective)
    expected_gradients = gradients(expected, inputs)
    value = objective(student, teacher, batch)
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-12)
    for found, wanted in zip(gradients(value, inputs), expected_gradients, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_its_reference(case: Case, lengths: tuple[int, ...]) -> None:
    assert_agrees_with_its_reference(case, lengths)
