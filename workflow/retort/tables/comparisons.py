"""Comparisons of cells by name: a statement of a paper about its tables is data, and names the comparison to apply.

A comparison takes cells, and whatever else it requires as keyword-only parameters: `stated` (the number in the text),
`than` (one other cell), `against` (other cells, each compared within its own column), `allowed` (a distance), `both`
(two texts).

The first docstring line of a comparison is printed in the table of claims, in front of the names of the columns and
without "Check that".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from retort.formatters import number as formatted
from retort.registry import Registry
from retort.specs.printed import Number
from retort.tables.comparison_types import TINY, NumberedCell, Pair, Stated, Verdict

SHOWN = 3  # of many pairs of cells, so many are printed


Comparison = Callable[..., Verdict]
comparisons: Registry[Comparison] = Registry("comparison")


def _against(first: NumberedCell, other: NumberedCell) -> str:
    return f"{first.column}: {first.text} ({first.row}) against {other.text} ({other.row})"


def _gap(pair: Pair) -> float:
    return pair[0].number.value - pair[1].number.value


def _ratio(first: Number, other: Number) -> tuple[float, float]:
    """Return the ratio of two printed numbers, and how much rounding may have moved it."""
    ratio = first.value / other.value
    # First-order error of r = a / b: |dr| <= r (da / a + db / b), with da and db half a unit of the last digit.
    return ratio, ratio * (first.half / first.value + other.half / other.value)


# --- one cell, or one cell and one other


@comparisons.register("value")
def value(cells: list[NumberedCell], *, stated: Stated) -> Verdict:
    """Check that the cell is the number."""
    (cell,) = cells
    return Verdict(stated.met(cell.number.value, 0.0), f"{cell.column}: {cell.text} ({cell.row})", cell.number.text)


@comparisons.register("difference")
def difference(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell less the other is the number."""
    pair = (cells[0], than[0])
    return stated.decide(_gap(pair), _against(*pair), pair)


@comparisons.register("exceeds")
def exceeds(cells: list[NumberedCell], *, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is above the other, whatever their columns are called."""
    pair = (cells[0], than[0])
    return Verdict(_gap(pair) > 0, _against(*pair), pair=pair)


@comparisons.register("percent")
def percent(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is the number in per cent of the other."""
    ratio, slack = _ratio(cells[0].number, than[0].number)
    return stated.decide(100 * ratio, _against(cells[0], than[0]), slack=100 * slack)


@comparisons.register("times")
def times(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is the number times the other."""
    ratio, slack = _ratio(cells[0].number, than[0].number)
    return stated.decide(ratio, _against(cells[0], than[0]), slack=slack)


@comparisons.register("at-least-percent")
def at_least_percent(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is more than the number in per cent of the other."""
    ratio = 100 * cells[0].number.value / than[0].number.value
    return Verdict(ratio > stated.number.value, _against(cells[0], than[0]), f"{ratio:.1f}")


# --- cells against others, column by column


def _pairs(cells: list[NumberedCell], against: list[NumberedCell]) -> list[Pair]:
    return [(first, other) for first in cells for other in against if first.column == other.column]


def _every(pairs: list[Pair], good: Callable[[Pair], bool]) -> Verdict:
    """Return whether all pairs are good; printed are the pairs that are not, or the closest pair if all are."""
    bad, closest = [pair for pair in pairs if not good(pair)], min(pairs, key=_gap)
    further = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    text = "; ".join(itertools.starmap(_against, bad[:SHOWN] or [closest]))
    return Verdict(not bad, text + further, pair=closest)


def _by_column(cells: list[NumberedCell]) -> dict[str, list[NumberedCell]]:
    columns: dict[str, list[NumberedCell]] = {}
    for cell in cells:
        columns.setdefault(cell.column, []).append(cell)
    return columns


def _best(cells: list[NumberedCell]) -> list[NumberedCell]:
    return [max(column, key=lambda cell: cell.number.value) for column in _by_column(cells).values()]


@comparisons.register("above")
def above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells is above each of the others."""
    return _every(_pairs(cells, against), lambda pair: _gap(pair) > 0)


@comparisons.register("above-by")
def above_by(cells: list[NumberedCell], *, stated: Stated, against: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells is above each of the others by at least the number."""
    return _every(_pairs(cells, against), lambda pair: _gap(pair) >= stated.number.value - stated.within - TINY)


@comparisons.register("not-below")
def not_below(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells is at least each of the others."""
    return _every(_pairs(cells, against), lambda pair: _gap(pair) >= 0)


@comparisons.register("best-above")
def best_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the best of the cells is above the best of the others."""
    return _every(_pairs(_best(cells), _best(against)), lambda pair: _gap(pair) > 0)


@comparisons.register("best-not-below")
def best_not_below(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the best of the cells is at least the best of the others."""
    return _every(_pairs(_best(cells), _best(against)), lambda pair: _gap(pair) >= 0)


def _most(cells: list[NumberedCell], against: list[NumberedCell]) -> Verdict:
    """Return whether in more than half of the columns every cell is above every other one."""
    columns = {column: _pairs(group, against) for column, group in _by_column(cells).items()}
    lost = [closest for pairs in columns.values() if _gap(closest := min(pairs, key=_gap)) <= 0]
    rest = f"; not {'; '.join(itertools.starmap(_against, lost[:SHOWN]))}" if lost else ""
    further = f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    won = len(columns) - len(lost)
    return Verdict(2 * won > len(columns), f"{won} of {len(columns)} columns{rest}{further}")


@comparisons.register("mostly-above")
def mostly_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in more than half of the columns each of the cells is above each of the others."""
    return _most(cells, against)


@comparisons.register("best-mostly-above")
def best_mostly_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in more than half of the columns the best of the cells is above the best of the others."""
    return _most(_best(cells), _best(against))


def _near(pairs: list[Pair], allowed: float) -> Verdict:
    """Return whether the two cells of every pair differ by at most `allowed`; the pair farthest apart is printed."""
    farthest = max(pairs, key=lambda pair: abs(_gap(pair)))
    return Verdict(abs(_gap(farthest)) <= allowed + TINY, _against(*farthest), pair=farthest)


@comparisons.register("near")
def near(cells: list[NumberedCell], *, allowed: float, against: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells differs from each of the others by at most the allowed distance."""
    return _near(_pairs(cells, against), allowed)


@comparisons.register("best-near")
def best_near(cells: list[NumberedCell], *, allowed: float, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the best cell differs from the best of the others by at most the allowed distance."""
    return _near(_pairs(_best(cells), _best(against)), allowed)


@comparisons.register("gains-more")
def gains_more(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column the last of the cells is farther above the first than among the others."""
    ours, theirs = _by_column(cells), _by_column(against)
    gains = {
        column: [side[-1].number.value - side[0].number.value for side in (ours[column], theirs[column])]
        for column in ours
    }
    text = "; ".join(
        f"{column}: {formatted(gains[column][0], 1)} ({ours[column][0].row}, then {ours[column][-1].row}) against "
        f"{formatted(gains[column][1], 1)} ({theirs[column][0].row}, then {theirs[column][-1].row})"
        for column in gains
    )
    return Verdict(all(gain > other for gain, other in gains.values()), text)


# --- cells in their order, and texts


def _steps(cells: list[NumberedCell], wrong: Callable[[float, float], bool]) -> Verdict:
    """Return whether no step from a cell to the next one is wrong; printed are the wrong steps, or all cells."""
    bad = [
        f"{a.text} ({a.row}, {a.column}), then {b.text} ({b.row}, {b.column})"
        for a, b in itertools.pairwise(cells)
        if wrong(a.number.value, b.number.value)
    ]
    further = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    return Verdict(not bad, "; ".join(bad[:SHOWN]) + further or ", ".join(cell.text for cell in cells))


@comparisons.register("not-rising")
def not_rising(cells: list[NumberedCell]) -> Verdict:
    """Check that the cells in their order never rise."""
    return _steps(cells, lambda a, b: b > a)


@comparisons.register("not-falling")
def not_falling(cells: list[NumberedCell]) -> Verdict:
    """Check that the cells in their order never fall."""
    return _steps(cells, lambda a, b: b < a)


@comparisons.register("two-texts")
def two_texts(cells: list[NumberedCell], *, both: tuple[str, str]) -> Verdict:
    """Check that the text gives the same at both places."""
    return Verdict(both[0] == both[1], both[1])
