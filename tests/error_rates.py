"""Simulations of how often verdicts and paired tests are wrong, with the deviations that wang2023 reports.

Run it as a module to print the tables of `workflow/retort/judgement/statistics.md`, which a test compares with it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from retort.judgement import verdicts
from retort.judgement.difference import LEVEL, TESTS, Comparison, MeanDifference, tasks_random
from retort.specs.config import Config
from retort.specs.rows import ASSUMED_FREEDOM, ASSUMED_STD
from retort.study.load import open_study

SEED = 20230721
TABLES, TASKS, HALF = 400, 7, 0.05  # simulated tables; tasks of a row; half a unit of the reported digit
APART = (0.0, 0.5, 1.0, 2.0, 3.0)  # true differences, in points
REPEATS = 30  # of each pair of rows
LOST = {"one task": (3, 0, 0, 0, 0, 0, 0), "three tasks": (3, 3, 3, 0, 0, 0, 0)}  # how many of four runs a task lacks
SHIFT = 1.5  # points: the mean difference of pairs of rows that the power of a test is stated for


@dataclass(frozen=True)
class Runs:
    """The runs behind the cells of a table.

    Args:
        n: our runs of each cell.
        reported_n: the reported ones.
        with_std: whether a deviation is reported, if the reported runs have one.
        by_task: whether the deviation that is assumed of single runs is one of each task; else one of all cells.
    """

    n: int
    reported_n: int
    with_std: bool = True
    by_task: bool = False

    @property
    def label(self) -> str:
        """The reported runs, with what is not as usual."""
        unusual = {"no deviation reported": not self.with_std, "a deviation assumed for each task": self.by_task}
        return ", ".join([str(self.reported_n), *(text for text, holds in unusual.items() if holds)])

    def sides(self, ours: Any, reported: Any) -> tuple[verdicts.Runs, verdicts.Runs]:
        """Return both sides of the cells of many tables, from their runs: (tables, cells, runs)."""
        known = (self.n > 1, self.with_std and self.reported_n > 1)
        mine, theirs = (
            verdicts.Runs(runs.shape[-1], runs.var(axis=-1, ddof=1) if there else np.full(runs.shape[:-1], np.nan))
            for runs, there in zip((ours, reported), known, strict=True)
        )
        return mine, theirs


RUNS = (
    Runs(4, 4), Runs(10, 4), Runs(3, 3), Runs(3, 3, with_std=False), Runs(4, 1), Runs(1, 4),
    Runs(1, 1), Runs(1, 1, by_task=True),
)  # fmt: skip


@functools.cache
def reported_rows() -> Any:
    """Return mean and deviation of each task of each row of wang2023's table 1: (rows, tasks, 2)."""
    exhibit = open_study(Config(papers=["wang2023"], scale="paper")).exhibits["wang2023", "table1"]
    rows: dict[str, list[tuple[float, float]]] = {}
    for cell in exhibit.reported_cells():
        if cell.number and cell.number.std is not None:
            rows.setdefault(cell.row, []).append((cell.number.value, cell.number.std))
    return np.array(list(rows.values()))


def true_deviations() -> Any:
    """Return the reported deviations of table 1, taken as true: (columns, rows). One of 0.00 is half a unit."""
    return np.maximum(reported_rows()[:, :, 1].T, 0.005)


def runs_of(stds: tuple[Any, Any], apart: float, runs: Runs, tables: int = TABLES) -> tuple[Any, Any]:
    """Return made-up runs of cells, ours and reported: (tables, columns, rows, runs) of either side.

    Args:
        stds: the true deviations of our runs and of the reported ones: (columns, rows) or (tables, columns, rows).
        apart: the true difference.
        runs: how many there are.
        tables: how many tables.
    """
    draw = np.random.default_rng([SEED, round(10 * apart), runs.n, runs.reported_n])
    ours, reported = (
        std[..., None] * draw.standard_normal((tables, *std.shape[-2:], n))
        for std, n in zip(stds, (runs.n, runs.reported_n), strict=True)
    )
    return apart + ours, reported


def assumed_of(runs: Runs) -> Any:
    """Return the deviation that each column assumes: of one of wang2023, what is reported for its task."""
    deviations = true_deviations()
    return np.sqrt((deviations**2).mean(axis=1)) if runs.by_task else np.full(len(deviations), ASSUMED_STD.points)


def decided(ours: Any, reported: Any, runs: Runs) -> tuple[Any, Any]:
    """Return which cells of made-up tables agree and which differ: two arrays (tables, cells)."""
    tables, columns, rows = ours.shape[:3]
    ours, reported = (side.reshape(tables, columns * rows, -1) for side in (ours, reported))
    at, assumed, sides = np.repeat(np.arange(columns), rows), assumed_of(runs), runs.sides(ours, reported)
    column = verdicts.Spread.of(*sides, at, assumed[at % len(assumed)])
    value = ours.mean(axis=-1) - np.round(reported.mean(axis=-1), 1)
    _, p_holm, p_equivalence = verdicts.decisions(verdicts.difference(value, *sides, column, HALF))
    found = verdicts.verdict_of(p_holm, p_equivalence)
    return found == verdicts.AGREES, found == verdicts.DIFFERS


@functools.cache
def shares_of_table1(apart: float, runs: Runs, ratio: float = 1.0) -> list[float]:
    """Return shares in tables with the deviations of table 1, `ratio` times as large for the reported runs."""
    std = true_deviations()
    return verdict_shares(*runs_of((std, ratio * std), apart, runs), runs)


def verdict_shares(ours: Any, reported: Any, runs: Runs) -> list[float]:
    """Return the shares of cells that agree, are inconclusive and differ, and of tables in which any cell differs."""
    agrees, differs = decided(ours, reported, runs)
    return [agrees.mean(), (~agrees & ~differs).mean(), differs.mean(), differs.any(axis=1).mean()]


# --- tables whose deviations are not as assumed

Shape = tuple[int, int, int]  # tables, columns, rows
TrueStds = Callable[[Any, Shape], tuple[Any, Any]]  # a generator and a shape -> true deviations, ours and reported


def reported_like(draw: Any, shape: Shape, freedom: float = ASSUMED_FREEDOM) -> Any:
    """Return deviations that differ from cell to cell as the reported ones do, around 0.6."""
    return ASSUMED_STD.points * np.sqrt(freedom / draw.chisquare(freedom, shape))


def alike(std: Callable[[Any, Shape], Any]) -> TrueStds:
    """Return true deviations that are the same on both sides."""
    return lambda draw, shape: (std(draw, shape),) * 2


def one_wild_column(draw: Any, shape: Shape) -> Any:
    """Return deviations as reported, but for 15 points in the first column."""
    return np.where(np.arange(shape[1])[:, None] == 0, 15.0, reported_like(draw, shape))


def apart_by(ours: float, reported: float) -> TrueStds:
    """Return deviations as reported, times a factor on either side."""

    def deviations(draw: Any, shape: Shape) -> tuple[Any, Any]:
        std = reported_like(draw, shape)
        return ours * std, reported * std

    return deviations


SPREADS: dict[str, TrueStds] = {
    "0.3": alike(lambda draw, shape: np.full(shape, 0.3)),
    "0.6": alike(lambda draw, shape: np.full(shape, 0.6)),
    "1.2": alike(lambda draw, shape: np.full(shape, 1.2)),
    "15": alike(lambda draw, shape: np.full(shape, 15.0)),
    "around 0.6, as reported": alike(reported_like),
    "the same with 2 degrees of freedom": alike(lambda draw, shape: reported_like(draw, shape, 2)),
    "0.3 or 1.2, by lot": alike(lambda draw, shape: np.where(draw.random(shape) < 0.5, 0.3, 1.2)),
    "0.3, but 3 in every fifth cell": alike(lambda draw, shape: np.where(draw.random(shape) < 0.2, 3.0, 0.3)),
    "as reported, but 15 in one column": alike(one_wild_column),
    "as reported, the reported ones 2 times as large": apart_by(1, 2),
    "as reported, ours 2 times as large": apart_by(2, 1),
    "as reported, the reported ones 3 times as large": apart_by(1, 3),
}
NUMBERS = (Runs(2, 2), Runs(3, 3), Runs(4, 4), Runs(10, 10), Runs(4, 10), Runs(10, 4), Runs(2, 10))
SHAPES = ((1, 1), (1, 2), (8, 2), (5, 3), (4, 5), (15, 17))  # columns and rows
SHAPED = ("15", "the same with 2 degrees of freedom", "0.3 or 1.2, by lot", "0.3, but 3 in every fifth cell")
WITHOUT = (Runs(4, 4, with_std=False), Runs(4, 1), Runs(3, 1), Runs(10, 1), Runs(1, 4))  # a side has no deviation
RATIOS = (1.0, 1.5, 2.0, 3.0)


@functools.cache
def shares_of_spread(name: str, runs: Runs, columns: int = 7, rows: int = 9, apart: float = 0.0) -> list[float]:
    """Return shares in tables with deviations of SPREADS."""
    tables = 200 if columns * rows > 100 else 500
    draw = np.random.default_rng([SEED, list(SPREADS).index(name), columns, rows])
    stds = SPREADS[name](draw, (tables, columns, rows))
    return verdict_shares(*runs_of(stds, apart, runs, tables), runs)


# --- paired tests


def gaps(first: Any, second: Any) -> Any:
    """Return the reported differences of two rows on each task."""
    return first[:, 0] - second[:, 0]


Tasks = Callable[[Any, Any], Any]  # reported differences, a generator -> true differences on each task
TRUTHS: dict[str, Tasks] = {
    "no difference on any task": lambda reported, draw: 0 * reported,
    "differences on these tasks, with mean zero": lambda reported, draw: reported - reported.mean(),
    "random tasks, with mean zero": lambda reported, draw: reported.std(ddof=1) * draw.standard_normal(len(reported)),
}


def significant(results: Iterable[Comparison]) -> Any:
    """Return which of some mean differences are called different from zero at 5 %."""
    apart = [result.difference for result in results]
    each = np.array([(one.value, one.error, one.freedom) for one in apart])
    return MeanDifference(*each.T).p() < LEVEL


def simulated(truth: str, draw: Any) -> Iterator[Any]:
    """Yield made-up differences of each pair of rows, many times: (tasks, seeds)."""
    for first, second in list(itertools.combinations(reported_rows(), 2)) * REPEATS:
        true = TRUTHS[truth](gaps(first, second), draw)
        yield true[:, None] + np.hypot(first[:, 1], second[:, 1])[:, None] * draw.standard_normal((TASKS, 4))


def by_task(values: Iterable[Any]) -> dict[tuple[str, str], list[float]]:
    """Return the differences on each task, as paired tests take them."""
    return {("", str(task)): list(map(float, each)) for task, each in enumerate(values)}


def paired_shares(truth: str) -> list[float]:
    """Return the share of pairs of rows that each paired test calls different at 5 %, where none is on average."""
    draw = np.random.default_rng([SEED, list(TRUTHS).index(truth)])
    results = [[test.run(by_task(apart), 0.0) for test in TESTS] for apart in simulated(truth, draw)]
    return [significant(of_test).mean() for of_test in zip(*results, strict=True)]


def drawn_shares(truth: str, lost: str) -> list[float]:
    """Return shares of pairs of rows that the test of drawn tasks calls different at 5 %, where some runs are left out.

    The first share is that where the mean difference is zero, the other that where it is SHIFT.
    """
    draw, results = np.random.default_rng([SEED, list(TRUTHS).index(truth), list(LOST).index(lost)]), []
    for apart in simulated(truth, draw):
        left = draw.permutation(LOST[lost])
        kept = [[each[gone:] + shift for each, gone in zip(apart, left, strict=True)] for shift in (0.0, SHIFT)]
        results.append([tasks_random(by_task(values)) for values in kept])
    return [significant(of_shift).mean() for of_shift in zip(*results, strict=True)]


def percent(shares: list[float]) -> str:
    """Return shares as cells of a Markdown table, in per cent."""
    return " | ".join(f"{100 * share:.0f}" for share in shares)


def tables() -> str:
    """Return the tables as Markdown."""
    return "\n".join([*tables_of_verdicts(), "", *tables_of_spreads(), "", *tables_of_pairs()])


def tables_of_verdicts() -> list[str]:
    """Return the lines of the tables with the deviations of table 1."""
    lines = ["| true difference | agrees | inconclusive | differs | tables with a cell that 'differs' |",
             "| ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    lines += [f"| {apart:g} | {percent(shares_of_table1(apart, RUNS[0]))} |" for apart in APART]
    lines += ["", "| ours | reported | agrees (0) | differs (2) | table with a 'differs' (0) | 'agrees' (1) |",
              "| ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for runs in RUNS:
        none, one, two = (shares_of_table1(apart, runs) for apart in (0.0, 1.0, 2.0))
        lines.append(f"| {runs.n} | {runs.label} | {percent([none[0], two[2], none[3], one[0]])} |")
    heads = [f"{what} ({ratio:g})" for what in ("'differs'", "'agrees'") for ratio in RATIOS]
    lines += ["", f"| ours | reported | {' | '.join(heads)} |", f"|{' ---: |' * (2 + len(heads))}"]
    for runs in WITHOUT:
        false = [shares_of_table1(0.0, runs, ratio)[3] for ratio in RATIOS]
        false += [shares_of_table1(1.0, runs, ratio)[0] for ratio in RATIOS]
        lines.append(f"| {runs.n} | {runs.label} | {percent(false)} |")
    return lines


def tables_of_spreads() -> list[str]:
    """Return the lines of the tables with other deviations than assumed."""
    lines = [f"| true deviations | {' | '.join(f'{runs.n} and {runs.reported_n}' for runs in NUMBERS)} |",
             f"| --- |{' ---: |' * len(NUMBERS)}"]  # fmt: skip
    for name in SPREADS:
        lines.append(f"| {name} | {percent([shares_of_spread(name, runs)[3] for runs in NUMBERS])} |")
    lines += ["", f"| true deviations | {' | '.join(f'{rows} x {columns}' for columns, rows in SHAPES)} |",
              f"| --- |{' ---: |' * len(SHAPES)}"]  # fmt: skip
    for name in SHAPED:
        lines.append(f"| {name} | {percent([shares_of_spread(name, Runs(3, 3), *shape)[3] for shape in SHAPES])} |")
    lines += ["", "| true deviations | runs | differs (2) | differs (5) | differs (10) | agrees (0) |",
              "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for name, n in itertools.product(("0.6", "around 0.6, as reported"), (3, 4)):
        found = [shares_of_spread(name, Runs(n, n), 15, 17, apart)[2] for apart in (2.0, 5.0, 10.0)]
        found.append(shares_of_spread(name, Runs(n, n), 15, 17)[0])
        lines.append(f"| {name} | {n} and {n} | {percent(found)} |")
    return lines


def tables_of_pairs() -> list[str]:
    """Return the lines of the tables of paired tests."""
    lines = [f"| the truth | {' | '.join(test.title for test in TESTS)} |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {truth} | {percent(paired_shares(truth))} |" for truth in TRUTHS]
    lines += ["", "| the truth | one run left on | task means | task means (1.5) |", "| --- | --- | ---: | ---: |"]
    lines += [f"| {truth} | {lost} | {percent(drawn_shares(truth, lost))} |" for truth in TRUTHS for lost in LOST]
    return lines


if __name__ == "__main__":
    print(tables())
