"""Tests of how often verdicts and paired tests are wrong: the tables of the guide to statistics are simulated anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from retort.judgement.verdicts import AGREES, DIFFERS, INCONCLUSIVE, judge_lines
from retort.specs.rows import ASSUMED_STD, AssumedSpread

from tests.conftest import ROOT
from tests.error_rates import (
    HALF,
    NUMBERS,
    RUNS,
    SPREADS,
    WITHOUT,
    Runs,
    assumed_of,
    decided,
    runs_of,
    shares_of_spread,
    shares_of_table1,
    tables_of_pairs,
    tables_of_spreads,
    tables_of_verdicts,
    true_deviations,
)
from tests.tiny.results import frame, line

GUIDE = (ROOT / "workflow/retort/judgement/statistics.md").read_text()


def default(_: str) -> AssumedSpread:
    """Return the default deviation."""
    return AssumedSpread(ASSUMED_STD.points)


@pytest.mark.slow
@pytest.mark.parametrize("tables", [tables_of_verdicts, tables_of_spreads, tables_of_pairs])
def test_the_tables_of_the_readme_are_those_of_the_simulation(tables: Callable[[], list[str]]) -> None:
    for simulated in "\n".join(tables()).split("\n\n"):
        assert f"\n{simulated}\n" in GUIDE


@pytest.mark.parametrize("runs", RUNS)
def test_wrong_verdicts_are_as_rare_as_promised(runs: Runs) -> None:
    assert shares_of_table1(0.0, runs)[3] <= 0.05  # tables with a cell that differs
    assert shares_of_table1(1.0, runs)[0] <= 0.05  # cells that agree at the margin


@pytest.mark.parametrize("runs", WITHOUT)
def test_a_side_without_a_deviation_may_have_one_and_a_half_times_that_of_the_other(runs: Runs) -> None:
    assert shares_of_table1(0.0, runs, 1.5)[3] <= 0.05
    assert shares_of_table1(1.0, runs, 2.0)[0] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("runs", NUMBERS)
def test_wrong_verdicts_are_as_rare_if_deviations_are_not_as_assumed(runs: Runs) -> None:
    for name in SPREADS:
        if "3 times" not in name:
            assert shares_of_spread(name, runs)[3] <= 0.05, name
        assert shares_of_spread(name, runs, apart=1.0)[0] <= 0.05, name


@pytest.mark.parametrize("apart", [0.0, 2.0])
@pytest.mark.parametrize("runs", RUNS)
def test_the_simulation_decides_as_the_code_of_tables(runs: Runs, apart: float) -> None:
    std = true_deviations()
    ours, reported = (side[:1] for side in runs_of((std, std), apart, runs))
    lines = [
        line(
            mine.mean(), np.round(theirs.mean(), 1), row=str(row), column=str(at), n=runs.n, reported_half=HALF,
            reported_n=runs.reported_n, ours=deviation_of(mine),
            reported_std=deviation_of(theirs) if runs.with_std else None,
        )
        for at, rows in enumerate(zip(ours[0], reported[0], strict=True))
        for row, (mine, theirs) in enumerate(zip(*rows, strict=True))
    ]  # fmt: skip
    assumed = assumed_of(runs)
    verdicts = list(judge_lines(frame(lines), lambda column: AssumedSpread(assumed[int(column)]))["verdict"])
    agrees, differs = (cells[0] for cells in decided(ours, reported, runs))
    assert verdicts == [AGREES if yes else DIFFERS if no else INCONCLUSIVE
                        for yes, no in zip(agrees, differs, strict=True)]  # fmt: skip


def deviation_of(runs: Any) -> float | None:
    """Return the deviation over runs; None of one run."""
    return runs.std(ddof=1) if len(runs) > 1 else None


@pytest.mark.parametrize(("std", "n"), [(0.4, 4), (0.6, 10)])
def test_the_runs_that_are_asked_for_suffice(std: float, n: int) -> None:
    """The cells of a table of one column have the same deviation."""
    cells = [line(70.8, 70.0, std=std, n=3, row=str(row), reported_n=n, reported_half=HALF) for row in range(400)]
    needed = int(judge_lines(frame(cells), default)["runs_needed"].iloc[0])
    draw = np.random.default_rng(1)
    sides = [70 + std * draw.standard_normal((len(cells), runs)) for runs in (needed, n)]
    judged = judge_lines(
        frame(
            line(mine.mean(), theirs.mean(), row=str(row), n=needed, reported_n=n, reported_half=HALF,
                 ours=deviation_of(mine), reported_std=deviation_of(theirs))
            for row, (mine, theirs) in enumerate(zip(*sides, strict=True))
        ),
        default,
    )  # fmt: skip
    agree = (judged["verdict"] == AGREES).sum()
    assert agree / len(cells) == pytest.approx(0.85, abs=0.06)  # enough, and not many more than enough
