"""How certain a claim is on numbers of ours: do they show that it is true, or that it is not?

Each mean is drawn anew many times, as its runs let expect it: mean + s / sqrt(n) * t, with t of Student's distribution
with n - 1 degrees of freedom. The claim is judged on every draw by its own comparison.

- It holds if it does on the numbers themselves and in at least 97.5 % of the draws. If it is of the best of several
  rows, gains or pairs of columns, one of these must fulfil it by itself, too; where k do in any draw, in at least
  1 - 2.5 % / k of them: luck alone lifts the best of many rows above another one.
- It does not hold if it does not on the numbers themselves and one of its parts is contradicted in at least 97.5 % of
  the draws; where draws contradict m parts, in at least 1 - 2.5 % / m of them (Bonferroni). A part is a pair, a step
  or a column of the comparison. That some part, whichever, is contradicted in most draws shows nothing: of many
  rows that are equally good, hardly any draw has the order of print.
- Else the luck of the runs may have turned it, and the runs are counted with which it would be decided if means and
  deviations stayed as they are.

Each claim is decided by itself, without a correction over several claims.

A score without a deviation (one run) or with a deviation of zero has the one that its table assumes, as in verdicts.
For a time, a speed-up or a change in % nothing is assumed: without a deviation it leaves a claim undecided. Each of
them is drawn by itself, also where several share a time. Sizes, counts and settings do not depend on luck and are taken
as they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from retort.specs.judging import ASSUMED_FREEDOM
from retort.specs.statement import Statement
from retort.tables.comparison_types import NumberedCell, Verdict
from retort.tables.judge import Key, Known, Side, comparing, decide, known_cells, with_dev

SEED = 2023  # of the draws
DRAWS = 4000
FIRST, OPEN = 400, 0.95  # a claim with no larger share than this in the first draws is as open in all: 3 errors below
LEVEL = 0.05  # two-sided
TRIED = (8, 16, 32, 64, 128, 256)  # runs of each student
MEASURED = ("ms", "times", "%")  # units of numbers that depend on luck, and for which no deviation is assumed
Assumed = Callable[[NumberedCell], float]  # a cell -> the standard deviation that its table assumes, in points


@dataclass(frozen=True)
class Outcome:
    """What the numbers of a side say of a claim.

    Args:
        holds: True or False where they show it; None where they do not.
        runs: of a claim that other runs may turn, the runs that would decide it, 0 if more than were tried; else None.
        unknown: whether other runs may turn it, and it cannot be said how easily: a deviation is not known.
        so_far: of a claim that some of its cells leave open, as they have no number: whether it is true of the means of
            the others; else None.
        known: how many of the cells of such a claim have a number.
    """

    holds: bool | None
    runs: int | None = None
    so_far: bool | None = None
    known: Known | None = None
    unknown: bool = False


@dataclass(frozen=True)
class _StandardError:
    """The standard error of a mean, and its degrees of freedom."""

    size: float
    freedom: int


def _standard_error(cell: NumberedCell, assumed: Assumed, runs: int) -> _StandardError | None:
    """Return the error of a cell's mean over its own runs, or over `runs` if they are more; None if it has none."""
    n = max(cell.n, runs, 1)
    if cell.std and cell.n > 1:
        return _StandardError(cell.std / math.sqrt(n), n - 1)
    if cell.unit != "x100":
        return None
    return _StandardError(assumed(cell) / math.sqrt(n), n - 1 if runs else ASSUMED_FREEDOM)


def _draws(cells: Mapping[Key, NumberedCell], assumed: Assumed, runs: int) -> Iterator[dict[Key, NumberedCell]]:
    """Yield the cells again and again, with the mean of each drawn anew; a mean without an error stays as it is."""
    generator = np.random.default_rng(SEED)
    errors = {key: error for key, cell in cells.items() if (error := _standard_error(cell, assumed, runs))}
    freedom = [error.freedom for error in errors.values()]
    means = np.array([cells[key].number.value for key in errors])
    sizes = np.array([error.size for error in errors.values()])
    for count in (FIRST, DRAWS - FIRST):
        drawn = means + sizes * generator.standard_t(freedom, (count, len(errors)))  # [count, means]
        for values in drawn.tolist():
            yield {**cells, **{key: cells[key].with_mean(mean) for key, mean in zip(errors, values, strict=True)}}


@dataclass(frozen=True)
class _Shares:
    """In which shares of the draws a claim holds, and each of its parts is contradicted."""

    holds: float
    wrong: dict[str, float]
    alone: dict[str, float]

    @property
    def largest(self) -> float:
        """The largest of the shares."""
        return max(self.holds, *self.wrong.values(), 0.0)

    @property
    def shows_true(self) -> bool:
        """Whether the claim holds in so many draws that it is true; by one row alone if the best of several counts."""
        return self.holds >= 1 - LEVEL / 2 and (not self.alone or _one_stands_out(self.alone))

    @property
    def shows_false(self) -> bool:
        """Whether one part is contradicted in so many draws that the claim is not true."""
        return _one_stands_out(self.wrong)


def _one_stands_out(shares: Mapping[str, float]) -> bool:
    """Return whether one of some shares is so large that it is no luck of the largest (Bonferroni)."""
    return max(shares.values(), default=0.0) >= 1 - LEVEL / 2 / max(len(shares), 1)


def _shares(statement: Statement, side: Side, assumed: Assumed, runs: int = 0) -> _Shares:
    """Return what the draws say of a claim, with at least so many runs of each student."""
    side = with_dev(statement, side)
    cells, compared = _cells(statement, side), comparing(statement, side)
    holding, wrong, alone, shares = 0, Counter[str](), Counter[str](), _Shares(0.0, {}, {})
    for number, drawn in enumerate(_draws(cells, assumed, runs), start=1):
        verdict = compared(drawn)
        holding += verdict.holds is True
        wrong.update(contradicted(verdict))
        alone.update(verdict.alone)
        if number in (FIRST, DRAWS):
            parts = ({part: count / number for part, count in counts.items()} for counts in (wrong, alone))
            shares = _Shares(holding / number, *parts)
            if shares.largest < OPEN:
                break
    return shares


def _cells(statement: Statement, side: Side) -> dict[Key, NumberedCell]:
    """Return the cells of a claim that have a number."""
    keys = sorted({key for group in (*statement.cells, *statement.than) for key in group.keys})
    return {key: side.cells[key] for key in keys if key in side.cells}


def contradicted(verdict: Verdict) -> frozenset[str]:
    """Return the parts of a claim that a verdict contradicts; the claim itself if it has no parts."""
    return verdict.wrong or frozenset(["the claim"] if verdict.holds is False else [])


def outcome(statement: Statement, side: Side, assumed: Assumed) -> Outcome:
    """Return what the numbers of a side say of a claim, and how many runs would decide it.

    Args:
        statement: the claim.
        side: the numbers.
        assumed: the standard deviation of a score that has none.
    """
    verdict = decide(statement, side)
    if isinstance(verdict, str):
        return Outcome(None)
    if verdict.holds is None:
        return Outcome(None, so_far=verdict.so_far, known=known_cells(statement, side, verdict.diverged))
    cells = _cells(statement, with_dev(statement, side)).values()
    if any(cell.unit in MEASURED and cell.std is None for cell in cells):
        return Outcome(None, unknown=True)

    def decided(runs: int = 0) -> bool:
        shares = _shares(statement, side, assumed, runs)
        return shares.shows_true if verdict.holds else shares.shows_false

    if decided():
        return Outcome(verdict.holds)
    return Outcome(None, next((runs for runs in TRIED if decided(runs)), 0))
