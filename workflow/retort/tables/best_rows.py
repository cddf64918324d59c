"""Comparisons of the best of some rows with the best of others, column by column.

The best of many equally good rows is above the best of a few by luck. So a verdict also names the single rows for which
the statement holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from retort.tables.comparison_types import NumberedCell, Verdict
from retort.tables.comparisons import all_near, by_column, comparisons, every, gap, most, pairs_by_column, pairs_of


def best(cells: list[NumberedCell]) -> list[NumberedCell]:
    """Return the best cell of each column; for a column with a missing number, the cell without a number."""
    return [
        next((cell for cell in column if not cell.known), max(column, key=lambda cell: cell.number.value))
        for column in by_column(cells).values()
    ]


def _best(cells: list[NumberedCell], against: list[NumberedCell], good: Callable[[float], bool]) -> Verdict:
    """Return whether, in every column, `good` accepts the best of the cells less the best of the others."""
    verdict = every(pairs_of(best(cells), best(against)), lambda pair: good(gap(pair)))
    rivals = [(first, other) for first, other in pairs_of(best(cells), against) if first.known and other.known]
    wrong = frozenset(f"{pair[1].column}: {pair[1].row}" for pair in rivals if not good(gap(pair)))
    return replace(verdict, wrong=wrong, alone=_alone(cells, against, good, len(by_column(cells))))


def _alone(
    cells: list[NumberedCell], against: list[NumberedCell], good: Callable[[float], bool], columns: int
) -> frozenset[str]:
    """Return the rows whose difference to the best of the others is good in at least `columns` columns."""
    won = Counter(first.row for first, other in pairs_of(cells, best(against)) if good(gap((first, other))))
    return frozenset(row for row, count in won.items() if count >= columns)


@comparisons.register("best-above")
def best_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the best of the cells is above the best of the others."""
    return _best(cells, against, lambda apart: apart > 0)


@comparisons.register("best-not-below")
def best_not_below(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the best of the cells is at least the best of the others."""
    return _best(cells, against, lambda apart: apart >= 0)


def _best_mostly(cells: list[NumberedCell], against: list[NumberedCell], good: Callable[[float], bool]) -> Verdict:
    """Return whether, in most columns, `good` accepts the best of the cells less the best of the others."""
    verdict, most_of = most(pairs_by_column(best(cells), best(against)), good), len(by_column(cells)) // 2 + 1
    return replace(verdict, alone=_alone(cells, against, good, most_of))


@comparisons.register("best-mostly-above")
def best_mostly_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in more than half of the columns the best of the cells is above the best of the others."""
    return _best_mostly(cells, against, lambda apart: apart > 0)


@comparisons.register("best-mostly-not-below")
def best_mostly_not_below(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in more than half of the columns the best of the cells is at least the best of the others."""
    return _best_mostly(cells, against, lambda apart: apart >= 0)


@comparisons.register("best-near")
def best_near(cells: list[NumberedCell], *, allowed: float, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the best cell differs from the best of the others by at most the allowed distance."""
    return all_near(pairs_of(best(cells), best(against)), allowed, lambda pair: pair[0].column)
