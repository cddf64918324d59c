"""Comparisons of cells, by name: what a paper's text says of its tables is data, and what it is put to is one of these.

A comparison takes cells and what it needs beside them as keyword-only parameters: `said` (the number in the text),
`than` (one other cell), `against` (other cells, each compared within its own column), `allowed` (a distance), `both`
(two texts).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from retort.registry import Registry
from retort.specs.printed import Number
from retort.tables.numbers import number as written

TINY = 1e-9  # what binary fractions add to a distance of exactly half a digit
SHOWN = 3  # pairs of cells that are printed of many


@dataclass(frozen=True)
class Named:
    """One cell: where it stands, its number, and over how many runs that is a mean (0: unknown).

    Args:
        unit: as in the tidy CSV; empty where only print is looked at.
    """

    table: str
    row: str
    column: str
    number: Number
    n: int = 0
    unit: str = ""

    @property
    def text(self) -> str:
        """The number as printed, with its standard deviation where there is one."""
        return self.number.text + (f" ± {self.number.std_text}" if self.number.std_text else "")


Pair = tuple[Named, Named]


@dataclass(frozen=True)
class Verdict:
    """What cells say.

    Args:
        numbers: the cells that decide, with their numbers.
        result: the one number that decides, where there is one.
        pair: the two cells that decide, where they are two.
    """

    holds: bool
    numbers: str
    result: str = ""
    pair: Pair | None = None


Comparison = Callable[..., Verdict]
comparisons: Registry[Comparison] = Registry("comparison")


@dataclass(frozen=True)
class Said:
    """The number in the text, and how far it may be off: half of its last digit where nothing else is allowed."""

    number: Number
    within: float

    def met(self, value: float, slack: float) -> bool:
        """Whether a value, known up to `slack`, is the number."""
        return abs(value - self.number.value) <= slack + self.within + TINY

    def decide(self, value: float, numbers: str, pair: Pair | None = None, slack: float = 0.0) -> Verdict:
        """The verdict on a value that was computed from some cells."""
        digits = max(1, len(self.number.text.partition(".")[2].rstrip("%×Mk")))
        return Verdict(self.met(value, slack), numbers, f"{value:.{digits}f}", pair)


class Reached(Said):
    """The number in the text, where another run need not meet it but must go as far in its direction."""

    def met(self, value: float, slack: float) -> bool:
        """Whether a value has the number's sign and is at least as large, less what is allowed."""
        towards = math.copysign(1.0, self.number.value) * value
        return towards > 0 and towards >= abs(self.number.value) - self.within - TINY


def _against(one: Named, other: Named) -> str:
    return f"{one.column}: {one.text} ({one.row}) against {other.text} ({other.row})"


def _apart(pair: Pair) -> float:
    return pair[0].number.value - pair[1].number.value


def _ratio(one: Number, other: Number) -> tuple[float, float]:
    """The ratio of two printed numbers, and how far rounding may have moved it."""
    ratio = one.value / other.value
    return ratio, ratio * (one.half / one.value + other.half / other.value)


# --- one cell, or one cell and one other


@comparisons.register("value")
def value(cells: list[Named], *, said: Said) -> Verdict:
    """The cell is the number."""
    (one,) = cells
    return Verdict(said.met(one.number.value, 0.0), f"{one.column}: {one.text} ({one.row})", one.number.text)


@comparisons.register("difference")
def difference(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell less the other is the number."""
    pair = (cells[0], than[0])
    return said.decide(_apart(pair), _against(*pair), pair)


@comparisons.register("exceeds")
def exceeds(cells: list[Named], *, than: list[Named]) -> Verdict:
    """The cell is above the other, whatever their columns are called."""
    pair = (cells[0], than[0])
    return Verdict(_apart(pair) > 0, _against(*pair), pair=pair)


@comparisons.register("percent")
def percent(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell is the number in per cent of the other."""
    ratio, slack = _ratio(cells[0].number, than[0].number)
    return said.decide(100 * ratio, _against(cells[0], than[0]), slack=100 * slack)


@comparisons.register("times")
def times(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell is the number times the other."""
    ratio, slack = _ratio(cells[0].number, than[0].number)
    return said.decide(ratio, _against(cells[0], than[0]), slack=slack)


@comparisons.register("at-least-percent")
def at_least_percent(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell is more than the number in per cent of the other."""
    share = 100 * cells[0].number.value / than[0].number.value
    return Verdict(share > said.number.value, _against(cells[0], than[0]), f"{share:.1f}")


# --- cells against others, column by column


def _pairs(cells: list[Named], against: list[Named]) -> list[Pair]:
    return [(one, other) for one in cells for other in against if one.column == other.column]


def _every(pairs: list[Pair], good: Callable[[Pair], bool]) -> Verdict:
    """Whether all pairs are good; shown are those that are not, else the closest one."""
    bad, closest = [pair for pair in pairs if not good(pair)], min(pairs, key=_apart)
    more = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    text = "; ".join(itertools.starmap(_against, bad[:SHOWN] or [closest]))
    return Verdict(not bad, text + more, pair=closest)


def _by_column(cells: list[Named]) -> dict[str, list[Named]]:
    found: dict[str, list[Named]] = {}
    for cell in cells:
        found.setdefault(cell.column, []).append(cell)
    return found


def _best(cells: list[Named]) -> list[Named]:
    return [max(listed, key=lambda cell: cell.number.value) for listed in _by_column(cells).values()]


@comparisons.register("above")
def above(cells: list[Named], *, against: list[Named]) -> Verdict:
    """In every column each of the cells is above each of the others."""
    return _every(_pairs(cells, against), lambda pair: _apart(pair) > 0)


@comparisons.register("above-by")
def above_by(cells: list[Named], *, said: Said, against: list[Named]) -> Verdict:
    """In every column each of the cells is above each of the others by at least the number."""
    return _every(_pairs(cells, against), lambda pair: _apart(pair) >= said.number.value - said.within - TINY)


@comparisons.register("not-below")
def not_below(cells: list[Named], *, against: list[Named]) -> Verdict:
    """In every column each of the cells is at least each of the others."""
    return _every(_pairs(cells, against), lambda pair: _apart(pair) >= 0)


@comparisons.register("best-above")
def best_above(cells: list[Named], *, against: list[Named]) -> Verdict:
    """In every column the best of the cells is above the best of the others."""
    return _every(_pairs(_best(cells), _best(against)), lambda pair: _apart(pair) > 0)


@comparisons.register("best-not-below")
def best_not_below(cells: list[Named], *, against: list[Named]) -> Verdict:
    """In every column the best of the cells is at least the best of the others."""
    return _every(_pairs(_best(cells), _best(against)), lambda pair: _apart(pair) >= 0)


def _most(cells: list[Named], against: list[Named]) -> Verdict:
    """Whether all pairs are in order in more than half of the columns."""
    columns = {column: _pairs(listed, against) for column, listed in _by_column(cells).items()}
    lost = [closest for pairs in columns.values() if _apart(closest := min(pairs, key=_apart)) <= 0]
    rest = f"; not {'; '.join(itertools.starmap(_against, lost[:SHOWN]))}" if lost else ""
    more = f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    won = len(columns) - len(lost)
    return Verdict(2 * won > len(columns), f"{won} of {len(columns)} columns{rest}{more}")


@comparisons.register("mostly-above")
def mostly_above(cells: list[Named], *, against: list[Named]) -> Verdict:
    """In more than half of the columns each of the cells is above each of the others."""
    return _most(cells, against)


@comparisons.register("best-mostly-above")
def best_mostly_above(cells: list[Named], *, against: list[Named]) -> Verdict:
    """In more than half of the columns the best of the cells is above the best of the others."""
    return _most(_best(cells), _best(against))


def _near(pairs: list[Pair], allowed: float) -> Verdict:
    """Whether all pairs are near; shown is the one that is farthest apart."""
    farthest = max(pairs, key=lambda pair: abs(_apart(pair)))
    return Verdict(abs(_apart(farthest)) <= allowed + TINY, _against(*farthest), pair=farthest)


@comparisons.register("near")
def near(cells: list[Named], *, allowed: float, against: list[Named]) -> Verdict:
    """In every column each of the cells is at most so far from each of the others."""
    return _near(_pairs(cells, against), allowed)


@comparisons.register("best-near")
def best_near(cells: list[Named], *, allowed: float, against: list[Named]) -> Verdict:
    """In every column the best of the cells is at most so far from the best of the others."""
    return _near(_pairs(_best(cells), _best(against)), allowed)


@comparisons.register("gains-more")
def gains_more(cells: list[Named], *, against: list[Named]) -> Verdict:
    """In every column the last of the cells is farther above the first than among the others."""
    ours, theirs = _by_column(cells), _by_column(against)
    gains = {
        column: [listed[-1].number.value - listed[0].number.value for listed in (ours[column], theirs[column])]
        for column in ours
    }
    text = "; ".join(
        f"{column}: {written(gains[column][0], 1)} ({ours[column][0].row}, then {ours[column][-1].row}) against "
        f"{written(gains[column][1], 1)} ({theirs[column][0].row}, then {theirs[column][-1].row})"
        for column in gains
    )
    return Verdict(all(gain > other for gain, other in gains.values()), text)


# --- cells in their order, and texts


def _steps(cells: list[Named], wrong: Callable[[float, float], bool]) -> Verdict:
    """Whether no step from a cell to the next is wrong."""
    bad = [
        f"{a.text} ({a.row}, {a.column}), then {b.text} ({b.row}, {b.column})"
        for a, b in itertools.pairwise(cells)
        if wrong(a.number.value, b.number.value)
    ]
    more = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    return Verdict(not bad, "; ".join(bad[:SHOWN]) + more or ", ".join(cell.text for cell in cells))


@comparisons.register("not-rising")
def not_rising(cells: list[Named]) -> Verdict:
    """The cells in their order never rise."""
    return _steps(cells, lambda a, b: b > a)


@comparisons.register("not-falling")
def not_falling(cells: list[Named]) -> Verdict:
    """The cells in their order never fall."""
    return _steps(cells, lambda a, b: b < a)


@comparisons.register("two-texts")
def two_texts(cells: list[Named], *, both: tuple[str, str]) -> Verdict:
    """The text gives the same at both places."""
    return Verdict(both[0] == both[1], both[1])
