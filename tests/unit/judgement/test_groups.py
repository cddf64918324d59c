"""Tests of comparisons over several columns where some cells have no number: the others decide if they suffice."""

from __future__ import annotations

import pytest
from retort.judgement.comparisons import ABSENT, NumberedCell
from retort.judgement.groups import last_column_gains_most, none_dominates
from retort.specs.printed import Number

Values = dict[str, list[float | None]]  # row -> a number for each column, or none


def cells(rows: Values, std: float = 1.0) -> list[NumberedCell]:
    """Return the cells of some rows, of four runs each."""
    return [
        NumberedCell("t", row, f"c{at}", ABSENT if value is None else Number(f"{value}", value), 4, "x100", std)
        for row, values in rows.items()
        for at, value in enumerate(values)
    ]


DOMINATES: list[tuple[Values, bool | None, bool | None, str]] = [
    # two whole columns with different best rows suffice
    ({"a": [2, 1, None], "b": [1, 2, None]}, True, True, "a: best in 1 of 2 columns; b: best in 1 of 2 columns"),
    # also where each row is below another one, whatever the missing numbers are
    ({"a": [2, 1, None], "b": [1, None, 2], "c": [1, 2, 1]}, True, True, "a: best in 1 of 3 columns"),
    # a row that is best so far may be best everywhere
    ({"a": [2, 2, None], "b": [1, 1, None]}, None, False, "a: best in 2 of 2 columns"),
    # and so may one without any number
    ({"a": [2, 1], "b": [1, 2], "c": [None, None]}, None, True, "a: best in 1 of 2 columns; b: best in 1 of 2 columns"),
    ({"a": [2, 2], "b": [2, 1]}, False, False, "a: best in 2 of 2 columns; b: best in 1 of 2 columns"),
    ({"a": [2, None], "b": [None, 1]}, None, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "holds", "so_far", "numbers"), DOMINATES)
def test_no_row_is_best_everywhere(rows: Values, holds: bool | None, so_far: bool | None, numbers: str) -> None:
    verdict = none_dominates(cells(rows))
    assert (verdict.holds, verdict.so_far) == (holds, so_far)
    assert verdict.numbers.startswith(numbers)


# gains of a over b in three columns -> whether the mean gain is larger in the last one than in any other
GAINS: list[tuple[Values, bool | None, str]] = [
    ({"a": [3, None, 4], "b": [1, 1, 1]}, None, "c0: 2.0; c2: 3.0"),
    ({"a": [5, None, 4], "b": [1, 1, 1]}, False, "c0: 4.0; c2: 3.0"),
    ({"a": [3, 2, 4], "b": [1, 1, 1]}, True, "c0: 2.0; c1: 1.0; c2: 3.0"),
    ({"a": [3, 2, None], "b": [1, 1, 1]}, None, ""),
    ({"a": [None, None, 4], "b": [1, 1, 1]}, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "holds", "numbers"), GAINS)
def test_the_last_column_gains_most(rows: Values, holds: bool | None, numbers: str) -> None:
    gained, beside = (cells({row: rows[row]}) for row in "ab")
    verdict = last_column_gains_most(gained, counterparts=beside)
    assert (verdict.holds, verdict.numbers) == (holds, numbers)
    assert verdict.so_far is (bool(numbers) if holds is None and numbers else holds)
