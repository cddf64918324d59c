"""Tests of how often verdicts and paired tests are wrong: the tables of the README are simulated anew."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from retort.judgement.verdicts import AGREES, DIFFERS, INCONCLUSIVE, judge_lines
from retort.results.tidy import Line
from retort.specs.rows import ASSUMED_STD, MARGIN

from tests.conftest import ROOT
from tests.error_rates import HALF, RUNS, Runs, decided, runs_of, tables, verdict_shares
from tests.tiny.results import line

README = (ROOT / "workflow/retort/judgement/README.md").read_text()


def limits(_: Line) -> tuple[float, float]:
    """Return the default margin and deviation."""
    return MARGIN.points, ASSUMED_STD.points


NUMBER = re.compile(r"(?<=\| )\d+(?= \|)")


def numbers(text: str) -> list[int]:
    """Return the whole numbers in the bodies of Markdown tables."""
    return [int(found) for found in NUMBER.findall(text)]


@pytest.mark.slow
def test_the_tables_of_the_readme_are_those_of_the_simulation() -> None:
    for simulated in tables().split("\n\n"):
        head, rule, *rows = simulated.splitlines()
        assert f"{head}\n{rule}\n" in README
        printed = README[README.index(head) :].splitlines()[2 : 2 + len(rows)]
        assert [NUMBER.sub("", row) for row in printed] == [NUMBER.sub("", row) for row in rows]
        assert numbers("\n".join(printed)) == pytest.approx(numbers("\n".join(rows)), abs=1)


@pytest.mark.parametrize("runs", RUNS)
def test_wrong_verdicts_are_as_rare_as_promised(runs: Runs) -> None:
    assert verdict_shares(0.0, runs)[3] <= 0.05  # tables with a cell that differs
    assert verdict_shares(1.0, runs)[0] <= 0.05  # cells that agree at the margin


@pytest.mark.parametrize("apart", [0.0, 2.0])
@pytest.mark.parametrize("runs", RUNS)
def test_the_simulation_decides_as_the_code_of_tables(runs: Runs, apart: float) -> None:
    ours, published = (side[0] for side in runs_of(apart, runs))

    def std(side: Any) -> Any:
        return side.std(axis=1, ddof=1) if side.shape[1] > 1 else [None] * len(side)  # of one run: none

    numbers_of_cells = zip(ours.mean(axis=1), std(ours), published.mean(axis=1), std(published), strict=True)
    lines = [
        line(
            mean, np.round(printed, 1), row=str(at), n=runs.n, published_n=runs.published_n, published_half=HALF,
            ours=deviation, published_std=published_deviation if runs.printed else None,
        )
        for at, (mean, deviation, printed, published_deviation) in enumerate(numbers_of_cells)
    ]  # fmt: skip
    assumed = np.broadcast_to(runs.assumed, len(lines))
    verdicts = [one.verdict for one in judge_lines(lines, lambda one: (MARGIN.points, float(assumed[int(one.row)])))]
    agrees, differs = (cells[0] for cells in decided(apart, runs))
    assert verdicts == [AGREES if yes else DIFFERS if no else INCONCLUSIVE
                        for yes, no in zip(agrees, differs, strict=True)]  # fmt: skip


@pytest.mark.parametrize(("std", "n"), [(0.4, 4), (0.4, 6), (0.6, 8)])
def test_the_runs_that_are_asked_for_suffice(std: float, n: int) -> None:
    (open_,) = judge_lines([line(70.5, 70.0, std=std, n=3, published_n=n, published_half=0.05)], limits)
    needed = int(open_.runs_needed)
    draw = np.random.default_rng(1)
    sides = [std * draw.standard_normal((400, runs)) for runs in (needed, n)]
    agree = 0
    for mine, theirs in zip(*sides, strict=True):
        one = line(70 + mine.mean(), 70 + theirs.mean(), n=needed, published_n=n, published_half=0.05,
                   ours=mine.std(ddof=1), published_std=theirs.std(ddof=1))  # fmt: skip
        agree += judge_lines([one], limits)[0].verdict == AGREES
    assert agree / 400 == pytest.approx(0.8, abs=0.1)  # enough, and not many more than enough
