"""Tests that every registered objective agrees with its slow form, in value and in gradient."""

from __future__ import annotations

import pytest
import torch
from retort.objectives import objectives
from torch import Tensor

from tests.references.examples import CASES, LENGTHS, Case, activations_of, batch_of
from tests.references.forms import FORMS


def test_every_objective_has_a_reference_and_a_case() -> None:
    assert sorted(FORMS) == list(objectives)
    assert sorted({case.name for case in CASES}) == list(objectives)


def gradients(value: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(value, inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_its_slow_form(case: Case, lengths: tuple[int, ...]) -> None:
    batch = batch_of(case, lengths)
    objective = case.build()
    student = {
        activation: x.requires_grad_()
        for activation, x in activations_of(case, case.student, len(lengths), seed=1).items()
    }
    teacher = activations_of(case, case.teacher, len(lengths), seed=2)
    learned = list(objective.parameters()) if isinstance(objective, torch.nn.Module) else []
    for parameter in learned:  # move away from the identity, which would hide many mistakes
        parameter.data += 0.1 * torch.randn(parameter.shape, dtype=parameter.dtype)
    inputs = [*student.values(), *learned]
    slow = FORMS[case.name](student, teacher, batch, case, objective)
    expected = gradients(slow, inputs)
    fast = objective(student, teacher, batch)
    torch.testing.assert_close(fast, slow, rtol=1e-6, atol=1e-12)
    for found, wanted in zip(gradients(fast, inputs), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-10)
