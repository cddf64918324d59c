"""Tests that follow the guide to adding an objective, and that check the switches it lists."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator

import pytest
import torch
from retort import mappings
from retort.objectives import objectives
from retort.specs import catalogue
from retort.specs.student import Stage

from tests.conftest import ROOT
from tests.contracts import test_objectives as contracts
from tests.references import plain
from tests.references.examples import LENGTHS, NARROW, Case
from tests.references.test_objectives import test_agrees_with_its_reference as check_agreement
from tests.references.test_precision import test_at_most_twice_the_error_of_plain_pytorch as check_error

GUIDE = (ROOT / "workflow/retort/objectives/README.md").read_text()
NEW = Case("hidden-absolute", teacher=NARROW)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    """Register the guide's example objective with its reference, and yield its case."""
    made, slow = (textwrap.dedent(code) for code in re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL))
    exec(compile(made, "absolute.py", "exec"), {})
    monkeypatch.setattr(plain, "CASES", [])
    monkeypatch.setitem(plain.REFERENCES, NEW.name, None)
    exec(compile(slow, "reference.py", "exec"), {})
    yield NEW
    del objectives._things[NEW.name]


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
def test_the_example_agrees_with_its_reference(followed: Case, lengths: tuple[int, ...]) -> None:
    check_agreement(followed, lengths)


@pytest.mark.parametrize("check", [
    contracts.test_padding_does_not_matter, contracts.test_least_at_the_teacher,
    contracts.test_a_batch_may_be_computed_in_parts, contracts.test_nothing_waits_for_a_value,
])  # fmt: skip
def test_the_example_keeps_the_contracts(followed: Case, check: Callable[[Case], None]) -> None:
    check(followed)


def test_the_example_is_as_right_in_low_precision(followed: Case) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        check_error(followed, dtype)


def switches() -> list[tuple[str, str]]:
    """Return (setting, objective or mapping or stage that has it) for each line of the guide's table of switches."""
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|", GUIDE, flags=re.MULTILINE)
    return [(setting, place) for setting, places in rows for place in re.findall(r"`([\w-]+)`", places) or [places]]


@pytest.mark.parametrize(("setting", "place"), switches(), ids=str)
def test_a_listed_switch_exists_and_is_off(setting: str, place: str) -> None:
    name, value = setting.split(": ", 1)
    if place in objectives and name != "mapping":
        entry = catalogue.objectives()[place]
        assert str(entry.options[name]).lower() != value
        assert value in entry.choices.get(name, (value,))
    elif place in mappings.mappings:
        assert mappings.pairs_of(place, 3, 6) != mappings.pairs_of({place: {name: True}}, 3, 6)
    elif name == "mapping":
        assert value.strip("{").split(":")[0] in mappings.mappings
    else:
        assert Stage.model_fields[name].default is False


def test_there_are_switches() -> None:
    assert len(switches()) >= 15
