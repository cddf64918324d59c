"""How certain a claim is on numbers of ours: would it come out the same, had the runs been other ones?

Each mean is drawn anew many times, as its runs let expect it: mean + s / sqrt(n) * t, with t of Student's distribution
with n - 1 degrees of freedom. The claim is judged on every draw by its own comparison. If it holds in at least 97.5 %
of the draws, or in at most 2.5 %, it is decided; else the luck of the runs may have turned it, and the runs are counted
with which it would be decided if means and deviations stayed as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from retort.specs.statement import Statement
from retort.tables.comparison_types import NumberedCell
from retort.tables.judge import Key, Side, decide

SEED = 2023  # of the draws
DRAWS = 400
LEVEL = 0.05  # two-sided
TRIED = (8, 16, 32, 64, 128, 256)  # runs of each student


@dataclass(frozen=True)
class Outcome:
    """What the numbers of a side say of a claim.

    Args:
        holds: True or False where they decide it; None where they do not.
        runs: of a claim that other runs may turn, the runs that would decide it, 0 if more than were tried; else None.
    """

    holds: bool | None
    runs: int | None = None


def _drawn(cell: NumberedCell, generator: np.random.Generator, runs: int | None) -> NumberedCell:
    """Return a cell with its mean drawn anew, as of its own runs or of a number of them."""
    if not cell.std or cell.n < 2:
        return cell
    n = max(cell.n, runs or 0)
    error = cell.std / math.sqrt(n) * generator.standard_t(n - 1)
    return replace(cell, number=replace(cell.number, value=cell.number.value + error))


def _draw(side: Side, keys: set[Key], generator: np.random.Generator, runs: int | None) -> Side:
    def of(cells: Mapping[Key, NumberedCell]) -> dict[Key, NumberedCell]:
        return {key: _drawn(cells[key], generator, runs) for key in sorted(keys & cells.keys())}

    return replace(side, cells=of(side.cells), dev=of(side.dev))


def _share(statement: Statement, side: Side, runs: int | None = None) -> float:
    """Return in which share of the draws the statement holds."""
    generator = np.random.default_rng(SEED)
    keys = {key for group in (*statement.cells, *statement.than) for key in group.keys}
    verdicts = [decide(statement, _draw(side, keys, generator, runs)) for _ in range(DRAWS)]
    return sum(not isinstance(verdict, str) and verdict.holds is True for verdict in verdicts) / DRAWS


def _decided(share: float) -> bool:
    return not LEVEL / 2 < share < 1 - LEVEL / 2


def outcome(statement: Statement, side: Side) -> Outcome:
    """Return what the numbers of a side say of a claim, and how many runs would decide it."""
    verdict = decide(statement, side)
    if isinstance(verdict, str) or verdict.holds is None:
        return Outcome(None)
    if _decided(_share(statement, side)):
        return Outcome(verdict.holds)
    return Outcome(None, next((runs for runs in TRIED if _decided(_share(statement, side, runs))), 0))
