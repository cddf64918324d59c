"""Comparisons of groups of cells: their means and ranges, the best of several rows, and gains over counterparts."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from retort.formatters import number as formatted
from retort.judgement import comparisons as tools
from retort.judgement.cells import Ballot, CellValues, Pairs, Parts, Values, Verdict
from retort.judgement.comparisons import OPEN, SHOWN, TINY, Good, Stated, comparisons


def _rows(cells: CellValues) -> str:
    return ", ".join(dict.fromkeys(cells.rows))


def _all_known(*sides: CellValues) -> bool:
    return all(cells.known.all() for cells in sides)


# --- means and ranges


def _means(cells: CellValues, against: CellValues) -> tuple[Values, str]:
    """Return [resamples]: the mean of the cells minus the mean of the others; and both means as text."""
    apart = cells.values.mean(axis=0) - against.values.mean(axis=0)
    # texts are of the exact sums: rounding in a sum may turn that of a mean
    told = [f"{formatted(statistics.fmean(side.values[:, 0]), 2)} ({_rows(side)})" for side in (cells, against)]
    return apart, f"means: {' against '.join(told)}"


@comparisons.register("mean-above", whole=True)
def mean_above(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that the mean of the cells is above the mean of the others."""
    apart, text = _means(cells, against)
    return Verdict(apart > TINY, text)


@comparisons.register("mean-near", whole=True)
def mean_near(cells: CellValues, *, allowed: float, against: CellValues) -> Verdict:
    """Check that the mean of the cells differs from the mean of the others by at most the allowed distance."""
    apart, text = _means(cells, against)
    return Verdict(abs(apart) <= allowed + TINY, text)


def _extremes(cells: CellValues) -> Pairs:
    """Return the pair of the cells with the highest and the lowest mean, in every resample."""
    means = cells.facts("value")
    return Pairs(cells[[means.argmax()]], cells[[means.argmin()]])


@comparisons.register("varies-less", whole=True)
def varies_less(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that the cells lie closer together than the others; the rows under each label, before ' / ', by themselves.

    Resamples are of the distance of the two extreme means: a range over resamples is too wide, the more so the more
    cells there are.
    """
    labels = np.array([row.rpartition(" / ")[0] for row in cells.rows])
    own = {label: cells[labels == label] for label in dict.fromkeys(labels)}
    *ends, last = (_extremes(side) for side in (*own.values(), against))
    *told, rival = (
        f"{formatted(pair.other.values[0, 0], 1)} to {formatted(pair.own.values[0, 0], 1)} ({_rows(side)})"
        for pair, side in zip((*ends, last), (*own.values(), against), strict=True)
    )
    wider = np.concatenate([pair.gap >= last.gap for pair in ends])
    return Verdict(~np.logical_or.reduce(wider), f"{' and '.join(told)} against {rival}", wrong=Parts([*own], wider))


# --- one row against each of several others, and orders within columns


@comparisons.register("mostly-above-each")
def mostly_above_each(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that the cells are above each of the other rows, taken by itself, in more than half of the columns."""
    rows = list(dict.fromkeys(against.rows))
    found = [tools.most(tools.pairs_of(cells, against[against.rows == row]), np.greater) for row in rows]
    wrong = np.array([~one.true & ~one.open for one in found])  # [rows, resamples]
    known = {row: one for row, one in zip(rows, found, strict=True) if one.numbers}
    if not known:
        return OPEN
    fails = "; ".join(f"{row}: {one.numbers}" for row, one in known.items() if one.supported is False)
    text = fails or "; ".join(f"{row}: {one.numbers.partition(';')[0]}" for row, one in known.items())
    true = np.all([one.true for one in known.values()], axis=0) & ~wrong.any(axis=0)
    undecided = np.any([one.open for one in found], axis=0) & ~wrong.any(axis=0)
    ballots = [one.ballots[0]._replace(name=row) for row, one in zip(rows, found, strict=True)]
    return Verdict(true, text, undecided, ballots=ballots)


@comparisons.register("none-dominates")
def none_dominates(cells: CellValues) -> Verdict:
    """Check that no row is the best in every column; rows that are equal in a column are both best."""
    columns, rows = (list(dict.fromkeys(names)) for names in (cells.columns, cells.rows))
    table = np.full((len(columns), len(rows), cells.values.shape[1]), -np.inf)  # [columns, rows, resamples]
    table[[columns.index(name) for name in cells.columns], [rows.index(name) for name in cells.rows]] = cells.values
    known, lacks = np.isfinite(table[..., 0]), np.isnan(table[..., 0]).any(axis=1)
    counts = (known.sum(axis=1) > 1) | ~lacks  # columns in which rows are compared
    unbeaten = ~(table < np.fmax.reduce(table, axis=1, keepdims=True))  # a missing number neither beats nor is beaten
    wins = (unbeaten & (known & counts[:, None])[..., None]).sum(axis=0)  # [rows, resamples]
    told = zip(rows, wins[:, 0], strict=True)
    text = "; ".join(f"{row}: best in {count} of {counts.sum()} columns" for row, count in told if count)
    everywhere = unbeaten.all(axis=0)
    # In resamples of many equally good rows, hardly ever is one best everywhere. So the evidence must come from two
    # columns that have no best row in common.
    both = itertools.combinations(range(len(columns)), 2)
    apart = np.array([~(unbeaten[first] & unbeaten[other]).any(axis=0) for first, other in both])
    alone = Parts(["; ".join(names) for names in itertools.combinations(columns, 2)], apart)
    undecided = np.logical_or.reduce(everywhere) & lacks.any()
    return Verdict(~(everywhere & (wins > 0)).any(axis=0), text if counts.any() else "", undecided, alone=alone)


@comparisons.register("columns-fall-at-each-step")
def columns_fall_at_each_step(cells: CellValues) -> Verdict:
    """Check that in every column each of the cells in their order is below the one before it."""
    known = cells.numbered
    known = known[np.concatenate([[], *tools.by_column(known).values()]).astype(int)]
    later = np.flatnonzero(known.columns[1:] == known.columns[:-1])
    steps = Pairs(known[later], known[later + 1])
    if not len(steps):
        return OPEN
    bad = steps.gap <= 0
    shown = steps[bad[:, 0]]
    told = zip(shown.own.facts("text"), shown.own.places, shown.other.facts("text"), shown.other.rows, strict=True)
    text = "; ".join(f"{text} ({place}), then {other} ({row})" for text, place, other, row in told)
    return tools.unless_wrong(
        Parts(steps.names, bad), _all_known(cells), text or f"{len(steps)} steps, all of them down"
    )


# --- the best of some rows and the best of others, column by column
#
# The best of many equally good rows is above the best of a few by luck. So a verdict also names the single rows for
# which the statement holds.


def best(cells: CellValues) -> CellValues:
    """Return the best cell of each column, by its first resample, with the best number of each resample.

    A column with a missing number has its cell without a number.
    """
    columns = tools.by_column(cells).values()
    highest = [at[cells.values[at, 0].argmax()] for at in columns]  # that of a NaN, if there is one
    return replace(cells[highest], values=np.array([cells.values[at].max(axis=0) for at in columns]))


def _best(cells: CellValues, against: CellValues, good: Good) -> Verdict:
    """Return whether, in every column, `good` accepts the best of the cells less the best of the others."""
    own, others = best(cells), best(against)
    verdict, rivals = tools.every(tools.pairs_of(own, others), good), tools.pairs_of(own, against).numbered
    names = [f"{column}: {row}" for _, row, column in rivals.other.keys]
    pairs, rows = tools.pairs_of(cells, others), list(dict.fromkeys(cells.rows))
    fine = good(pairs.gap, 0)
    everywhere = np.array([fine[pairs.own.rows == row].sum(axis=0) == len(own) for row in rows])
    return replace(verdict, wrong=Parts(names, ~good(rivals.gap, 0)), alone=Parts(rows, everywhere))


@comparisons.register("best-above")
def best_above(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in every column the best of the cells is above the best of the others."""
    return _best(cells, against, np.greater)


@comparisons.register("best-not-below")
def best_not_below(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in every column the best of the cells is at least the best of the others."""
    return _best(cells, against, np.greater_equal)


def _best_mostly(cells: CellValues, against: CellValues, good: Good) -> Verdict:
    """Return whether, in most columns, `good` accepts the best of the cells less the best of the others."""
    own, others = best(cells), best(against)
    pairs, rivals = tools.pairs_of(cells, others), tools.pairs_of(own, against)
    fine, bad = good(pairs.gap, 0), ~good(rivals.gap, 0) & rivals.known[:, None]
    ballot = Ballot(
        [fine[pairs.own.columns == column] for column in own.columns],
        [bad[rivals.own.columns == column] for column in own.columns],
    )
    return replace(tools.most(tools.pairs_of(own, others), good), ballots=[ballot])


@comparisons.register("best-mostly-above")
def best_mostly_above(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in more than half of the columns the best of the cells is above the best of the others."""
    return _best_mostly(cells, against, np.greater)


@comparisons.register("best-mostly-not-below")
def best_mostly_not_below(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in more than half of the columns the best of the cells is at least the best of the others."""
    return _best_mostly(cells, against, np.greater_equal)


@comparisons.register("best-near")
def best_near(cells: CellValues, *, allowed: float, against: CellValues) -> Verdict:
    """Check that in every column the best cell differs from the best of the others by at most the allowed distance."""
    pairs = tools.pairs_of(best(cells), best(against))
    return tools.all_near(pairs, allowed, list(pairs.own.columns))


# --- gains: how far a cell is above its counterpart


def gains_of(cells: CellValues, against: CellValues) -> Pairs:
    """Return the pairs of a cell and its counterpart, column by column.

    The counterpart of the n-th cell of a column is the n-th of the others in that column. The only cell of a column is
    paired with each of the others in it.
    """
    others = tools.by_column(against)
    pairs = [np.broadcast_arrays(own, others[column]) for column, own in tools.by_column(cells).items()]
    first, second = np.concatenate(pairs, axis=1)
    return Pairs(cells[first], against[second])


def _told(gains: Pairs) -> list[str]:
    """Return gains as text: '1.2 (Vanilla KD, then Hidden states)'."""
    rows = zip(gains.gap[:, 0], gains.other.rows, gains.own.rows, strict=True)
    return [f"{formatted(gain, 1)} ({before}, then {after})" for gain, before, after in rows]


def _described(gains: Pairs) -> list[str]:
    """Return gains as text, each after its column."""
    return [f"{column}: {gain}" for column, gain in zip(gains.own.columns, _told(gains), strict=True)]


def _last_over_first(cells: CellValues, columns: Iterable[str]) -> Pairs:
    """Return, for each column, the pair of its last and its first cell."""
    places = tools.by_column(cells)
    return Pairs(*(cells[[places[column][end] for column in columns]] for end in (-1, 0)))


@comparisons.register("gains-more")
def gains_more(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in every column the last of the cells is farther above the first than among the others."""
    own, other = (_last_over_first(side, dict.fromkeys(cells.columns)) for side in (cells, against))
    known = own.known & other.known
    own, other = own[known], other[known]
    text = "; ".join(f"{gain} against {less}" for gain, less in zip(_described(own), _told(other), strict=True))
    wrong = Parts(list(own.own.columns), own.gap <= other.gap)
    return tools.unless_wrong(wrong, _all_known(cells, against), text)


@comparisons.register("largest-gain")
def largest_gain(cells: CellValues, *, stated: Stated, counterparts: CellValues) -> Verdict:
    """Check that the largest gain of a cell over its counterpart is the number, as far as rounding lets it."""
    gains = gains_of(cells, counterparts).numbered
    if not len(gains):
        return OPEN
    largest = gains.gap.argmax(axis=0)  # [resamples]
    text = _described(gains[largest[:1]])[0]
    slack = gains.own.facts("half") + gains.other.facts("half")
    verdict = stated.decide(gains.gap.max(axis=0), text, slack=slack[largest])
    if not _all_known(cells, counterparts):
        return replace(verdict, result="", open=np.array([True]))
    return replace(verdict, alone=Parts(gains.names, stated.is_met(gains.gap, slack[:, None])))


@comparisons.register("first-column-gains-most")
def first_column_gains_most(cells: CellValues, *, counterparts: CellValues) -> Verdict:
    """Check that the gain of each cell over its counterpart is larger in the first column than in any other."""
    gains = gains_of(cells, counterparts).numbered
    is_first = gains.own.columns == cells.columns[0]
    first, others = gains[is_first], gains[~is_first]
    if not len(first) or not len(others):
        return OPEN
    rivals = dict(zip(zip(first.own.rows, first.other.rows, strict=True), first.gap, strict=True))
    none = np.full(first.gap.shape[1], np.inf)
    against = np.array([rivals.get(rows, none) for rows in zip(others.own.rows, others.other.rows, strict=True)])
    larger = others.gap >= against
    told = zip(_described(others[larger[:, 0]]), against[larger[:, 0], 0], strict=True)
    text = tools.few(f"{gain} against {formatted(rival, 1)}" for gain, rival in told)
    wrong = Parts(others.names, larger)
    return tools.unless_wrong(wrong, _all_known(cells, counterparts), text or "; ".join(_described(first[:SHOWN])))


@comparisons.register("gains-considerably")
def gains_considerably(cells: CellValues, *, allowed: float, counterparts: CellValues) -> Verdict:
    """Check that each cell is above its counterpart by more than the allowed distance."""
    return _each_gain(cells, counterparts, np.greater, allowed)


@comparisons.register("gains-little")
def gains_little(cells: CellValues, *, allowed: float, counterparts: CellValues) -> Verdict:
    """Check that no cell is above its counterpart by more than the allowed distance."""
    return _each_gain(cells, counterparts, np.less_equal, allowed)


def _each_gain(cells: CellValues, counterparts: CellValues, good: Good, allowed: float) -> Verdict:
    """Return whether all gains are good; the text gives the largest of the others, or else the first gains."""
    gains = gains_of(cells, counterparts).numbered
    bad = ~good(gains.gap, allowed)
    shown = np.flatnonzero(bad[:, 0])
    shown = shown[np.argsort(-abs(gains.gap[shown, 0]), kind="stable")]
    text = "; ".join(_described(gains[shown if len(shown) else slice(None)][:SHOWN]))
    return tools.unless_wrong(Parts(gains.names, bad), _all_known(cells, counterparts), text)


@comparisons.register("last-column-gains-most")
def last_column_gains_most(cells: CellValues, *, counterparts: CellValues) -> Verdict:
    """Check that the mean gain of the cells over their counterparts is larger in the last column than in any other."""
    gains, last = gains_of(cells, counterparts), cells.columns[-1]
    means = {
        column: gains.gap[at].mean(axis=0) for column, at in tools.by_column(gains.own).items() if gains.known[at].all()
    }
    if last not in means or len(means) < 2:
        return OPEN
    text = "; ".join(f"{column}: {formatted(mean[0], 1)}" for column, mean in means.items())
    larger = {column: mean > means[last] - TINY for column, mean in means.items() if column != last}
    return tools.unless_wrong(Parts([*larger], np.array([*larger.values()])), _all_known(cells, counterparts), text)


@comparisons.register("mostly-above-counterparts")
def mostly_above_counterparts(cells: CellValues, *, counterparts: CellValues) -> Verdict:
    """Check that more than half of the cells are above their counterparts."""
    gains = gains_of(cells, counterparts)
    return tools.most(gains, np.greater, np.arange(len(gains))[:, None], "{won} of {all} pairs")


@comparisons.register("mean-percent", whole=True)
def mean_percent(cells: CellValues, *, stated: Stated, partners: CellValues) -> Verdict:
    """Check that the cells are on average at least the number in per cent of the cells next to them."""
    mean = (100 * cells.values / partners.values).mean(axis=0)
    text = "; ".join(Pairs(cells, partners).texts)
    return Verdict(mean >= stated.number.value - stated.within - TINY, text, result=f"{mean[0]:.1f}")
