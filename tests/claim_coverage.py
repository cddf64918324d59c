"""Simulations of how often a claim about two rows is wrongly shown, where their runs share seeds and where not.

Run it as a module to print the table of `workflow/retort/judgement/statistics.md`, which a test compares with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from retort.cli.needs import SEEDS as BUDGET_SEEDS
from retort.cli.needs import SURER
from retort.judgement.cells import CellValues
from retort.judgement.certainty import FIRST_RUNS, LEVEL, LOOKS, AsIf, resampled_means
from retort.specs.rows import AssumedSpread
from scipy import stats

SEED, DRAWN = 20261125, 2000
SEEDS, SHARED = (2, 3, 4, 8), (0.0, 0.5, 0.9)  # runs of a row; share of the variance that is due to the seed
LOOKED = 100_000  # claims that are looked at twice
TABLES = {0.0: 2000, 2.0: 500}  # true difference of the two rows, in deviations over runs -> simulated tables


def scores_of(runs: int, shared: float, apart: float, tables: int, step: float = 0.0) -> Any:
    """Return made-up scores of two rows, in deviations over runs: (tables, rows, runs).

    Args:
        runs: the seeds, which are those of both rows.
        shared: the share of the variance that the seeds explain in both rows.
        apart: the true difference.
        tables: how many tables.
        step: scores are multiples of it, as accuracies on few rows are; 0 for any number.
    """
    draw = np.random.default_rng([SEED, runs, round(10 * shared), round(10 * apart)])
    of_seed, own = draw.standard_normal((tables, 1, runs)), draw.standard_normal((tables, 2, runs))
    scores = np.sqrt(shared) * of_seed + np.sqrt(1 - shared) * own + np.array([[apart], [0.0]])
    return step * np.round((scores + draw.uniform(0, step, (tables, 1, 1))) / step) if step else scores


def cells_of(scores: Any, paired: bool = False, keys: Any = None) -> CellValues:
    """Return cells by the scores of their runs: (cells, runs), in one column of as many rows unless keys are given."""
    by_seed = np.empty(len(scores), object)
    for row, values in enumerate(scores):
        by_seed[row] = tuple(enumerate(values)) if paired else ()
    if keys is None:
        keys = np.array([("table", str(row), "c") for row in range(len(scores))], object)
    means, fixed = scores.mean(axis=1), {"n": scores.shape[1], "unit": "x100", "text": ""}
    facts = {name: np.full(len(scores), one, object if isinstance(one, str) else None) for name, one in fixed.items()}
    facts |= {"std": scores.std(axis=1, ddof=1), "by_seed": by_seed, "value": means}
    return CellValues(keys, np.arange(len(scores)), facts, means[:, None])


def _above(scores: Any, paired: bool, draw: np.random.Generator) -> Any:
    """Return the share of resamples in which the first row of each table is above the second: scores are as above."""
    cells = cells_of(scores.reshape(-1, scores.shape[-1]), paired)  # rows of all tables
    means = resampled_means(cells, lambda _: AssumedSpread(0.6), AsIf(), DRAWN, draw).reshape(-1, 2, DRAWN)
    return (means[:, 0] > means[:, 1]).mean(axis=1)


def shown(scores: Any, paired: bool) -> float:
    """Return the share of tables that show the first row to be above the second."""
    draw = np.random.default_rng(SEED)
    parts = np.array_split(scores, len(scores) // 50)  # the rows of a part that share their seeds share their resamples
    return float((np.concatenate([_above(part, paired, draw) for part in parts]) >= 1 - LEVEL / 2).mean())


def resampled(scores: Any) -> float:
    """Return the same for a bootstrap that resamples the seeds of both rows anew, with replacement."""
    draw, differences = np.random.default_rng(SEED), scores[:, 0] - scores[:, 1]
    runs = differences.shape[1]
    chosen = draw.integers(0, runs, (500, runs))
    above = np.array([(values[chosen].mean(axis=1) > 0).mean() for values in differences])
    return float((above >= 1 - LEVEL / 2).mean())


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| seeds | they share | paired (0) | apart (0) | seeds resampled (0) | paired (2) | apart (2) |",
             "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for runs in SEEDS:
        for shared in SHARED:
            null, true = (scores_of(runs, shared, apart, tables) for apart, tables in TABLES.items())
            shares = [shown(null, True), shown(null, False), resampled(null), shown(true, True), shown(true, False)]
            lines.append(f"| {' | '.join(f'{100 * share:.0f}' for share in [runs / 100, shared, *shares])} |")
    return "\n".join(lines)


def looked_twice(apart: float, looks: tuple[float, float], wider: float = SURER) -> list[float]:
    """Return how often the two looks of a budget show a difference, in a direction each, and the mean of the runs.

    After two seeds, a claim that is open gets as many as decide it if its mean and its deviation stay as they are, with
    the margin for a power of 80 %; it gets no more if 20 do not.

    Args:
        apart: the true difference, in deviations of the difference under one seed.
        looks: the levels.
        wider: that margin, times the deviation.
    """
    scores = apart + np.random.default_rng(SEED).standard_normal((LOOKED, BUDGET_SEEDS[-1]))

    def limit(runs: int, level: float, spread: Any) -> Any:
        return stats.t.ppf(1 - level / 2, runs - 1) * spread / np.sqrt(runs)

    def decided(runs: int, level: float) -> Any:
        values = scores[:, :runs]
        mean, shown = values.mean(axis=1), limit(runs, level, values.std(axis=1, ddof=1))
        return np.sign(mean) * (abs(mean) > shown)

    first, spread = decided(FIRST_RUNS, looks[0]), scores[:, :FIRST_RUNS].std(axis=1, ddof=1)
    found, runs = first.copy(), np.full(LOOKED, FIRST_RUNS)
    for seeds in BUDGET_SEEDS[:0:-1]:  # the fewest win
        needs = (first == 0) & (abs(scores[:, :FIRST_RUNS].mean(axis=1)) > wider * limit(seeds, looks[1], spread))
        found, runs = np.where(needs, decided(seeds, looks[1]), found), np.where(needs, seeds, runs)
    return [100 * float((found > 0).mean()), 100 * float((found < 0).mean()), float(runs.mean())]


def table_of_looks() -> str:
    """Return the table of two looks as Markdown."""
    lines = ["| true difference | 'above' | 'below' | seeds | 'above', each look at 5 % | 'below' |",
             "| ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for apart in (0.0, 0.5, 1.0, 2.0, 3.0):
        shares = [*looked_twice(apart, LOOKS), *looked_twice(apart, (LEVEL, LEVEL))[:2]]
        lines.append(f"| {apart:g} | {' | '.join(f'{share:.1f}' for share in shares)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(), table_of_looks(), sep="\n\n")
