"""Tests of how certain a claim is: decided by runs that agree, open where their luck may have turned it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.judgement import certainty
from retort.judgement.certainty import TRIED, ClaimsByOutcome, Outcome, outcomes, side_of_lines, sort_claims
from retort.judgement.comparisons import NumberedCell, Reached
from retort.judgement.judge import Coverage, Side
from retort.specs.config import read_config
from retort.specs.paper import Statement
from retort.specs.printed import Number
from retort.study.load import open_study

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


def test_each_claim_is_sorted_once_also_if_some_of_its_cells_have_no_number() -> None:
    rows = {"cells": "a", "than": "b"}
    cells = {name: [{"table": "t", "rows": [row], "columns": ["c", "d", "e"]}] for name, row in rows.items()}
    both = Statement.model_validate({**ABOVE.model_dump(), **cells})
    mostly = both.model_copy(update={"compare": "mostly-above"})
    mean = both.model_copy(update={"compare": "mean-above"})
    claims = {"part": both, "mostly": mostly, "mean": mean}
    above = sort_claims({name: outcome(claim, side(9.0)) for name, claim in claims.items()})
    assert above == ClaimsByOutcome(so_far={"part": Coverage(2, 6), "mostly": Coverage(2, 6)}, without=["mean"])
    below = sort_claims({name: outcome(claim, side(-9.0)) for name, claim in claims.items()})
    assert below == ClaimsByOutcome(fail=["part"], not_so_far={"mostly": Coverage(2, 6)}, without=["mean"])


def test_a_claim_that_its_numbers_leave_open_is_without_them() -> None:
    assert sort_claims({"a": Outcome(None, known=Coverage(2, 2))}) == ClaimsByOutcome(without=["a"])


FALLING = Statement.model_validate(
    {
        "says": "a to e never rise", "where": "here", "compare": "not-rising",
        "cells": [{"table": "t", "rows": list("abcde"), "columns": ["c"]}],
    }
)  # fmt: skip


def in_order(means: list[float], std: float) -> Side:
    """Return the means of rows a to e, of four runs each."""
    cells = {
        ("t", row, "c"): NumberedCell("t", row, "c", Number(f"{mean}", mean), 4, "x100", std)
        for row, mean in zip("abcde", means, strict=True)
    }
    return Side(cells, {}, Reached)


def outcome(statement: Statement, numbers: Side, assumed: float = 0.6) -> Outcome:
    """Return the outcome of a statement where every column assumes the same deviation."""
    return certainty.outcome(statement, numbers, lambda _: assumed)


def test_a_cell_with_another_mean_keeps_all_else() -> None:
    cell = NumberedCell("t", "a", "c", Number("70.1", 70.1, "0.5", 0.1), 4, "x100", 0.5, diverged=True)
    assert cell.with_mean(60.0) == replace(cell, number=replace(cell.number, value=60.0))


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


@pytest.mark.parametrize("unit", ["M", "rows", "h", "p"])
def test_a_number_that_no_luck_is_in_is_taken_as_it_is(unit: str) -> None:
    assert outcome(ABOVE, side(0.1, std=None, n=1, unit=unit)).holds is True


@pytest.mark.parametrize("unit", ["ms", "times", "%"])
def test_a_time_a_speed_up_and_a_change_have_the_error_of_their_runs(unit: str) -> None:
    assert outcome(ABOVE, side(0.1, std=1.0, n=5, unit=unit)).holds is None
    assert outcome(ABOVE, side(9.0, std=1.0, n=5, unit=unit)).holds is True
    falling = in_order([-2.00, -2.01, -2.02, -2.03, -2.04], 0.5)
    falling = replace(falling, cells={key: replace(cell, unit=unit) for key, cell in falling.cells.items()})
    assert outcome(FALLING, falling).holds is None
    alone = outcome(ABOVE, side(9.0, std=None, n=1, unit=unit))
    assert alone == Outcome(None, unknown=True)
    assert sort_claims({"a": alone}) == ClaimsByOutcome(undecided={"a": None})


def test_an_order_of_rows_that_chance_made_is_not_shown() -> None:
    """As claimed, but 0.1 apart where a mean has an error of 1: hardly any draw has this order."""
    found = outcome(FALLING, in_order([80.0, 79.9, 79.8, 79.7, 79.6], 2.0))
    assert (found.holds, found.runs) == (None, 0)


def test_an_order_that_chance_broke_is_not_shown_to_be_wrong() -> None:
    """Some step is up in nearly every draw, but no step is up in most of them."""
    assert outcome(FALLING, in_order([80.0, 79.9, 79.8, 79.6, 79.7], 10.0)).holds is None


def test_one_step_that_is_clearly_up_shows_an_order_to_be_wrong() -> None:
    assert outcome(FALLING, in_order([80.0, 79.9, 79.8, 74.0, 79.7], 0.5)).holds is False
    assert outcome(FALLING, in_order([80.0, 78.0, 76.0, 74.0, 72.0], 0.5)).holds is True


def test_rows_that_are_equally_good_are_rarely_shown_to_be_out_of_order() -> None:
    """The claim is true where all are equal: at most 2.5 % of such tables may say that it is not."""
    generator = np.random.default_rng(7)
    runs = generator.normal(80.0, 1.0, (80, 5, 4))
    wrong = 0
    for table in runs:
        cells = {
            ("t", row, "c"): NumberedCell("t", row, "c", Number("", values.mean()), 4, "x100", values.std(ddof=1))
            for row, values in zip("abcde", table, strict=True)
        }
        wrong += certainty._shares(FALLING, Side(cells, {}, Reached), lambda _: 0.6).shows_false
    assert wrong <= 5  # more than 5 of 80 happen in 2 % of such tests if 2.5 % are wrong


@pytest.mark.parametrize(("best", "holds"), [(70.8, None), (76.0, True)])
def test_the_best_of_many_rows_is_above_another_only_if_one_of_them_is(best: float, holds: bool | None) -> None:
    """Six rows a little above another one: their best is above it in nearly all draws, but none of them is."""
    claim = Statement.model_validate(
        {
            "says": "the best of a to f is above g", "where": "here", "compare": "best-above",
            "cells": [{"table": "t", "rows": list("abcdef"), "columns": ["c"]}],
            "than": [{"table": "t", "rows": ["g"], "columns": ["c"]}],
        }
    )  # fmt: skip
    means = {**dict.fromkeys("bcdef", 70.8), "a": best, "g": 70.0}
    cells = {
        ("t", row, "c"): NumberedCell("t", row, "c", Number(f"{mean}", mean), 4, "x100", 0.8)
        for row, mean in means.items()
    }
    numbers = Side(cells, {}, Reached)
    assert certainty._shares(claim, numbers, lambda _: 0.6).holds > 0.975
    assert outcome(claim, numbers).holds is holds


@pytest.mark.parametrize(("largest", "shown"), [(18.4, False), (30.0, True)])
def test_the_largest_of_many_gains_is_shown_only_if_one_of_them_is(largest: float, shown: bool) -> None:
    """Others of 17.4, of rows with a deviation of 1: the largest is above 17.8 in nearly all draws."""
    columns = [f"c{number}" for number in range(12)]
    rows = {"cells": "low", "than": "high"}
    claim = Statement.model_validate(
        {
            "says": "the largest gain", "where": "here", "compare": "largest-gain", "number": "17.8",
            **{key: [{"table": "t", "rows": [row], "columns": columns}] for key, row in rows.items()},
        }
    )  # fmt: skip
    means = {(row, column): mean for column in columns for row, mean in (("low", 67.4), ("high", 50.0))}
    means["low", "c0"] = 50.0 + largest
    cells = {
        ("t", row, column): NumberedCell("t", row, column, Number(f"{mean}", mean), 4, "x100", 1.0)
        for (row, column), mean in means.items()
    }
    shares = certainty._shares(claim, Side(cells, {}, Reached), lambda _: 0.6)
    assert shares.holds > 0.975
    assert shares.shows_true is shown


def test_a_column_without_a_number_decides_nothing() -> None:
    claim = Statement.model_validate(
        {
            "says": "a is above b", "where": "here", "compare": "above",
            "cells": [{"table": "t", "rows": ["a"], "columns": ["c", "d"]}],
            "than": [{"table": "t", "rows": ["b"], "columns": ["c", "d"]}],
        }
    )  # fmt: skip
    assert outcome(claim, side(-0.1, 3.0)).holds is None
    assert outcome(claim, side(-30.0, 3.0)).holds is False  # contradicted, whatever the other column is


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
        study = open_study(read_config(config))
        return outcomes(study, "tiny", side_of_lines(study, "tiny", {"table1": lines}))["a-beats-b"].holds

    assert holds() is True  # 80 of one run, 70 of three
    set_value(folder, "papers/tiny/paper.yaml", "assumed_std", to={"points": 20.0, "because": reason})
    assert holds() is None
    set_value(folder, "papers/tiny/table1.yaml", "assumed_std", to={"points": 0.5, "because": reason})
    assert holds() is True
    wide = {**TABLE["columns"][0], "assumed_std": {"points": 20.0, "because": reason}}
    set_value(folder, "papers/tiny/table1.yaml", "columns", to=[wide, *TABLE["columns"][1:]])
    assert holds() is None
