"""Contracts that every registered mapping keeps, whichever layers it pairs."""

from __future__ import annotations

from typing import Any

import pytest
from retort.errors import RetortError
from retort.specs.mappings import mappings, pairs_of

OPTIONS: dict[str, dict[str, Any]] = {"single": {"layer": 2}, "listed": {"pairs": [[1, 1], [2, 2]]}}
SIZES = [(1, 1), (2, 6), (3, 6), (4, 6), (5, 12), (6, 12), (6, 6), (12, 6), (12, 24)]  # layers of student and teacher


def pairs(name: str, student_layers: int, teacher_layers: int) -> list[tuple[int, int]]:
    """Return the pairs of a mapping for a student that starts from the first layers; none if the mapping refuses."""
    try:
        return pairs_of({name: OPTIONS.get(name, {})}, student_layers, teacher_layers, range(1, student_layers + 1))
    except RetortError:
        return []


@pytest.mark.parametrize("name", mappings)
def test_layers_exist_pairs_count_once_and_the_last_student_layer_learns(name: str) -> None:
    assert pairs(name, 3, 6)
    for student_layers, teacher_layers in SIZES:
        paired = pairs(name, student_layers, teacher_layers)
        assert paired == sorted(set(paired))
        assert name == "listed" or not paired or student_layers in {student for student, _ in paired}
        assert all(0 <= student <= student_layers and 0 <= teacher <= teacher_layers for student, teacher in paired)
