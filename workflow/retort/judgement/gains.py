"""Comparisons of gains: how far a cell is above its counterpart, the cell at the same position of the other list."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace

from retort.formatters import number as formatted
from retort.judgement.comparisons import (
    SHOWN,
    NumberedCell,
    Pair,
    Stated,
    Verdict,
    comparisons,
    describe,
    gap,
    rows_of,
    unless_open,
)


def _gains(cells: list[NumberedCell], against: list[NumberedCell]) -> dict[str, list[tuple[float, Pair]]]:
    """Return column -> (gain, pair) for each cell and its counterpart that both have a number.

    The counterpart of the n-th cell of a column is the n-th of the others in that column. The only cell of a column is
    paired with each of the others in it.
    """
    columns: dict[str, list[tuple[float, Pair]]] = {}
    for column in dict.fromkeys(cell.column for cell in cells):
        own, other = ([cell for cell in side if cell.column == column] for side in (cells, against))
        own = own * len(other) if len(own) == 1 else own
        pairs = [pair for pair in zip(own, other, strict=True) if pair[0].known and pair[1].known]
        columns[column] = [(first.number.value - other.number.value, (first, other)) for first, other in pairs]
    return columns


def _gain_and_rows(gain: float, pair: Pair) -> str:
    """Return a gain as text: '1.2 (Vanilla KD, then Hidden states)'."""
    return f"{formatted(gain, 1)} ({pair[1].row}, then {pair[0].row})"


def _describe_gain(gain: float, pair: Pair) -> str:
    return f"{pair[0].column}: {_gain_and_rows(gain, pair)}"


def _row_names(pair: Pair) -> tuple[str, str]:
    return pair[0].row, pair[1].row


def _names(gains: list[tuple[float, Pair]]) -> frozenset[str]:
    return frozenset(rows_of(pair) for _, pair in gains)


def _complete(cells: list[NumberedCell], against: list[NumberedCell]) -> bool:
    return all(cell.known for cell in (*cells, *against))


@comparisons.register("gains-more")
def gains_more(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the last of the cells is farther above the first than among the others."""
    gains = {}
    for column in dict.fromkeys(cell.column for cell in cells):
        sides = [[cell for cell in side if cell.column == column] for side in (cells, against)]
        ends = [(side[-1], side[0]) for side in sides]
        if all(cell.known for pair in ends for cell in pair):
            gains[column] = [(last.number.value - first.number.value, (last, first)) for last, first in ends]
    if not gains:
        return Verdict(None, "")
    text = "; ".join(f"{_describe_gain(*own)} against {_gain_and_rows(*other)}" for own, other in gains.values())
    wrong = frozenset(column for column, (own, other) in gains.items() if own[0] <= other[0])
    return Verdict(unless_open(not wrong, _complete(cells, against)), text, wrong=wrong)


@comparisons.register("largest-gain")
def largest_gain(cells: list[NumberedCell], *, stated: Stated, counterparts: list[NumberedCell]) -> Verdict:
    """Check that the largest gain of a cell over its counterpart is the number, as far as rounding lets it."""
    gains = [gain for column in _gains(cells, counterparts).values() for gain in column]
    if not gains:
        return Verdict(None, "")
    largest, pair = max(gains, key=lambda gain: gain[0])
    verdict = stated.decide(largest, _describe_gain(largest, pair), slack=_slack(pair))
    if not _complete(cells, counterparts):
        return Verdict(None, verdict.numbers, fails_so_far=not verdict.holds)
    return replace(verdict, alone=_names([(gain, of) for gain, of in gains if stated.is_met(gain, _slack(of))]))


def _slack(pair: Pair) -> float:
    """Return the largest error of the difference of two cells that rounding can cause."""
    return sum(cell.number.half for cell in pair)


@comparisons.register("first-column-gains-most")
def first_column_gains_most(cells: list[NumberedCell], *, counterparts: list[NumberedCell]) -> Verdict:
    """Check that the gain of each cell over its counterpart is larger in the first column than in any other."""
    first, *others = _gains(cells, counterparts).values()
    rivals = {_row_names(pair): gain for gain, pair in first}
    if not rivals or not any(others):
        return Verdict(None, "")
    larger = [
        (gain, pair)
        for column in others
        for gain, pair in column
        if _row_names(pair) in rivals and gain >= rivals[_row_names(pair)]
    ]
    texts = [f"{_describe_gain(*one)} against {formatted(rivals[_row_names(one[1])], 1)}" for one in larger[:SHOWN]]
    further = f"; and {len(larger) - SHOWN} more" if len(larger) > SHOWN else ""
    text = "; ".join(texts) + further or "; ".join(_describe_gain(gain, pair) for gain, pair in first[:SHOWN])
    return Verdict(unless_open(not larger, _complete(cells, counterparts)), text, wrong=_names(larger))


@comparisons.register("gains-considerably")
def gains_considerably(cells: list[NumberedCell], *, allowed: float, counterparts: list[NumberedCell]) -> Verdict:
    """Check that each cell is above its counterpart by more than the allowed distance."""
    return _each_gain(cells, counterparts, lambda gain: gain <= allowed)


@comparisons.register("gains-little")
def gains_little(cells: list[NumberedCell], *, allowed: float, counterparts: list[NumberedCell]) -> Verdict:
    """Check that no cell is above its counterpart by more than the allowed distance."""
    return _each_gain(cells, counterparts, lambda gain: gain > allowed)


def _each_gain(cells: list[NumberedCell], counterparts: list[NumberedCell], wrong: Callable[[float], bool]) -> Verdict:
    gains = [gain for column in _gains(cells, counterparts).values() for gain in column]
    if not gains:
        return Verdict(None, "")
    bad = [gain for gain in gains if wrong(gain[0])]
    text = "; ".join(_describe_gain(*gain) for gain in (bad or gains)[:SHOWN])
    return Verdict(unless_open(not bad, _complete(cells, counterparts)), text, wrong=_names(bad))


@comparisons.register("last-column-gains-most")
def last_column_gains_most(cells: list[NumberedCell], *, counterparts: list[NumberedCell]) -> Verdict:
    """Check that the mean gain of the cells over their counterparts is larger in the last column than in any other."""
    open_columns = {cell.column for cell in (*cells, *counterparts) if not cell.known}
    means = {
        column: statistics.mean(gain for gain, _ in gains)
        for column, gains in _gains(cells, counterparts).items()
        if gains and column not in open_columns
    }
    last = cells[-1].column
    if last not in means or len(means) < 2:
        return Verdict(None, "")
    text = "; ".join(f"{column}: {formatted(mean, 1)}" for column, mean in means.items())
    wrong = frozenset(column for column, mean in means.items() if column != last and mean >= means[last])
    return Verdict(unless_open(not wrong, not open_columns), text, wrong=wrong)


@comparisons.register("mostly-above-counterparts")
def mostly_above_counterparts(cells: list[NumberedCell], *, counterparts: list[NumberedCell]) -> Verdict:
    """Check that more than half of the cells are above their counterparts."""
    pairs = [pair for gains in _gains(cells, counterparts).values() for _, pair in gains]
    count = len(counterparts)
    lost = [pair for pair in pairs if gap(pair) <= 0]
    if not pairs:
        return Verdict(None, "")
    rest = f"; not {'; '.join(describe(*pair) for pair in lost[:SHOWN])}" if lost else ""
    further = f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    won = len(pairs) - len(lost)
    undecided = 2 * won <= count < 2 * (count - len(lost))
    holds, numbers = None if undecided else 2 * won > count, f"{won} of {count} pairs{rest}{further}"
    return Verdict(holds, numbers, fails_so_far=won <= len(lost))


@comparisons.register("mean-percent")
def mean_percent(cells: list[NumberedCell], *, stated: Stated, partners: list[NumberedCell]) -> Verdict:
    """Check that the cells are on average at least the number in per cent of the cells beside them."""
    if not _complete(cells, partners):
        return Verdict(None, "")
    pairs = list(zip(cells, partners, strict=True))
    mean = statistics.mean(100 * cell.number.value / other.number.value for cell, other in pairs)
    text = "; ".join(describe(*pair) for pair in pairs)
    return Verdict(mean >= stated.number.value - stated.within, text, f"{mean:.1f}")
