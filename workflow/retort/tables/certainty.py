"""How certain a claim is on numbers of ours: would it come out the same, had the runs been other ones?

Each mean is drawn anew many times, as its runs let expect it: mean + s / sqrt(n) * t, with t of Student's distribution
with n - 1 degrees of freedom. The claim is judged on every draw by its own comparison. If it holds in at least 97.5 %
of the draws, or in at most 2.5 %, it is decided; else the luck of the runs may have turned it, and the runs are counted
with which it would be decided if means and deviations stayed as they are.

A score without a deviation (one run) or with a deviation of zero has the one that its table assumes, as in verdicts.
Sizes, counts and settings do not depend on luck and are taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from retort.specs.judging import ASSUMED_FREEDOM
from retort.specs.statement import Statement
from retort.tables.comparison_types import NumberedCell
from retort.tables.judge import Key, Side, decide

SEED = 2023  # of the draws
DRAWS = 400
LEVEL = 0.05  # two-sided
TRIED = (8, 16, 32, 64, 128, 256)  # runs of each student
Assumed = Callable[[NumberedCell], float]  # a cell -> the standard deviation that its table assumes, in points


@dataclass(frozen=True)
class Outcome:
    """What the numbers of a side say of a claim.

    Args:
        holds: True or False where they decide it; None where they do not.
        runs: of a claim that other runs may turn, the runs that would decide it, 0 if more than were tried; else None.
    """

    holds: bool | None
    runs: int | None = None


@dataclass(frozen=True)
class _StandardError:
    """The standard error of a mean, and its degrees of freedom."""

    size: float
    freedom: int


Drawable = Mapping[Key, tuple[NumberedCell, _StandardError | None]]


def _standard_error(cell: NumberedCell, assumed: Assumed, runs: int) -> _StandardError | None:
    """Return the error of a cell's mean over its own runs, or over `runs` if they are more; None if it has none."""
    n = max(cell.n, runs, 1)
    if cell.std and cell.n > 1:
        return _StandardError(cell.std / math.sqrt(n), n - 1)
    if cell.unit != "x100":
        return None
    return _StandardError(assumed(cell) / math.sqrt(n), n - 1 if runs else ASSUMED_FREEDOM)


def _drawn(cell: NumberedCell, error: _StandardError | None, generator: np.random.Generator) -> NumberedCell:
    """Return a cell with its mean drawn anew; the cell itself if its mean has no error."""
    if error is None:
        return cell
    value = cell.number.value + error.size * generator.standard_t(error.freedom)
    return replace(cell, number=replace(cell.number, value=value))


def _share(statement: Statement, side: Side, assumed: Assumed, runs: int = 0) -> float:
    """Return in which share of the draws the statement holds."""
    generator = np.random.default_rng(SEED)
    keys = sorted({key for group in (*statement.cells, *statement.than) for key in group.keys})

    def with_errors(cells: Mapping[Key, NumberedCell]) -> Drawable:
        return {key: (cells[key], _standard_error(cells[key], assumed, runs)) for key in keys if key in cells}

    def draw(cells: Drawable) -> dict[Key, NumberedCell]:
        return {key: _drawn(cell, error, generator) for key, (cell, error) in cells.items()}

    cells, dev = with_errors(side.cells), with_errors(side.dev)
    verdicts = [decide(statement, replace(side, cells=draw(cells), dev=draw(dev))) for _ in range(DRAWS)]
    return sum(not isinstance(verdict, str) and verdict.holds is True for verdict in verdicts) / DRAWS


def _decided(share: float) -> bool:
    return not LEVEL / 2 < share < 1 - LEVEL / 2


def outcome(statement: Statement, side: Side, assumed: Assumed) -> Outcome:
    """Return what the numbers of a side say of a claim, and how many runs would decide it.

    Args:
        statement: the claim.
        side: the numbers.
        assumed: the standard deviation of a score that has none.
    """
    verdict = decide(statement, side)
    if isinstance(verdict, str) or verdict.holds is None:
        return Outcome(None)
    if _decided(_share(statement, side, assumed)):
        return Outcome(verdict.holds)
    return Outcome(None, next((runs for runs in TRIED if _decided(_share(statement, side, assumed, runs))), 0))
