"""Tests of how certain a claim is: decided by runs that agree, open where their luck may have turned it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.specs.config import read_config
from retort.specs.printed import Number
from retort.specs.statement import Statement
from retort.study.load import open_study
from retort.tables import certainty
from retort.tables.certainty import TRIED, Outcome
from retort.tables.comparison_types import NumberedCell, Reached
from retort.tables.judge import Side
from retort.tables.recordings import outcomes

from tests.tiny.edit import CLAIMS, set_value
from tests.tiny.results import made
from tests.tiny.variant import TABLE

ABOVE = Statement.model_validate(
    {
        "says": "a is above b", "where": "here", "compare": "above",
        "cells": [{"table": "t", "rows": ["a"], "columns": ["c"]}],
        "than": [{"table": "t", "rows": ["b"], "columns": ["c"]}],
    }
)  # fmt: skip


def side(apart: float, std: float | None = 1.0, n: int = 4, unit: str = "x100") -> Side:
    """Return the means of two rows that lie so far apart."""
    means = {"a": 70 + apart, "b": 70.0}
    cells = {
        ("t", row, "c"): NumberedCell("t", row, "c", Number(f"{mean}", mean), n, unit, std)
        for row, mean in means.items()
    }
    return Side(cells, {}, Reached)


def outcome(statement: Statement, numbers: Side, assumed: float = 0.6) -> Outcome:
    """Return the outcome of a statement where every column assumes the same deviation."""
    return certainty.outcome(statement, numbers, lambda _: assumed)


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


@pytest.mark.parametrize(("std", "n"), [(None, 1), (0.0, 4), (None, 0)])  # 0: on dev, for a test server
def test_a_score_without_a_deviation_has_the_one_that_its_table_assumes(std: float | None, n: int) -> None:
    near, far = side(0.3, std, n), side(9.0, std, n)
    assert outcome(ABOVE, near).holds is None
    assert outcome(ABOVE, far).holds is True
    assert outcome(ABOVE, far, assumed=20.0).holds is None
    assert outcome(ABOVE, near, assumed=0.01).holds is True


def test_what_is_assumed_is_known_as_well_as_by_five_runs() -> None:
    # the 97.5 % quantile of 0.6 (t - t'): 1.66 if both are normal, 2.36 with 4 degrees of freedom, 15 with one
    assert outcome(ABOVE, side(2.0, None, 1)).holds is None
    assert outcome(ABOVE, side(2.8, None, 1)).holds is True
    assert outcome(ABOVE, side(2.8, 0.6 * 2**0.5, 2)).holds is None  # the same error


def test_more_runs_decide_what_one_run_leaves_open() -> None:
    assert outcome(ABOVE, side(1.0, None, 1)).runs in TRIED[:2]
    assert outcome(ABOVE, side(0.0, None, 1)).runs == 0


@pytest.mark.parametrize("unit", ["M", "rows", "h", "times", "p"])
def test_a_number_that_is_no_score_is_taken_as_it_is(unit: str) -> None:
    assert outcome(ABOVE, side(0.1, std=None, n=1, unit=unit)).holds is True


def test_a_claim_that_lacks_a_number_is_neither() -> None:
    lacking = side(9.0)
    lacking = Side({key: cell for key, cell in lacking.cells.items() if key[1] == "a"}, {}, Reached)
    found = outcome(ABOVE, lacking)
    assert (found.holds, found.runs) == (None, None)


def test_a_deviation_is_that_of_the_column_else_of_the_table_else_of_the_paper(
    config: dict[str, Any], tmp_path: Path
) -> None:
    folder, reason = tmp_path / "study", "a reason"
    teacher = {"table": "table1", "rows": ["Teacher"], "columns": ["Acc. %"]}
    set_value(folder, CLAIMS, "a-beats-b", "cells", to=[teacher])

    def holds() -> bool | None:
        lines, _ = made(config)
        assert next(line.n for line in lines if line.row == "Teacher") == 1
        return outcomes(open_study(read_config(config)), "tiny", {"table1": lines})["a-beats-b"].holds

    assert holds() is True  # 80 of one run, 70 of three
    set_value(folder, "papers/tiny/paper.yaml", "assumed_std", to={"points": 20.0, "because": reason})
    assert holds() is None
    set_value(folder, "papers/tiny/table1.yaml", "assumed_std", to={"points": 0.5, "because": reason})
    assert holds() is True
    wide = {**TABLE["columns"][0], "assumed_std": {"points": 20.0, "because": reason}}
    set_value(folder, "papers/tiny/table1.yaml", "columns", to=[wide, *TABLE["columns"][1:]])
    assert holds() is None
