"""Tests of the papers' layer mappings, also where one depth does not divide the other."""

from __future__ import annotations

from typing import Any

import pytest
from retort.errors import RetortError
from retort.specs.mappings import mappings, pairs_of


@pytest.mark.parametrize(
    ("name", "options", "student", "teacher", "expected"),
    [
        ("last", {}, 6, 12, [(6, 12)]),
        ("single", {"layer": 11}, 6, 12, [(6, 11)]),
        ("last-k", {}, 3, 12, [(1, 10), (2, 11), (3, 12)]),
        ("first", {}, 3, 12, [(1, 1), (2, 2), (3, 3)]),
        ("uniform", {}, 6, 12, [(1, 2), (2, 4), (3, 6), (4, 8), (5, 10), (6, 12)]),
        ("uniform", {}, 3, 12, [(1, 4), (2, 8), (3, 12)]),
        ("uniform", {}, 5, 12, [(1, 3), (2, 5), (3, 8), (4, 10), (5, 12)]),
        ("uniform", {}, 4, 6, [(1, 2), (2, 3), (3, 5), (4, 6)]),
        ("uniform-consecutive", {}, 2, 6, [(1, 1), (1, 2), (1, 3), (2, 3), (2, 4), (2, 5), (2, 6)]),
        ("uniform-consecutive", {"disjoint": True}, 2, 6, [(1, 1), (1, 2), (1, 3), (2, 4), (2, 5), (2, 6)]),
        ("uniform-consecutive", {"disjoint": True}, 2, 5, [(1, 1), (1, 2), (1, 3), (2, 4), (2, 5)]),
        ("uniform-last", {}, 2, 6, [(1, 3), (1, 5), (2, 6)]),
        ("listed", {"pairs": [[0, 0], [2, 5]]}, 3, 12, [(0, 0), (2, 5)]),
        ("initial", {"initial_layers": [4, 8, 12]}, 3, 12, [(1, 4), (2, 8), (3, 12)]),
        ("emd", {}, 2, 2, [(1, 1), (1, 2), (2, 1), (2, 2)]),
    ],
)
def test_pairs(name: str, options: dict[str, Any], student: int, teacher: int, expected: list[tuple[int, int]]) -> None:
    initial = options.pop("initial_layers", None)
    assert pairs_of({name: options}, student, teacher, initial) == expected


@pytest.mark.parametrize("student", range(1, 13))
def test_uniform_rises_to_the_last_layer(student: int) -> None:
    layers = [t for _, t in mappings["uniform"](student, 12)]
    assert layers == sorted(set(layers))
    assert layers[-1] == 12


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("student", range(1, 13))
def test_consecutive_runs_leave_no_layer_out(student: int, disjoint: bool) -> None:
    pairs = mappings["uniform-consecutive"](student, 12, disjoint=disjoint)
    layers = [t for _, t in pairs]
    assert set(layers) == set(range(1, 13))
    assert not disjoint or len(layers) == 12


@pytest.mark.parametrize(("name", "layer"), [("last-k", 6), ("first", 5)])
def test_a_layer_that_is_not_there(name: str, layer: int) -> None:
    with pytest.raises(RetortError, match=rf"^teacher has no layer {layer}; its layers go from 0 to 4$"):
        pairs_of({name: {}}, 6, 4)


def test_initial_follows_the_layers_that_the_student_starts_from() -> None:
    assert pairs_of("initial", 3, 12, [4, 8, 12]) == pairs_of({"listed": {"pairs": [[1, 4], [2, 8], [3, 12]]}}, 3, 12)
    with pytest.raises(RetortError, match="'initial' is for students that start from teacher layers; write"):
        pairs_of("initial", 3, 12)
    with pytest.raises(RetortError, match="initial.initial_layers: no key is called 'initial_layers'"):
        pairs_of({"initial": {"initial_layers": [1, 2, 3]}}, 3, 12)
    with pytest.raises(RetortError, match="teacher has no layer 13"):
        pairs_of("initial", 1, 12, [13])
