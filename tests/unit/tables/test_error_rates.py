"""Tests of how often verdicts and paired tests are wrong: the tables of the README are simulated anew."""

from __future__ import annotations

import re

import numpy as np
import pytest
from retort.specs.judging import ASSUMED_STD, MARGIN
from retort.tables.tidy import Line
from retort.tables.verdicts import AGREES, judged

from tests.conftest import ROOT
from tests.error_rates import runs_of, tables, verdict_shares
from tests.tiny.results import line

README = (ROOT / "workflow/retort/tables/README.md").read_text()


def limits(_: Line) -> tuple[float, float]:
    """Return the default margin and deviation."""
    return MARGIN.points, ASSUMED_STD.points


def numbers(text: str) -> list[int]:
    """Return the whole numbers in the bodies of Markdown tables."""
    return [int(found) for row in text.splitlines() for found in re.findall(r"(?<=\| )\d+(?= \|)", row)]


def test_the_tables_of_the_readme_are_those_of_the_simulation() -> None:
    for simulated in tables().split("\n\n"):
        head, rule, *rows = simulated.splitlines()
        assert f"{head}\n{rule}\n" in README
        printed = README[README.index(head) :].splitlines()[2 : 2 + len(rows)]
        assert [row.split("|")[1] for row in printed] == [row.split("|")[1] for row in rows]
        assert numbers("\n".join(printed)) == pytest.approx(numbers("\n".join(rows)), abs=1)


def test_wrong_verdicts_are_as_rare_as_promised() -> None:
    for n, published_n in ((4, 4), (3, 3), (4, 1)):
        assert verdict_shares(0.0, n, published_n)[3] <= 0.05  # tables with a cell that differs
        assert verdict_shares(1.0, n, published_n)[0] <= 0.05  # cells that agree at the margin


def test_the_simulation_decides_as_the_code_of_tables() -> None:
    ours, published = (runs[0] for runs in runs_of(2.0, 4, 4))
    lines = [
        line(
            float(mine.mean()), float(np.round(theirs.mean(), 1)), row=str(at), n=4, published_n=4, published_half=0.05,
            ours=float(mine.std(ddof=1)), published_std=float(theirs.std(ddof=1)),
        )
        for at, (mine, theirs) in enumerate(zip(ours, published, strict=True))
    ]  # fmt: skip
    verdicts = [one.verdict for one in judged(lines, limits)]
    shares = [verdicts.count(verdict) / len(verdicts) for verdict in ("agrees", "inconclusive", "differs")]
    assert shares == pytest.approx(verdict_shares(2.0, 4, 4)[:3], abs=0.15)


@pytest.mark.parametrize(("std", "n"), [(0.4, 4), (0.4, 6), (0.6, 8)])
def test_the_runs_that_are_asked_for_suffice(std: float, n: int) -> None:
    (open_,) = judged([line(70.5, 70.0, std=std, n=3, published_n=n, published_half=0.05)], limits)
    needed = int(open_.runs_needed)
    draw = np.random.default_rng(1)
    sides = [std * draw.standard_normal((400, runs)) for runs in (needed, n)]
    agree = 0
    for mine, theirs in zip(*sides, strict=True):
        one = line(70 + mine.mean(), 70 + theirs.mean(), n=needed, published_n=n, published_half=0.05,
                   ours=mine.std(ddof=1), published_std=theirs.std(ddof=1))  # fmt: skip
        agree += judged([one], limits)[0].verdict == AGREES
    assert agree / 400 == pytest.approx(0.8, abs=0.1)  # enough, and not many more than enough
