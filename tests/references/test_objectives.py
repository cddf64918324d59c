"""Tests that every registered objective agrees with its reference, in value, in gradient and in precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from retort.batch import Batch
from retort.objectives import objectives
from torch import Tensor

from tests.references.examples import LENGTHS, PADDED, Case, batch_of, both
from tests.references.objectives import CASES, REFERENCES
from tests.references.plain import cases_of


@pytest.mark.parametrize("name", sorted({*objectives, *REFERENCES}))
def test_an_objective_has_a_reference(name: str) -> None:
    assert cases_of(name)
    assert name in REFERENCES
    assert name in objectives


def test_a_missing_reference_is_told_by_name() -> None:
    with pytest.raises(AssertionError, match="objective 'mine' has no reference: add one to tests/references/obj"):
        cases_of("mine")


def gradients(value: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(value, inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def assert_agrees_with_its_reference(case: Case, lengths: tuple[int, ...]) -> None:
    batch, objective = batch_of(case, lengths), case.build()
    student, teacher = both(case, size=len(lengths))
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


# In 32 and in 16 bits, every objective is at most twice as far from its reference in 64 bits as plain PyTorch is, which
# is the reference itself, computed in that precision on the same rounded tensors.

ROUNDINGS = 8  # allowed roundings of the result, for cases where plain PyTorch has no error by chance; CPUs differ

Activations = dict[str, Tensor]


def cast(student: Activations, teacher: Activations, dtype: torch.dtype) -> tuple[Activations, Activations]:
    """Convert both models' activations to a precision; only the student's take a gradient."""
    ours = {activation: x.detach().to(dtype).requires_grad_() for activation, x in student.items()}
    return ours, {activation: x.to(dtype) for activation, x in teacher.items()}


def measured(
    value: Callable[[Activations, Activations], Tensor], activations: tuple[Activations, Activations]
) -> tuple[Tensor, Tensor]:
    """Return, in 64 bits, the value and its gradients with respect to all student activations as one vector."""
    loss = value(*activations)
    gradients = torch.autograd.grad(loss, list(activations[0].values()), allow_unused=True)
    return loss.detach().double(), torch.cat([g.double().flatten() for g in gradients if g is not None])


def labelled(batch: Batch, dtype: torch.dtype) -> Batch:
    if batch.labels is not None and batch.labels.is_floating_point():
        batch.labels = batch.labels.to(dtype)
    return batch


def assert_as_precise_as_plain_pytorch(case: Case, dtype: torch.dtype) -> None:
    rounded = both(case, dtype)

    def by_reference(precision: torch.dtype) -> tuple[Tensor, Tensor]:
        learned: Any = case.build(precision)
        batch = labelled(batch_of(case, PADDED), precision)
        activations = cast(*rounded, precision)
        return measured(lambda ours, theirs: REFERENCES[case.name](ours, theirs, batch, case, learned), activations)

    def by_objective(ours: Activations, theirs: Activations) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            return case.build(torch.float32)(ours, theirs, labelled(batch_of(case, PADDED), torch.float32))

    exact, plain = by_reference(torch.float64), by_reference(dtype)
    found = measured(by_objective, cast(*rounded, dtype))
    for right, rounded_reference, ours in zip(exact, plain, found, strict=True):
        allowed = 2 * (rounded_reference - right).norm() + ROUNDINGS * torch.finfo(dtype).eps * right.norm()
        assert (ours - right).norm() <= allowed


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.slow
def test_at_most_twice_the_error_of_plain_pytorch(case: Case, dtype: torch.dtype) -> None:
    assert_as_precise_as_plain_pytorch(case, dtype)
