"""Simulations of how often verdicts and paired tests are wrong, with the deviations that wang2023 prints.

Run it as a module to print the tables of `workflow/retort/judgement/README.md`, which a test compares with it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from retort.judgement.difference import INFINITE, LEVEL, TESTS, Part, holm, tasks_drawn, welch
from retort.specs.config import Config
from retort.specs.rows import ASSUMED_FREEDOM, ASSUMED_STD, MARGIN
from retort.study.load import open_study

SEED = 20230721
TABLES, TASKS, HALF = 400, 7, 0.05  # simulated tables; tasks of a row; half a unit of the printed digit
APART = (0.0, 0.5, 1.0, 2.0, 3.0)  # true differences, in points
REPEATS = 30  # of each pair of rows
LOST = {"one task": (3, 0, 0, 0, 0, 0, 0), "three tasks": (3, 3, 3, 0, 0, 0, 0)}  # how many of four runs a task lacks
SHIFT = 1.5  # points: the mean difference of pairs of rows that the power of a test is stated for


@dataclass(frozen=True)
class Runs:
    """The runs behind the cells of a table.

    Args:
        n: our runs of each cell.
        published_n: the published ones.
        printed: whether a deviation is printed, if the published runs have one.
        by_task: whether the deviation that is assumed of single runs is one of each task; else one of all cells.
    """

    n: int
    published_n: int
    printed: bool = True
    by_task: bool = False

    @property
    def label(self) -> str:
        """The published runs, with what is not as usual."""
        unusual = {"no deviation printed": not self.printed, "a deviation assumed for each task": self.by_task}
        return ", ".join([str(self.published_n), *(text for text, holds in unusual.items() if holds)])

    @property
    def assumed(self) -> Any:
        """The deviation that is assumed of each cell, if neither side has one: a number, or an array (cells)."""
        return of_each_task() if self.by_task else ASSUMED_STD.points


RUNS = (
    Runs(4, 4), Runs(10, 4), Runs(3, 3), Runs(3, 3, printed=False), Runs(4, 1), Runs(1, 4),
    Runs(1, 1), Runs(1, 1, by_task=True),
)  # fmt: skip


@functools.cache
def printed_rows() -> Any:
    """Return mean and deviation of each task of each row of wang2023's table 1: (rows, tasks, 2)."""
    exhibit = open_study(Config(papers=["wang2023"], scale="paper")).exhibits["wang2023", "table1"]
    rows: dict[str, list[tuple[float, float]]] = {}
    for cell in exhibit.published_cells():
        if cell.number and cell.number.std is not None:
            rows.setdefault(cell.row, []).append((cell.number.value, cell.number.std))
    return np.array(list(rows.values()))


def runs_of(apart: float, runs: Runs) -> tuple[Any, Any]:
    """Return made-up runs of the cells of TABLES tables, ours and published: (tables, cells, runs) of either side."""
    draw = np.random.default_rng([SEED, round(10 * apart), runs.n, runs.published_n])
    std = printed_rows()[:, :, 1].ravel()
    shape = (TABLES, len(std))
    ours = apart + std[:, None] * draw.standard_normal((*shape, runs.n))
    return ours, std[:, None] * draw.standard_normal((*shape, runs.published_n))


def of_each_task() -> Any:
    """Return a deviation for each cell of a table: the root mean square of those that are printed for its task."""
    deviations = printed_rows()[:, :, 1]
    return np.tile(np.sqrt((deviations**2).mean(axis=0)), len(deviations))


def spreads_of(ours: Any, published: Any, runs: Runs) -> list[Part]:
    """Return the parts of the variance of each cell's difference, as `verdicts.spreads` chooses them."""
    known = [side for side, there in ((ours, runs.n > 1), (published, runs.printed and runs.published_n > 1)) if there]
    both = 1 / runs.n + 1 / runs.published_n
    parts = [
        Part(side.var(axis=2, ddof=1) * (both if len(known) == 1 else 1 / side.shape[2]), side.shape[2] - 1)
        for side in known
    ]
    nothing = sum(part.variance for part in parts) == 0  # runs without any spread count as none
    return [*parts, Part(np.where(nothing, np.square(runs.assumed) * both, 0.0), ASSUMED_FREEDOM)]


def decided(apart: float, runs: Runs) -> tuple[Any, Any]:
    """Return which cells of the made-up tables agree and which differ: two arrays (tables, cells)."""
    ours, published = runs_of(apart, runs)
    value = ours.mean(axis=2) - np.round(published.mean(axis=2), 1)
    rounding = Part(np.full_like(value, HALF**2 / 3), INFINITE)
    tested = welch(value, [*spreads_of(ours, published, runs), rounding])
    agrees = tested.p_equivalence(MARGIN.points) < LEVEL
    differs = np.array([holm(list(p)) for p in tested.p()]) < LEVEL
    return agrees, differs & ~agrees


def verdict_shares(apart: float, runs: Runs) -> list[float]:
    """Return the shares of cells that agree, are inconclusive and differ, and of tables in which any cell differs."""
    agrees, differs = decided(apart, runs)
    return [agrees.mean(), (~agrees & ~differs).mean(), differs.mean(), differs.any(axis=1).mean()]


def gaps(first: Any, second: Any) -> Any:
    """Return the printed differences of two rows on each task."""
    return first[:, 0] - second[:, 0]


Tasks = Callable[[Any, Any], Any]  # printed differences, a generator -> true differences on each task
TRUTHS: dict[str, Tasks] = {
    "no difference on any task": lambda printed, draw: 0 * printed,
    "differences on these tasks, with mean zero": lambda printed, draw: printed - printed.mean(),
    "tasks drawn, with mean zero": lambda printed, draw: printed.std(ddof=1) * draw.standard_normal(len(printed)),
}


def paired_shares(truth: str) -> list[float]:
    """Return the share of pairs of rows that each paired test calls different at 5 %, where none is on average."""
    draw, rows, n = np.random.default_rng([SEED, list(TRUTHS).index(truth)]), printed_rows(), 4
    significant = []
    for first, second in list(itertools.combinations(rows, 2)) * REPEATS:
        true = TRUTHS[truth](gaps(first, second), draw)
        noise = np.hypot(first[:, 1], second[:, 1])[:, None] * draw.standard_normal((TASKS, n))
        differences = {("", str(task)): list(map(float, values)) for task, values in enumerate(true[:, None] + noise)}
        significant.append([(test.run(differences).p or 0.0) < LEVEL for test in TESTS])
    return list(np.mean(significant, axis=0))


def drawn_shares(truth: str, lost: str) -> list[float]:
    """Return shares of pairs of rows that tests of drawn tasks call different at 5 %, where some runs are left out.

    Returns:
        Those of the t-test over task means and of the mixed model where the mean difference is zero, then the same
        where it is SHIFT.
    """
    draw = np.random.default_rng([SEED, list(TRUTHS).index(truth), list(LOST).index(lost)])
    rows, significant = printed_rows(), []
    for first, second in list(itertools.combinations(rows, 2)) * REPEATS:
        true = TRUTHS[truth](gaps(first, second), draw)
        noise = np.hypot(first[:, 1], second[:, 1])[:, None] * draw.standard_normal((TASKS, 4))
        left = draw.permutation(LOST[lost])
        decided = []
        for shift in (0.0, SHIFT):
            runs = {("", str(task)): list(map(float, values[left[task] :]))
                    for task, values in enumerate(true[:, None] + noise + shift)}  # fmt: skip
            means = {task: [float(np.mean(values))] for task, values in runs.items()}
            decided += [(tasks_drawn(differences).p or 0.0) < LEVEL for differences in (means, runs)]
        significant.append(decided)
    return list(np.mean(significant, axis=0))


def percent(shares: list[float]) -> str:
    """Return shares as cells of a Markdown table, in per cent."""
    return " | ".join(f"{100 * share:.0f}" for share in shares)


def tables() -> str:
    """Return the tables as Markdown."""
    lines = ["| true difference | agrees | inconclusive | differs | tables with a cell that 'differs' |",
             "| ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    lines += [f"| {apart:g} | {percent(verdict_shares(apart, RUNS[0]))} |" for apart in APART]
    lines += ["", "| ours | published | agrees (0) | differs (2) | table with a 'differs' (0) | 'agrees' (1) |",
              "| ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for runs in RUNS:
        none, one, two = (verdict_shares(apart, runs) for apart in (0.0, 1.0, 2.0))
        lines.append(f"| {runs.n} | {runs.label} | {percent([none[0], two[2], none[3], one[0]])} |")
    lines += ["", f"| the truth | {' | '.join(test.title for test in TESTS)} |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {truth} | {percent(paired_shares(truth))} |" for truth in TRUTHS]
    lines += ["", "| the truth | one run left on | task means | mixed model | task means (1.5) | mixed model (1.5) |",
              "| --- | --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    lines += [f"| {truth} | {lost} | {percent(drawn_shares(truth, lost))} |" for truth in TRUTHS for lost in LOST]
    return "\n".join(lines)


if __name__ == "__main__":
    print(tables())
