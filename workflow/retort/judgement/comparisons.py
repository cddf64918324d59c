"""The comparisons that statements in YAML name, such as `compare: above`: from columns of numbers to a verdict.

A comparison takes cells with one number each, or with many resamples of it (`cells.py`), and further inputs as
keyword-only parameters: `stated` (the number in the text), `than` (one other cell), `against` (other cells, each
compared within its own column), `counterparts` (one other cell for each), `partners` (the cells next to them),
`allowed` (a distance), `both` (two texts).

A comparison over columns of a table, or over cells in their order, also takes cells without a number, unless it is
registered as `whole`: the verdict is then on the others, and stays open where these may turn it. If all of several
pairs, steps or columns must be as stated, `wrong` says which are not.

The table of claims prints the first docstring line of a comparison, without "Check that", after the columns' names.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from retort.judgement.cells import Ballot, CellValues, Flags, Pairs, Parts, Places, Values, Verdict
from retort.registry import Registry
from retort.specs.reported import Number
from retort.study.reasons import Status

TINY = 1e-9  # tolerance: binary floating point can make a distance of exactly half a digit a little larger
Good = np.ufunc  # `np.greater` or another comparison, of differences with zero; with a NaN it is False


@dataclass(frozen=True)
class Stated:
    """The number in a paper's text with its tolerance; a value meets it if |value - number| <= tolerance.

    Args:
        number: the number in the text.
        within: the tolerance; by default half a unit of the last reported digit.
    """

    number: Number
    within: float

    def is_met(self, values: Values, slack: Values | float) -> Flags:
        """Return whether values meet the number: |value - number| <= within + slack.

        Args:
            values: the values computed from cells.
            slack: how much rounding of the reported cells may have moved each.
        """
        return abs(values - self.number.value) <= slack + self.within + TINY

    def decide(self, values: Values, numbers: str, pair: Pairs | None = None, slack: Values | float = 0.0) -> Verdict:
        """Return the verdict on a value that is computed from cells.

        Args:
            values: [resamples]: the computed value.
            numbers: the cells behind it, as text.
            pair: the two cells behind it; None if they are not exactly two.
            slack: how much rounding of the reported cells may have moved the value.
        """
        digits = max(1, len(self.number.text.partition(".")[2].rstrip("%×xMk")))
        return Verdict(self.is_met(values, slack), numbers, result=f"{values[0]:.{digits}f}", pair=pair)


class Reached(Stated):
    """The number in a paper's text, for our runs: a value needs its sign and at least its size less the tolerance."""

    def is_met(self, values: Values, slack: Values | float) -> Flags:
        """Return whether values have the number's sign and |value| >= |number| - within; `slack` is not used."""
        towards = math.copysign(1.0, self.number.value) * values
        return (towards > 0) & (towards >= abs(self.number.value) - self.within - TINY)


# --- what comparisons share

SHOWN = 3  # print at most so many pairs of cells
COUNTED = "{won} of {all} columns{open}"  # columns in which a statement holds, and those without a number
OPEN = Verdict(np.array([False]), "", np.array([True]))  # if too many cells have no number to say anything
comparisons: Registry[Callable[..., Verdict]] = Registry("comparison")


def few(texts: Iterable[str]) -> str:
    """Return the first texts, and how many more there are."""
    texts = list(texts)
    further = f"; and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return "; ".join(texts[:SHOWN]) + further


# --- one cell, or one cell and one other


@comparisons.register("value")
def value(cells: CellValues, *, stated: Stated) -> Verdict:
    """Check that the cell is the number."""
    reported = cells.facts("text")[0].partition(" ±")[0]
    return Verdict(stated.is_met(cells.values[0], 0.0), cells.texts[0], result=reported)


@comparisons.register("difference")
def difference(cells: CellValues, *, stated: Stated, than: CellValues) -> Verdict:
    """Check that the cell less the other is the number, as far as their rounding lets it."""
    pair, slack = Pairs(cells, than), cells.facts("half") + than.facts("half")
    return stated.decide(pair.gap[0], pair.texts[0], pair, slack)


@comparisons.register("exceeds")
def exceeds(cells: CellValues, *, than: CellValues) -> Verdict:
    """Check that the cell is above the other, whatever their columns are called."""
    pair = Pairs(cells, than)
    return Verdict(pair.gap[0] > 0, pair.texts[0], pair=pair)


def _ratio_is(cells: CellValues, than: CellValues, stated: Stated, scale: float) -> Verdict:
    """Return whether `scale` times the ratio of two cells is the number, as far as their rounding lets it."""
    first, other = cells.values[0], than.values[0]
    ratio = first / other
    # First-order error of r = a / b: |dr| <= r (da / a + db / b), with da and db half a unit of the last digit.
    slack = ratio * (cells.facts("half")[0] / first + than.facts("half")[0] / other)
    return stated.decide(scale * ratio, Pairs(cells, than).texts[0], slack=scale * slack)


@comparisons.register("percent")
def percent(cells: CellValues, *, stated: Stated, than: CellValues) -> Verdict:
    """Check that the cell is the number in per cent of the other."""
    return _ratio_is(cells, than, stated, 100)


@comparisons.register("times")
def times(cells: CellValues, *, stated: Stated, than: CellValues) -> Verdict:
    """Check that the cell is the number times the other."""
    return _ratio_is(cells, than, stated, 1)


@comparisons.register("at-least-percent")
def at_least_percent(cells: CellValues, *, stated: Stated, than: CellValues) -> Verdict:
    """Check that the cell is more than the number in per cent of the other."""
    ratio = 100 * cells.values[0] / than.values[0]
    return Verdict(ratio > stated.number.value, Pairs(cells, than).texts[0], result=f"{ratio[0]:.1f}")


@comparisons.register("at-most-percent")
def at_most_percent(cells: CellValues, *, stated: Stated, than: CellValues) -> Verdict:
    """Check that the cell is at most the number in per cent of the other."""
    ratio = 100 * cells.values[0] / than.values[0]
    return Verdict(ratio <= stated.number.value + stated.within, Pairs(cells, than).texts[0], result=f"{ratio[0]:.1f}")


# --- cells against others, column by column


def pairs_of(cells: CellValues, against: CellValues) -> Pairs:
    """Return every pair of a cell and one of the others in the same column."""
    first, other = np.nonzero(cells.columns[:, None] == against.columns)
    return Pairs(cells[first], against[other])


def by_column(cells: CellValues) -> dict[str, Places]:
    """Return column -> the places of its cells."""
    return {column: np.flatnonzero(cells.columns == column) for column in dict.fromkeys(cells.columns)}


def unless_wrong(wrong: Parts, complete: bool, numbers: str, pair: Pairs | None = None) -> Verdict:
    """Return the verdict on a statement with several parts: it holds if none is wrong.

    It stays open if none is wrong so far, but not all numbers are there (`complete`).
    """
    fine = ~np.logical_or.reduce(wrong.flags)
    return Verdict(fine, numbers, fine & (not complete), pair=pair, wrong=wrong)


def every(pairs: Pairs, good: Good) -> Verdict:
    """Return whether all pairs are good; the text gives the pairs that are not, or the closest pair if all are."""
    known = pairs.numbered
    if not len(known):
        return OPEN
    wrong, closest = ~good(known.gap, 0), known[[known.gap[:, 0].argmin()]]
    shown = known[wrong[:, 0]] if wrong[:, 0].any() else closest
    return unless_wrong(Parts(known.names, wrong), len(known) == len(pairs), few(shown.texts), closest)


@comparisons.register("above")
def above(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in every column each of the cells is above each of the others."""
    return every(pairs_of(cells, against), np.greater)


@comparisons.register("not-below")
def not_below(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in every column each of the cells is at least each of the others."""
    return every(pairs_of(cells, against), np.greater_equal)


def most(pairs: Pairs, good: Good, columns: Iterable[Places] = (), counted: str = COUNTED) -> Verdict:
    """Return whether, in more than half of the columns, all pairs are good.

    Args:
        pairs: the pairs.
        good: the condition.
        columns: the places of the pairs of each column; by default, those of the columns of the table.
        counted: how the text counts the columns.
    """
    columns, fine = list(columns) or list(by_column(pairs.own).values()), good(pairs.gap, 0)
    bad = ~fine & pairs.known[:, None]
    won = np.array([fine[at].all(axis=0) for at in columns])  # [columns, resamples]
    lost = np.array([bad[at].any(axis=0) for at in columns])
    wins, losses, many = won.sum(axis=0), lost.sum(axis=0), len(columns)
    worst = [min(at[bad[at, 0]], key=pairs.gap[:, 0].__getitem__) for at in columns if bad[at, 0].any()]
    left = many - wins[0] - losses[0]
    text = counted.format(won=wins[0], all=many, open=f", {left} without a number" if left else "")
    text += f"; not {few(pairs[worst].texts)}" if worst else ""
    undecided = (2 * wins <= many) & (many < 2 * (many - losses))  # columns without a number may turn it
    ballot = Ballot([*won[:, None]], [bad[at] for at in columns])
    return Verdict(wins > losses, text if left < many else "", undecided, ballots=[ballot])


@comparisons.register("mostly-above")
def mostly_above(cells: CellValues, *, against: CellValues) -> Verdict:
    """Check that in more than half of the columns each of the cells is above each of the others."""
    return most(pairs_of(cells, against), np.greater)


def all_near(pairs: Pairs, allowed: float, names: Sequence[str]) -> Verdict:
    """Return whether the cells of every pair differ by at most `allowed`; the text gives the pair farthest apart."""
    known = pairs.numbered
    if not len(known):
        return OPEN
    apart = abs(known.gap)
    farthest = known[[apart[:, 0].argmax()]]
    wrong = Parts(list(itertools.compress(names, pairs.known)), apart > allowed + TINY)
    return unless_wrong(wrong, len(known) == len(pairs), farthest.texts[0], farthest)


@comparisons.register("near")
def near(cells: CellValues, *, allowed: float, against: CellValues) -> Verdict:
    """Check that in every column each of the cells differs from each of the others by at most the allowed distance."""
    pairs = pairs_of(cells, against)
    return all_near(pairs, allowed, pairs.names)


# --- cells in their order, and texts


def _steps(cells: CellValues, good: Good) -> Verdict:
    """Return whether all steps from a cell to the next are good; the text gives the others, or else all cells."""
    known = cells.numbered
    if len(known) < 2:
        return OPEN
    bad, texts = ~good(np.diff(known.values, axis=0), 0), known.facts("text")
    told = [f"{text} ({place})" for text, place in zip(texts, known.places, strict=True)]
    steps = few(f"{told[step]}, then {told[step + 1]}" for step in np.flatnonzero(bad[:, 0]))
    names = ["; ".join(both) for both in itertools.pairwise(known.places)]
    return unless_wrong(Parts(names, bad), len(known) == len(cells), steps or ", ".join(texts))


@comparisons.register("falls-at-each-step")
def falls_at_each_step(cells: CellValues) -> Verdict:
    """Check that each of the cells in their order is below the one before it."""
    return _steps(cells, np.less)


@comparisons.register("rises-at-each-step")
def rises_at_each_step(cells: CellValues) -> Verdict:
    """Check that each of the cells in their order is above the one before it."""
    return _steps(cells, np.greater)


@comparisons.register("rises")
def rises(cells: CellValues) -> Verdict:
    """Check that the last of the cells in their order is the highest, and above the first."""
    known = cells.numbered
    if len(known) < 2 or not cells.known[-1]:
        return OPEN
    above_last = known.values > known.values[-1]
    if cells.known[0]:
        above_last[0] = known.values[0] >= known.values[-1]
    return unless_wrong(Parts(known.places, above_last), len(known) == len(cells), ", ".join(known.facts("text")))


@comparisons.register("diverges")
def diverges(cells: CellValues) -> Verdict:
    """Check that the training behind each of the cells diverges."""
    diverged = cells[~cells.known & (cells.facts("status") == Status.DIVERGED)]
    told = [f"{column}: diverged ({row})" for _, row, column in diverged.keys]
    none = np.array([not cells.known.any()])
    text = "; ".join((cells.numbered.texts or told)[:SHOWN])
    return Verdict(none, text, none & (len(diverged) < len(cells)), diverged=len(diverged))


@comparisons.register("two-texts")
def two_texts(cells: CellValues, *, both: tuple[str, str]) -> Verdict:
    """Check that the text gives the same at both places."""
    return Verdict(np.array([both[0] == both[1]]), both[1])
