"""The comparisons that statements in YAML name, such as `compare: above`: functions from cells to a verdict.

A comparison takes cells, and further inputs as keyword-only parameters: `stated` (the number in the text), `than` (one
other cell), `against` (other cells, each compared within its own column), `counterparts` (one other cell for each),
`partners` (the cells beside them), `allowed` (a distance), `both` (two texts).

A comparison over columns, or over cells in their order, also takes cells without a number, unless it is registered as
`whole`. `holds` is then False if the known numbers contradict the statement; None if they do not, but a number is
missing; else True. If all of several pairs, steps or columns must be as stated, `wrong` names those that are not.

The table of claims prints the first docstring line of a comparison, without "Check that", after the columns' names.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from retort.registry import Registry
from retort.specs.printed import Number

TINY = 1e-9  # tolerance: binary floating point can make a distance of exactly half a digit a little larger


@dataclass
class NumberedCell:
    """One cell with a number: its table, row and column, its number, and the runs averaged in that number.

    Comparisons read its `value`: that of its number, or one that is drawn in its place.

    Args:
        n: number of runs; 0 if unknown.
        std: the standard deviation over these runs; None if unknown.
        unit: the unit of the tidy CSV; empty for a published number.
        diverged: whether the cell has no number because its training diverged.
        by_seed: (seed, score) of each run, if known.
    """

    table: str
    row: str
    column: str
    number: Number
    n: int = 0
    unit: str = ""
    std: float | None = None
    diverged: bool = False
    by_seed: tuple[tuple[int, float], ...] = ()
    value: float = field(init=False)

    def __post_init__(self) -> None:
        """Take the value of the number."""
        self.value = self.number.value

    @property
    def known(self) -> bool:
        """Whether the cell has a number; else its value is NaN, so that `<`, `>` and `==` with it are False."""
        return self.number is not ABSENT

    @property
    def text(self) -> str:
        """The number as printed, with its standard deviation if there is one."""
        return self.number.text + (f" ± {self.number.std_text}" if self.number.std_text else "")


Pair = tuple[NumberedCell, NumberedCell]
ABSENT = Number("", math.nan)  # of a cell without a number


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    Args:
        holds: whether the statement is true of the cells; None if cells without a number leave that open.
        numbers: the cells that decide, with their numbers, as text.
        result: the one computed number that decides, as text; empty if there is no single one.
        pair: the two cells that decide; None if they are not exactly two.
        missing: which cells have no number, and why, as text.
        wrong: names of the parts that contradict the statement, such as pairs or columns; empty for a statement that
            has no parts.
        alone: for a statement about the best of several rows, gains or pairs of columns: those that fulfil it by
            themselves.
        diverged: for a statement that trainings diverge: the number of cells whose training did.
        fails_so_far: if cells without a number leave it open: whether it is false of the others.
    """

    holds: bool | None
    numbers: str
    result: str = ""
    pair: Pair | None = None
    missing: str = ""
    wrong: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    diverged: int = 0
    fails_so_far: bool = False

    @property
    def so_far(self) -> bool | None:
        """Whether the statement is true of the cells that have a number; None if they do not tell."""
        return self.holds if self.holds is not None or not self.numbers else not self.fails_so_far


@dataclass(frozen=True)
class Stated:
    """The number in a paper's text with its tolerance; a value meets it if |value - number| <= tolerance.

    Args:
        number: the number in the text.
        within: the tolerance; by default half a unit of the last printed digit.
    """

    number: Number
    within: float

    def is_met(self, value: float, slack: float) -> bool:
        """Return whether a value meets the number: |value - number| <= within + slack.

        Args:
            value: the value computed from cells.
            slack: how much rounding of the printed cells may have moved the value.
        """
        return abs(value - self.number.value) <= slack + self.within + TINY

    def decide(self, value: float, numbers: str, pair: Pair | None = None, slack: float = 0.0) -> Verdict:
        """Return the verdict on a value computed from cells.

        Args:
            value: the computed value.
            numbers: the cells behind it, as text.
            pair: the two cells behind it; None if they are not exactly two.
            slack: how much rounding of the printed cells may have moved the value.
        """
        digits = max(1, len(self.number.text.partition(".")[2].rstrip("%×xMk")))
        return Verdict(self.is_met(value, slack), numbers, f"{value:.{digits}f}", pair)


class Reached(Stated):
    """The number in a paper's text, for our runs: a value needs its sign and at least its size less the tolerance."""

    def is_met(self, value: float, slack: float) -> bool:
        """Return whether the value has the number's sign and |value| >= |number| - within; `slack` is not used."""
        towards = math.copysign(1.0, self.number.value) * value
        return towards > 0 and towards >= abs(self.number.value) - self.within - TINY


# --- what comparisons share

SHOWN = 3  # print at most so many pairs of cells
COUNTED = "{won} of {all} columns{open}"  # columns in which a statement holds, and those without a number
OPEN = Verdict(None, "")  # the verdict if too many cells have no number to say anything
comparisons: Registry[Callable[..., Verdict]] = Registry("comparison")


def few(texts: Iterable[str]) -> str:
    """Return the first texts, and how many more there are."""
    texts = list(texts)
    further = f"; and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return "; ".join(texts[:SHOWN]) + further


def describe(first: NumberedCell, other: NumberedCell) -> str:
    """Return two cells as text: 'SST-2: 91.2 (KD) against 90.1 (No distillation)'."""
    return f"{first.column}: {first.text} ({first.row}) against {other.text} ({other.row})"


def gap(pair: Pair) -> float:
    """Return the first cell's number minus the second's."""
    return pair[0].value - pair[1].value


def _ratio(first: NumberedCell, other: NumberedCell) -> tuple[float, float]:
    """Return the ratio of two cells, and the largest error of it that rounding can cause."""
    ratio = first.value / other.value
    # First-order error of r = a / b: |dr| <= r (da / a + db / b), with da and db half a unit of the last digit.
    return ratio, ratio * (first.number.half / first.value + other.number.half / other.value)


# --- one cell, or one cell and one other


@comparisons.register("value")
def value(cells: list[NumberedCell], *, stated: Stated) -> Verdict:
    """Check that the cell is the number."""
    (cell,) = cells
    return Verdict(stated.is_met(cell.value, 0.0), f"{cell.column}: {cell.text} ({cell.row})", cell.number.text)


@comparisons.register("difference")
def difference(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell less the other is the number, as far as their rounding lets it."""
    pair = (cells[0], than[0])
    return stated.decide(gap(pair), describe(*pair), pair, slack=sum(cell.number.half for cell in pair))


@comparisons.register("exceeds")
def exceeds(cells: list[NumberedCell], *, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is above the other, whatever their columns are called."""
    pair = (cells[0], than[0])
    return Verdict(gap(pair) > 0, describe(*pair), pair=pair)


@comparisons.register("percent")
def percent(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is the number in per cent of the other."""
    ratio, slack = _ratio(cells[0], than[0])
    return stated.decide(100 * ratio, describe(cells[0], than[0]), slack=100 * slack)


@comparisons.register("times")
def times(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is the number times the other."""
    ratio, slack = _ratio(cells[0], than[0])
    return stated.decide(ratio, describe(cells[0], than[0]), slack=slack)


@comparisons.register("at-least-percent")
def at_least_percent(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is more than the number in per cent of the other."""
    ratio = 100 * cells[0].value / than[0].value
    return Verdict(ratio > stated.number.value, describe(cells[0], than[0]), f"{ratio:.1f}")


@comparisons.register("at-most-percent")
def at_most_percent(cells: list[NumberedCell], *, stated: Stated, than: list[NumberedCell]) -> Verdict:
    """Check that the cell is at most the number in per cent of the other."""
    ratio = 100 * cells[0].value / than[0].value
    return Verdict(ratio <= stated.number.value + stated.within, describe(cells[0], than[0]), f"{ratio:.1f}")


# --- cells against others, column by column


def pairs_of(cells: list[NumberedCell], against: list[NumberedCell]) -> list[Pair]:
    """Return every pair of a cell and one of the others in the same column."""
    others = by_column(against)
    return [(first, other) for first in cells for other in others.get(first.column, ())]


def known_pairs(pairs: list[Pair]) -> list[Pair]:
    """Return the pairs in which both cells have a number."""
    return [pair for pair in pairs if pair[0].known and pair[1].known]


def unless_wrong(wrong: frozenset[str], complete: bool, numbers: str, pair: Pair | None = None) -> Verdict:
    """Return the verdict on a statement with several parts: it holds if none is wrong.

    It stays open if none is wrong so far, but not all numbers are there (`complete`).
    """
    return Verdict(False if wrong else True if complete else None, numbers, pair=pair, wrong=wrong)


def rows_of(pair: Pair) -> str:
    """Return the name of a pair: its column and its two rows."""
    return f"{pair[0].column}: {pair[0].row} against {pair[1].row}"


def every(pairs: list[Pair], good: Callable[[Pair], bool]) -> Verdict:
    """Return whether all pairs are good; the text gives the pairs that are not, or the closest pair if all are."""
    known = known_pairs(pairs)
    if not known:
        return OPEN
    bad, closest = [pair for pair in known if not good(pair)], min(known, key=gap)
    text = few(itertools.starmap(describe, bad or [closest]))
    return unless_wrong(frozenset(map(rows_of, bad)), len(known) == len(pairs), text, closest)


def by_column(cells: list[NumberedCell]) -> dict[str, list[NumberedCell]]:
    """Group cells by column."""
    columns: dict[str, list[NumberedCell]] = {}
    for cell in cells:
        columns.setdefault(cell.column, []).append(cell)
    return columns


@comparisons.register("above")
def above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells is above each of the others."""
    return every(pairs_of(cells, against), lambda pair: gap(pair) > 0)


@comparisons.register("not-below")
def not_below(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells is at least each of the others."""
    return every(pairs_of(cells, against), lambda pair: gap(pair) >= 0)


def most(columns: list[list[Pair]], good: Callable[[float], bool], counted: str = COUNTED) -> Verdict:
    """Return whether, in more than half of the columns, `good` accepts the differences of all pairs.

    Args:
        columns: the pairs of each column.
        good: the condition.
        counted: how the text counts the columns.
    """
    lost = [
        min(bad, key=gap) for pairs in columns if (bad := [pair for pair in known_pairs(pairs) if not good(gap(pair))])
    ]
    won = sum(len(known_pairs(pairs)) == len(pairs) and all(good(gap(pair)) for pair in pairs) for pairs in columns)
    if not won and not lost:
        return OPEN
    rest = f"; not {few(itertools.starmap(describe, lost))}" if lost else ""
    left = len(columns) - won - len(lost)
    text = counted.format(won=won, all=len(columns), open=f", {left} open" if left else "") + rest
    undecided = 2 * won <= len(columns) < 2 * (len(columns) - len(lost))  # columns without a number may turn it
    return Verdict(None if undecided else 2 * won > len(columns), text, fails_so_far=won <= len(lost))


def pairs_by_column(cells: list[NumberedCell], against: list[NumberedCell]) -> list[list[Pair]]:
    """Return the pairs of the cells with the others, column by column."""
    return [pairs_of(group, against) for group in by_column(cells).values()]


@comparisons.register("mostly-above")
def mostly_above(cells: list[NumberedCell], *, against: list[NumberedCell]) -> Verdict:
    """Check that in more than half of the columns each of the cells is above each of the others."""
    return most(pairs_by_column(cells, against), lambda apart: apart > 0)


def all_near(pairs: list[Pair], allowed: float, name: Callable[[Pair], str] = rows_of) -> Verdict:
    """Return whether the cells of every pair differ by at most `allowed`; the text gives the pair farthest apart."""
    known = known_pairs(pairs)
    if not known:
        return OPEN
    farthest = max(known, key=lambda pair: abs(gap(pair)))
    wrong = frozenset(name(pair) for pair in known if abs(gap(pair)) > allowed + TINY)
    return unless_wrong(wrong, len(known) == len(pairs), describe(*farthest), farthest)


@comparisons.register("near")
def near(cells: list[NumberedCell], *, allowed: float, against: list[NumberedCell]) -> Verdict:
    """Check that in every column each of the cells differs from each of the others by at most the allowed distance."""
    return all_near(pairs_of(cells, against), allowed)


# --- cells in their order, and texts


def _steps(cells: list[NumberedCell], wrong: Callable[[float, float], bool]) -> Verdict:
    """Return whether all steps from a cell to the next are right; the text gives the wrong steps, or else all cells."""
    known = [cell for cell in cells if cell.known]
    if len(known) < 2:
        return OPEN
    bad = [(a, b) for a, b in itertools.pairwise(known) if wrong(a.value, b.value)]
    steps = few(f"{a.text} ({a.row}, {a.column}), then {b.text} ({b.row}, {b.column})" for a, b in bad)
    names = frozenset(f"{a.row}, {a.column}; {b.row}, {b.column}" for a, b in bad)
    return unless_wrong(names, len(known) == len(cells), steps or ", ".join(cell.text for cell in known))


@comparisons.register("falls-at-each-step")
def falls_at_each_step(cells: list[NumberedCell]) -> Verdict:
    """Check that each of the cells in their order is below the one before it."""
    return _steps(cells, lambda a, b: b >= a)


@comparisons.register("rises-at-each-step")
def rises_at_each_step(cells: list[NumberedCell]) -> Verdict:
    """Check that each of the cells in their order is above the one before it."""
    return _steps(cells, lambda a, b: b <= a)


@comparisons.register("rises")
def rises(cells: list[NumberedCell]) -> Verdict:
    """Check that the last of the cells in their order is the highest, and above the first."""
    known, last = [cell for cell in cells if cell.known], cells[-1]
    if len(known) < 2 or not last.known:
        return OPEN
    above = [cell for cell in known if gap((last, cell)) < 0 or (cell is cells[0] and gap((last, cell)) <= 0)]
    wrong = frozenset(f"{cell.row}, {cell.column}" for cell in above)
    return unless_wrong(wrong, len(known) == len(cells), ", ".join(cell.text for cell in known))


@comparisons.register("diverges")
def diverges(cells: list[NumberedCell]) -> Verdict:
    """Check that the training behind each of the cells diverges."""
    converged = [f"{cell.column}: {cell.text} ({cell.row})" for cell in cells if cell.known]
    diverged = [f"{cell.column}: diverged ({cell.row})" for cell in cells if cell.diverged]
    text = "; ".join((converged or diverged)[:SHOWN])
    holds = False if converged else True if len(diverged) == len(cells) else None
    return Verdict(holds, text, diverged=len(diverged))


@comparisons.register("two-texts")
def two_texts(cells: list[NumberedCell], *, both: tuple[str, str]) -> Verdict:
    """Check that the text gives the same at both places."""
    return Verdict(both[0] == both[1], both[1])
