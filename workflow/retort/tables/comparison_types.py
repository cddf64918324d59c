"""Inputs and output of a comparison: cells with their numbers, the number in a paper's text, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

from retort.specs.printed import Number

TINY = 1e-9  # tolerance: binary floating point can make a distance of exactly half a digit a little larger


@dataclass(frozen=True)
class NumberedCell:
    """One cell with a number: its table, row and column, its number, and the runs averaged in that number.

    Args:
        n: number of runs; 0 if unknown.
        std: the standard deviation over these runs; None if unknown.
        unit: the unit of the tidy CSV; empty for a published number.
        diverged: whether the cell has no number because its training diverged.
    """

    table: str
    row: str
    column: str
    number: Number
    n: int = 0
    unit: str = ""
    std: float | None = None
    diverged: bool = False

    @property
    def known(self) -> bool:
        """Whether the cell has a number; else its value is NaN, so that `<`, `>` and `==` with it are False."""
        return not math.isnan(self.number.value)

    @property
    def text(self) -> str:
        """The number as printed, with its standard deviation if there is one."""
        return self.number.text + (f" ± {self.number.std_text}" if self.number.std_text else "")

    def with_mean(self, mean: float) -> NumberedCell:
        """Return the cell with another mean; `dataclasses.replace` would be too slow for the many draws of a claim."""
        number = Number(self.number.text, mean, self.number.std_text, self.number.error)
        return NumberedCell(self.table, self.row, self.column, number, self.n, self.unit, self.std, self.diverged)


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
        digits = max(1, len(self.number.text.partition(".")[2].rstrip("%×Mk")))
        return Verdict(self.is_met(value, slack), numbers, f"{value:.{digits}f}", pair)


class Reached(Stated):
    """The number in a paper's text, for our runs: a value needs its sign and at least its size less the tolerance."""

    def is_met(self, value: float, slack: float) -> bool:
        """Return whether the value has the number's sign and |value| >= |number| - within; `slack` is not used."""
        towards = math.copysign(1.0, self.number.value) * value
        return towards > 0 and towards >= abs(self.number.value) - self.within - TINY
