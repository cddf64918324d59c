"""Contracts on the options of objectives: each number has limits, at which losses and gradients are finite."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
import torch
from retort.specs import catalogue
from retort.specs.catalogue import wrong_options

from tests.references.examples import LENGTHS, Case, activations_of, batch_of
from tests.references.objectives import CASES

ENTRIES = [
    entry
    for of_kind in (catalogue.objectives(), catalogue.readers(), catalogue.text_formats())
    for entry in of_kind.values()
]
NUMBERS = [
    (entry, name)
    for entry in ENTRIES
    for name in entry.options
    if name != "seed"
    and name not in entry.facts.get("divides_widths", ())  # a number that divides both widths has its limits
    and re.search("int|float", entry.annotations[name])
]


@pytest.mark.parametrize(("entry", "name"), NUMBERS, ids=[f"{entry.name}-{name}" for entry, name in NUMBERS])
def test_a_number_has_limits_that_its_default_keeps(entry: catalogue.Entry, name: str) -> None:
    default, is_list = entry.options[name], "list" in entry.annotations[name]

    def is_refused(value: Any) -> bool:
        return any(line.startswith(name) for line in wrong_options(entry, {name: value}, ""))

    assert default is None or not is_refused(default)
    assert any(is_refused([number] if is_list else number) for number in (-1, 2**40))


def test_limits_are_of_options() -> None:
    assert len(NUMBERS) > 14
    for entry in ENTRIES:
        assert set(entry.facts.get("limits", {})) <= set(entry.options), entry.name


TEMPERED = [(case, bound) for case in CASES if "temperature" in catalogue.objectives()[case.name].options
            for bound in ("ge", "le")]  # fmt: skip


@pytest.mark.parametrize(("case", "bound"), TEMPERED, ids=str)
def test_the_loss_is_finite_at_the_limits_of_the_temperature(case: Case, bound: str) -> None:
    temperature: Any = catalogue.objectives()[case.name].facts["limits"]["temperature"][bound]
    case = dataclasses.replace(case, options={**case.options, "temperature": temperature})
    lengths = LENGTHS["padded"]
    student, teacher = (
        activations_of(case, shape, len(lengths), seed, torch.float32)
        for shape, seed in ((case.student, 1), (case.teacher, 2))
    )
    leaves = {name: value.requires_grad_() for name, value in student.items() if value.is_floating_point()}
    loss = case.build(torch.float32)(student, teacher, batch_of(case, lengths, torch.float32))
    loss.backward()
    assert loss.isfinite()
    assert all(leaf.grad is None or leaf.grad.isfinite().all() for leaf in leaves.values())
