"""Tests of how certain a claim is: decided by runs that agree, open where their luck may have turned it."""

from __future__ import annotations

import pytest
from retort.specs.printed import Number
from retort.specs.statement import Statement
from retort.tables.certainty import TRIED, outcome
from retort.tables.comparison_types import NumberedCell, Reached
from retort.tables.judge import Side

ABOVE = Statement.model_validate(
    {
        "says": "a is above b", "where": "here", "compare": "above",
        "cells": [{"table": "t", "rows": ["a"], "columns": ["c"]}],
        "than": [{"table": "t", "rows": ["b"], "columns": ["c"]}],
    }
)  # fmt: skip


def side(apart: float, std: float | None = 1.0, n: int = 4) -> Side:
    """Return the means of two rows that lie so far apart."""
    means = {"a": 70 + apart, "b": 70.0}
    cells = {
        ("t", row, "c"): NumberedCell("t", row, "c", Number(f"{mean}", mean), n, "x100", std)
        for row, mean in means.items()
    }
    return Side(cells, {}, Reached)


@pytest.mark.parametrize(("apart", "holds"), [(9.0, True), (-9.0, False)])
def test_means_far_apart_decide(apart: float, holds: bool) -> None:
    found = outcome(ABOVE, side(apart))
    assert (found.holds, found.runs) == (holds, None)


def test_means_within_their_spread_leave_it_open_and_say_how_many_runs_decide() -> None:
    found = outcome(ABOVE, side(1.0))
    assert found.holds is None
    # |d| > 1.96 s sqrt(2 / n) from n = 8 on, and a little later with Student's t
    assert found.runs in TRIED[:2]


def test_more_runs_are_needed_the_closer_the_means_are() -> None:
    runs = [outcome(ABOVE, side(apart)).runs for apart in (1.0, 0.5, 0.25)]
    assert runs == sorted(runs, key=lambda number: number or 0)
    assert len(set(runs)) == len(runs)
    assert outcome(ABOVE, side(0.0)).runs == 0  # more than are tried


def test_a_number_without_runs_is_taken_as_it_is() -> None:
    assert outcome(ABOVE, side(0.1, std=None, n=1)).holds is True


def test_a_claim_that_lacks_a_number_is_neither() -> None:
    lacking = side(9.0)
    lacking = Side({key: cell for key, cell in lacking.cells.items() if key[1] == "a"}, {}, Reached)
    found = outcome(ABOVE, lacking)
    assert (found.holds, found.runs) == (None, None)
