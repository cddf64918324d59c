"""Simulations of what one distillation a side does to verdicts, claims and paired tests.

Run it as a module to print the table of `workflow/retort/judgement/statistics.md`, which a test compares with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from retort.judgement import verdicts
from retort.judgement.certainty import LEVEL, AsIf, resampled_means
from retort.judgement.difference import tasks_fixed
from retort.specs.rows import ASSUMED_DISTILLATION_STD, ASSUMED_STD, TASK_CORRELATION, AssumedSpread

from tests.claim_coverage import cells_of
from tests.error_rates import by_task

SEED, HALF = 20261128, 0.05
RATIOS = (0.0, 0.5, 1.0, 2.0)  # true deviation between distillations, over the assumed one
TABLES, CLAIMS, DRAWN, TASKS = 400, 2000, 1000, 7
LUCK = ASSUMED_DISTILLATION_STD.points


def runs_of(shape: tuple[int, ...], ratio: float, distillations: int, finetunings: int) -> Any:
    """Return made-up scores of equally good cells, in points: (*shape, distillations, fine-tunings)."""
    draw = np.random.default_rng([SEED, round(10 * ratio), distillations, finetunings, *shape])
    luck = ratio * LUCK * draw.standard_normal((*shape, distillations, 1))
    return luck + ASSUMED_STD.points * draw.standard_normal((*shape, distillations, finetunings))


def tables_that_differ(ratio: float, finetunings: int, rows: int, columns: int, counted: bool) -> float:
    """Return the share of tables without a difference in which a cell 'differs', with one distillation on either side.

    Args:
        ratio: the true deviation between distillations, over the assumed one.
        finetunings: of each distillation.
        rows: of the table.
        columns: of the table.
        counted: whether the luck of distillations is counted.
    """
    both = runs_of((2, TABLES, columns * rows), ratio, 1, finetunings)[..., 0, :]
    ours, reported = (verdicts.Runs(finetunings, side.var(axis=-1, ddof=1)) for side in both)
    column = verdicts.Spread.of(ours, reported, np.repeat(np.arange(columns), rows), np.full(columns * rows, 0.6))
    value = both[0].mean(axis=-1) - both[1].mean(axis=-1)
    apart = verdicts.difference(value, ours, reported, column, HALF, 2 * LUCK**2 * counted)
    return float((verdicts.decisions(apart)[1] < LEVEL).any(axis=1).mean())


def claims_shown(ratio: float, distillations: int, finetunings: int, counted: bool) -> float:
    """Return how often one of two equally good rows is shown to be above the other."""
    runs = runs_of((CLAIMS, 2), ratio, distillations, finetunings)
    units = (runs[..., 0, :] if distillations == 1 else runs.mean(axis=-1)).reshape(2 * CLAIMS, -1)
    cells = cells_of(units)  # rows that do not pair
    shared = counted and distillations == 1
    means = resampled_means(
        cells, lambda cell: AssumedSpread(0.6, LUCK, cell[1] if shared else ""), AsIf(), DRAWN,
        np.random.default_rng(SEED),
    ).reshape(CLAIMS, 2, DRAWN)  # fmt: skip
    above = (means[:, 0] > means[:, 1]).mean(axis=1)
    return float((np.maximum(above, 1 - above) >= 1 - LEVEL / 2).mean())


def pairs_shown(ratio: float, finetunings: int, counted: bool) -> float:
    """Return how often the test of fixed tasks calls two equally good rows of one distillation each different."""
    draw = np.random.default_rng([SEED, round(10 * ratio), finetunings])
    shared, own = draw.standard_normal((2, CLAIMS, 2, 1)), draw.standard_normal((CLAIMS, 2, TASKS))
    luck = np.sqrt(TASK_CORRELATION) * shared[0] + np.sqrt(1 - TASK_CORRELATION) * own
    noise = ASSUMED_STD.points * draw.standard_normal((CLAIMS, 2, TASKS, finetunings))
    apart = np.diff(ratio * LUCK * luck[..., None] + noise, axis=1)[:, 0]
    variance = 2 * LUCK**2 * counted
    found = [tasks_fixed(by_task(each), variance).p for each in apart]
    return float(np.mean([(p or 0.0) < LEVEL for p in found]))


CASES = {
    "a table of 9 x 7 cells, 4 fine-tunings": lambda ratio, counted: tables_that_differ(ratio, 4, 9, 7, counted),
    "a table of 17 x 15 cells, 3 fine-tunings": lambda ratio, counted: tables_that_differ(ratio, 3, 17, 15, counted),
    "a claim, 4 fine-tunings": lambda ratio, counted: claims_shown(ratio, 1, 4, counted),
    "a claim, 20 fine-tunings": lambda ratio, counted: claims_shown(ratio, 1, 20, counted),
    "fixed tasks, 7 tasks, 4 fine-tunings": lambda ratio, counted: pairs_shown(ratio, 4, counted),
    "a claim, 4 distillations x 3 fine-tunings": lambda ratio, _: claims_shown(ratio, 4, 3, True),
}


def table() -> str:
    """Return the table as Markdown."""
    heads = [f"{what} ({ratio:g})" for what in ("left out", "counted") for ratio in RATIOS]
    lines = [f"| equally good, one distillation each | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    for name, share in CASES.items():
        shares = [share(ratio, counted) for counted in (False, True) for ratio in RATIOS]
        lines.append(f"| {name} | {' | '.join(f'{100 * each:.0f}' for each in shares)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
