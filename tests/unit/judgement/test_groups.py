"""Tests of comparisons over several columns where some cells have no number: the others decide if they suffice."""

from __future__ import annotations

import pytest
from retort.judgement.cells import Verdict
from retort.judgement.judge import compare

from tests.unit.judgement.claims import claim, side_of

Values = dict[str, list[float | None]]  # row -> a number for each column, or none


def compared(name: str, rows: Values, own: str, than: str = "") -> Verdict:
    """Compare rows of a table of four runs each, whose columns are v, w, ..."""
    columns = "vwxyz"[: len(rows[own[0]])]
    cells = {f"{row}{at}": mean for row, of in rows.items() for at, mean in zip(columns, of, strict=True)}
    means = {at: mean for at, mean in cells.items() if mean is not None}
    side, statement = side_of(means), claim(name, own, than, columns)
    return compare(statement, side.rule, side.cells_of(statement))


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
    verdict = compared("none-dominates", rows, "".join(rows))
    assert (verdict.supported, verdict.points_to) == (holds, so_far)
    assert verdict.numbers.startswith(numbers)


# gains of a over b in three columns -> whether the mean gain is larger in the last one than in any other
GAINS: list[tuple[Values, bool | None, str]] = [
    ({"a": [3, None, 4], "b": [1, 1, 1]}, None, "v: 2.0; x: 3.0"),
    ({"a": [5, None, 4], "b": [1, 1, 1]}, False, "v: 4.0; x: 3.0"),
    ({"a": [3, 2, 4], "b": [1, 1, 1]}, True, "v: 2.0; w: 1.0; x: 3.0"),
    ({"a": [3, 2, None], "b": [1, 1, 1]}, None, ""),
    ({"a": [None, None, 4], "b": [1, 1, 1]}, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "holds", "numbers"), GAINS)
def test_the_last_column_gains_most(rows: Values, holds: bool | None, numbers: str) -> None:
    verdict = compared("last-column-gains-most", rows, "a", "b")
    assert (verdict.supported, verdict.numbers) == (holds, numbers)
    assert verdict.points_to is (None if not numbers else holds is not False)
