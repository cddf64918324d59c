"""Comparisons of groups of cells: their means and ranges, the best of several rows, and gains over counterparts."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter

from retort.formatters import number as formatted
from retort.judgement import comparisons as tools
from retort.judgement.comparisons import OPEN, SHOWN, TINY, NumberedCell, Pair, Stated, Verdict, comparisons, gap


def _rows(cells: list[NumberedCell]) -> str:
    return ", ".join(dict.fromkeys(cell.row for cell in cells))


def _values(cells: list[NumberedCell]) -> list[float]:
    return [cell.value for cell in cells if cell.known]


def _all_known(*sides: list[NumberedCell]) -> bool:
    return all(cell.known for cells in sides for cell in cells)


# --- means and ranges


def _means(cells: list[NumberedCell], against: list[NumberedCell]) -> tuple[float, str]:
    """Return the mean of the cells minus the mean of the others, and both means as text."""
    sides = [(statistics.fmean(_values(side)), _rows(side)) for side in (cells, against)]
    text = " against ".join(f"{formatted(mean, 2)} ({rows})" for mean, rows in sides)
    return sides[0][0] - sides[1][0], f"means: {text}"


@comparisons.register("mean-above", whole=True)
def mean_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that the mean of the cells is above the mean of the others."""
    apart, text = _means(cells, against)
    return Verdict(apart > 0, text)


@comparisons.register("mean-near", whole=True)
def mean_near(cells: list[NumberedCell], *, allowed: float, against: list[NumberedCell]) -> Verdict:
    """Check that the mean of the cells differs from the mean of the others by at most the allowed distance."""
    apart, text = _means(cells, against)
    return Verdict(abs(apart) <= allowed + TINY, text)


@comparisons.register("varies-less", whole=True)
def varies_less(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that the cells lie closer together, from the lowest to the highest, than the others."""
    sides = [(_values(side), _rows(side)) for side in (cells, against)]
    ranges = [(min(values), max(values), rows) for values, rows in sides]
    text = " against ".join(f"{formatted(low, 1)} to {formatted(high, 1)} ({rows})" for low, high, rows in ranges)
    (low, high, _), (lowest, highest, _) = ranges
    return Verdict(high - low < highest - lowest, text)


# --- one row against each of several others, and orders within columns


@comparisons.register("mostly-above-each")
def mostly_above_each(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that the cells are above each of the other rows, taken by itself, in more than half of the columns."""
    verdicts = {
        row: tools.most(
            tools.pairs_by_column(cells, [cell for cell in against if cell.row == row]), lambda apart: apart > 0
        )
        for row in dict.fromkeys(cell.row for cell in against)
    }
    known = {row: verdict for row, verdict in verdicts.items() if verdict.numbers}
    fails = [row for row, verdict in known.items() if verdict.holds is False]
    text = "; ".join(f"{row}: {known[row].numbers}" for row in fails) or "; ".join(
        f"{row}: {verdict.numbers.partition(';')[0]}" for row, verdict in known.items()
    )
    complete = all(verdict.holds is not None for verdict in verdicts.values())
    fails_so_far = any(verdict.so_far is False for verdict in known.values())
    return replace(tools.unless_wrong(frozenset(fails), complete, text), fails_so_far=fails_so_far)


@comparisons.register("none-dominates")
def none_dominates(cells: list[NumberedCell]) -> Verdict:
    """Check that no row is the best in every column; rows that are equal in a column are both best."""
    columns = tools.by_column(cells)
    unbeaten = {column: _unbeaten(group) for column, group in columns.items()}
    compared = {
        column: unbeaten[column].intersection(cell.row for cell in group if cell.known)
        for column, group in columns.items()
        if len(_values(group)) > 1 or len(_values(group)) == len(group)
    }
    if not compared:
        return OPEN
    wins = {row: sum(row in best for best in compared.values()) for row in dict.fromkeys(cell.row for cell in cells)}
    text = "; ".join(f"{row}: best in {count} of {len(compared)} columns" for row, count in wins.items() if count)
    everywhere = frozenset.intersection(*unbeaten.values())
    holds = None if everywhere and not _all_known(cells) else not everywhere
    # In draws of many equally good rows, hardly ever is one best everywhere. So the evidence must come from two columns
    # that have no best row in common.
    pairs = itertools.combinations(columns, 2)
    alone = frozenset(f"{first}; {other}" for first, other in pairs if unbeaten[first].isdisjoint(unbeaten[other]))
    return Verdict(holds, text, alone=alone, fails_so_far=any(wins[row] for row in everywhere))


def _unbeaten(column: list[NumberedCell]) -> frozenset[str]:
    """Return the rows of a column that no other row is above; rows without a number count as unbeaten."""
    best = max(_values(column), default=math.nan)
    return frozenset(cell.row for cell in column if not cell.value < best)


@comparisons.register("columns-fall-at-each-step")
def columns_fall_at_each_step(cells: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells in their order is below the one before it."""
    columns = ([cell for cell in column if cell.known] for column in tools.by_column(cells).values())
    steps = [step for column in columns for step in itertools.pairwise(column)]
    if not steps:
        return OPEN
    bad = [(a, b) for a, b in steps if b.value >= a.value]
    text = "; ".join(f"{a.text} ({a.row}, {a.column}), then {b.text} ({b.row})" for a, b in bad)
    wrong = frozenset(map(tools.rows_of, bad))
    return tools.unless_wrong(wrong, _all_known(cells), text or f"{len(steps)} steps, all of them down")


# --- the best of some rows and the best of others, column by column
#
# The best of many equally good rows is above the best of a few by luck. So a verdict also names the single rows for
# which the statement holds.


def best(cells: list[NumberedCell]) -> list[NumberedCell]:
    """Return the best cell of each column; for a column with a missing number, the cell without a number."""
    return [
        next((cell for cell in column if not cell.known), max(column, key=attrgetter("value")))
        for column in tools.by_column(cells).values()
    ]


def _best(cells: list[NumberedCell], against: list[NumberedCell], good: Callable[[float], bool]) -> Verdict:
    """Return whether, in every column, `good` accepts the best of the cells less the best of the others."""
    own, others = best(cells), best(against)
    verdict = tools.every(tools.pairs_of(own, others), lambda pair: good(gap(pair)))
    rivals = tools.known_pairs(tools.pairs_of(own, against))
    wrong = frozenset(f"{pair[1].column}: {pair[1].row}" for pair in rivals if not good(gap(pair)))
    return replace(verdict, wrong=wrong, alone=_alone(cells, others, good, len(own)))


def _alone(
    cells: list[NumberedCell], others: list[NumberedCell], good: Callable[[float], bool], columns: int
) -> frozenset[str]:
    """Return the rows whose difference to the best of the others is good in at least `columns` columns."""
    won = Counter(pair[0].row for pair in tools.pairs_of(cells, others) if good(gap(pair)))
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
    own, others = best(cells), best(against)
    verdict = tools.most(tools.pairs_by_column(own, others), good)
    return replace(verdict, alone=_alone(cells, others, good, len(own) // 2 + 1))


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
    return tools.all_near(tools.pairs_of(best(cells), best(against)), allowed, lambda pair: pair[0].column)


# --- gains: how far a cell is above its counterpart


def gains_by_column(cells: list[NumberedCell], against: list[NumberedCell]) -> list[list[Pair]]:
    """Return the pairs of a cell and its counterpart, column by column.

    The counterpart of the n-th cell of a column is the n-th of the others in that column. The only cell of a column is
    paired with each of the others in it.
    """
    others = tools.by_column(against)
    return [
        list(zip(own * len(others[column]) if len(own) == 1 else own, others[column], strict=True))
        for column, own in tools.by_column(cells).items()
    ]


def _known_gains(cells: list[NumberedCell], against: list[NumberedCell]) -> list[Pair]:
    return [pair for pairs in gains_by_column(cells, against) for pair in tools.known_pairs(pairs)]


def _gain(pair: Pair) -> str:
    """Return a gain as text: '1.2 (Vanilla KD, then Hidden states)'."""
    return f"{formatted(gap(pair), 1)} ({pair[1].row}, then {pair[0].row})"


def _describe_gain(pair: Pair) -> str:
    return f"{pair[0].column}: {_gain(pair)}"


def _names(pairs: list[Pair]) -> frozenset[str]:
    return frozenset(map(tools.rows_of, pairs))


@comparisons.register("gains-more")
def gains_more(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the last of the cells is farther above the first than among the others."""
    others = tools.by_column(against)
    ends = [[(side[-1], side[0]) for side in (own, others[column])] for column, own in tools.by_column(cells).items()]
    gains = [(own, other) for own, other in ends if _all_known([*own, *other])]
    if not gains:
        return OPEN
    text = "; ".join(f"{_describe_gain(own)} against {_gain(other)}" for own, other in gains)
    wrong = frozenset(own[0].column for own, other in gains if gap(own) <= gap(other))
    return tools.unless_wrong(wrong, _all_known(cells, against), text)


@comparisons.register("largest-gain")
def largest_gain(cells: list[NumberedCell], *, stated: Stated, counterparts: list[NumberedCell]) -> Verdict:
    """Check that the largest gain of a cell over its counterpart is the number, as far as rounding lets it."""
    gains = _known_gains(cells, counterparts)
    if not gains:
        return OPEN
    largest = max(gains, key=gap)
    verdict = stated.decide(gap(largest), _describe_gain(largest), slack=_slack(largest))
    if not _all_known(cells, counterparts):
        return Verdict(None, verdict.numbers, fails_so_far=not verdict.holds)
    return replace(verdict, alone=_names([pair for pair in gains if stated.is_met(gap(pair), _slack(pair))]))


def _slack(pair: Pair) -> float:
    """Return the largest error of the difference of two cells that rounding can cause."""
    return sum(cell.number.half for cell in pair)


@comparisons.register("first-column-gains-most")
def first_column_gains_most(cells: list[NumberedCell], *, counterparts: list[NumberedCell]) -> Verdict:
    """Check that the gain of each cell over its counterpart is larger in the first column than in any other."""
    first, *others = map(tools.known_pairs, gains_by_column(cells, counterparts))
    rivals = {(pair[0].row, pair[1].row): gap(pair) for pair in first}
    if not rivals or not any(others):
        return OPEN
    compared = [(pair, rivals.get((pair[0].row, pair[1].row), math.inf)) for column in others for pair in column]
    larger = [(pair, rival) for pair, rival in compared if gap(pair) >= rival]
    text = tools.few(f"{_describe_gain(pair)} against {formatted(rival, 1)}" for pair, rival in larger)
    wrong = _names([pair for pair, _ in larger])
    return tools.unless_wrong(
        wrong, _all_known(cells, counterparts), text or "; ".join(map(_describe_gain, first[:SHOWN]))
    )


@comparisons.register("gains-considerably")
def gains_considerably(cells: list[NumberedCell], *, allowed: float, counterparts: list[NumberedCell]) -> Verdict:
    """Check that each cell is above its counterpart by more than the allowed distance."""
    return _each_gain(cells, counterparts, lambda gain: gain <= allowed)


@comparisons.register("gains-little")
def gains_little(cells: list[NumberedCell], *, allowed: float, counterparts: list[NumberedCell]) -> Verdict:
    """Check that no cell is above its counterpart by more than the allowed distance."""
    return _each_gain(cells, counterparts, lambda gain: gain > allowed)


def _each_gain(cells: list[NumberedCell], counterparts: list[NumberedCell], wrong: Callable[[float], bool]) -> Verdict:
    gains = _known_gains(cells, counterparts)
    if not gains:
        return OPEN
    bad = sorted((pair for pair in gains if wrong(gap(pair))), key=lambda pair: -abs(gap(pair)))
    text = "; ".join(map(_describe_gain, (bad or gains)[:SHOWN]))
    return tools.unless_wrong(_names(bad), _all_known(cells, counterparts), text)


@comparisons.register("last-column-gains-most")
def last_column_gains_most(cells: list[NumberedCell], *, counterparts: list[NumberedCell]) -> Verdict:
    """Check that the mean gain of the cells over their counterparts is larger in the last column than in any other."""
    columns = gains_by_column(cells, counterparts)
    means = {
        pairs[0][0].column: statistics.fmean(map(gap, pairs)) for pairs in columns if _all_known(*map(list, pairs))
    }
    last = cells[-1].column
    if last not in means or len(means) < 2:
        return OPEN
    text = "; ".join(f"{column}: {formatted(mean, 1)}" for column, mean in means.items())
    wrong = frozenset(column for column, mean in means.items() if column != last and mean >= means[last])
    return tools.unless_wrong(wrong, _all_known(cells, counterparts), text)


@comparisons.register("mostly-above-counterparts")
def mostly_above_counterparts(cells: list[NumberedCell], *, counterparts: list[NumberedCell]) -> Verdict:
    """Check that more than half of the cells are above their counterparts."""
    pairs = [[pair] for column in gains_by_column(cells, counterparts) for pair in column]
    return tools.most(pairs, lambda apart: apart > 0, "{won} of {all} pairs")


@comparisons.register("mean-percent", whole=True)
def mean_percent(cells: list[NumberedCell], *, stated: Stated, partners: list[NumberedCell]) -> Verdict:
    """Check that the cells are on average at least the number in per cent of the cells beside them."""
    pairs = list(zip(cells, partners, strict=True))
    mean = statistics.fmean(100 * cell.value / other.value for cell, other in pairs)
    text = "; ".join(tools.describe(*pair) for pair in pairs)
    return Verdict(mean >= stated.number.value - stated.within, text, f"{mean:.1f}")
