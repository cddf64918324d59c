"""Comparisons of groups of cells: their means, how far they lie apart, and one row against each of several others."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from retort.formatters import number as formatted
from retort.judgement.comparisons import (
    TINY,
    NumberedCell,
    Verdict,
    all_near,
    by_column,
    comparisons,
    every,
    gap,
    most,
    pairs_by_column,
    pairs_of,
    rows_of,
    unless_open,
)


def _rows(cells: list[NumberedCell]) -> str:
    return ", ".join(dict.fromkeys(cell.row for cell in cells))


def _values(cells: list[NumberedCell]) -> list[float]:
    return [cell.number.value for cell in cells if cell.known]


def _means(cells: list[NumberedCell], against: list[NumberedCell]) -> tuple[float, str]:
    """Return the mean of the cells minus the mean of the others, and both means as text."""
    sides = [(statistics.mean(_values(side)), _rows(side)) for side in (cells, against)]
    text = " against ".join(f"{formatted(mean, 2)} ({rows})" for mean, rows in sides)
    return sides[0][0] - sides[1][0], f"means: {text}"


@comparisons.register("mean-above")
def mean_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that the mean of the cells is above the mean of the others."""
    if not all(cell.known for cell in (*cells, *against)):
        return Verdict(None, "")
    apart, text = _means(cells, against)
    return Verdict(apart > 0, text)


@comparisons.register("mean-near")
def mean_near(cells: list[NumberedCell], *, allowed: float, against: list[NumberedCell]) -> Verdict:
    """Check that the mean of the cells differs from the mean of the others by at most the allowed distance."""
    if not all(cell.known for cell in (*cells, *against)):
        return Verdict(None, "")
    apart, text = _means(cells, against)
    return Verdict(abs(apart) <= allowed + TINY, text)


@comparisons.register("varies-less")
def varies_less(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that the cells lie closer together, from the lowest to the highest, than the others."""
    if not all(cell.known for cell in (*cells, *against)):
        return Verdict(None, "")
    ranges = [(min(_values(side)), max(_values(side)), _rows(side)) for side in (cells, against)]
    text = " against ".join(f"{formatted(low, 1)} to {formatted(high, 1)} ({rows})" for low, high, rows in ranges)
    (low, high, _), (lowest, highest, _) = ranges
    return Verdict(high - low < highest - lowest, text)


@comparisons.register("mostly-above-each")
def mostly_above_each(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that the cells are above each of the other rows, taken by itself, in more than half of the columns."""
    verdicts = {}
    for row in dict.fromkeys(cell.row for cell in against):
        others = [cell for cell in against if cell.row == row]
        columns = [pairs_of(group, others) for group in by_column(cells).values()]
        verdicts[row] = most(columns, lambda apart: apart > 0)
    known = {row: verdict for row, verdict in verdicts.items() if verdict.numbers}
    fails = [row for row, verdict in known.items() if verdict.holds is False]
    text = "; ".join(f"{row}: {known[row].numbers}" for row in fails) or "; ".join(
        f"{row}: {verdict.numbers.partition(';')[0]}" for row, verdict in known.items()
    )
    complete = all(verdict.holds is not None for verdict in verdicts.values())
    holds = unless_open(not fails, complete) if known else None
    fails_so_far = any(verdict.so_far is False for verdict in known.values())
    return Verdict(holds, text, wrong=frozenset(fails), fails_so_far=fails_so_far)


@comparisons.register("none-dominates")
def none_dominates(cells: list[NumberedCell]) -> Verdict:
    """Check that no row is the best in every column; rows that are equal in a column are both best."""
    columns = by_column(cells)
    unbeaten = {column: _unbeaten(group) for column, group in columns.items()}
    compared = {
        column: unbeaten[column].intersection(cell.row for cell in group if cell.known)
        for column, group in columns.items()
        if len(_values(group)) > 1 or len(_values(group)) == len(group)
    }
    if not compared:
        return Verdict(None, "")
    wins = {row: sum(row in best for best in compared.values()) for row in dict.fromkeys(cell.row for cell in cells)}
    text = "; ".join(f"{row}: best in {count} of {len(compared)} columns" for row, count in wins.items() if count)
    everywhere = frozenset.intersection(*unbeaten.values())
    holds = None if everywhere and any(not cell.known for cell in cells) else not everywhere
    # In draws of many equally good rows, hardly ever is one best everywhere. So the evidence must come from two columns
    # that have no best row in common.
    pairs = itertools.combinations(columns, 2)
    alone = frozenset(f"{first}; {other}" for first, other in pairs if unbeaten[first].isdisjoint(unbeaten[other]))
    return Verdict(holds, text, alone=alone, fails_so_far=any(wins[row] for row in everywhere))


def _unbeaten(column: list[NumberedCell]) -> frozenset[str]:
    """Return the rows of a column that no other row is above; rows without a number count as unbeaten."""
    best = max(_values(column), default=math.nan)
    return frozenset(cell.row for cell in column if not cell.number.value < best)


@comparisons.register("columns-not-rising")
def columns_not_rising(cells: list[NumberedCell]) -> Verdict:
    """Check that in every column the cells in their order never rise."""
    bad, steps = [], 0
    for column in by_column(cells).values():
        known = [cell for cell in column if cell.known]
        steps += max(0, len(known) - 1)
        bad += [pair for pair in itertools.pairwise(known) if pair[1].number.value > pair[0].number.value]
    if not steps:
        return Verdict(None, "")
    text = "; ".join(f"{a.text} ({a.row}, {a.column}), then {b.text} ({b.row})" for a, b in bad)
    complete = all(cell.known for cell in cells)
    wrong = frozenset(map(rows_of, bad))
    return Verdict(unless_open(not bad, complete), text or f"{steps} steps, none of them up", wrong=wrong)


# Comparisons of the best of some rows with the best of others, column by column.
#
# The best of many equally good rows is above the best of a few by luck. So a verdict also names the single rows for
# which the statement holds.


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
