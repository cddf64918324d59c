"""Decide whether our numbers show that a claim is true, that it is false, or neither, by a parametric bootstrap.

Each mean is drawn anew many times from its sampling distribution: mean + s / sqrt(n) * t, where t has Student's
distribution with n - 1 degrees of freedom. The claim is judged on every draw by its own comparison.

- The claim holds if it is true of our means and of at least 97.5 % of the draws. A claim about the best of several
  rows, gains or pairs of columns must also be true of one of them by itself: of k candidates that fulfil it in any
  draw, one must do so in at least 1 - 2.5 % / k of the draws. For luck alone lifts the best of many rows above another.
- The claim does not hold if it is false of our means and one of its parts is contradicted in at least 97.5 % of the
  draws. A part is a pair, a step or a column of the comparison. If draws contradict m parts, the share must be at least
  1 - 2.5 % / m (Bonferroni). It must be the same part each time: if many rows are equally good, hardly any draw has
  them in the printed order, so that most draws contradict some part.
- Else the claim is undecided: other runs may turn it. Then the number of runs is sought that would decide it if means
  and deviations stayed as they are.

Each claim is decided by itself, without a correction over several claims.

A score without a deviation (one run), or with a deviation of zero, gets the one that its table assumes, as in verdicts.
For a time, a speed-up or a change in % nothing is assumed: if it has no deviation, its claim is undecided. Values are
drawn independently, even if several depend on the same time. Sizes, counts and settings are exact: they are not drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from retort.formatters import number as formatted
from retort.judgement.comparisons import NumberedCell, Reached, Verdict
from retort.judgement.judge import Coverage, Key, Side, comparison_of, coverage_of, decide, ours, with_dev
from retort.results.tidy import Line
from retort.specs.paper import Recording, Statement
from retort.specs.printed import Number
from retort.specs.rows import ASSUMED_FREEDOM, assumed_std_of
from retort.study.study import Study

SEED = 2023  # of the draws
DRAWS = 4000
# Draws stop after the first FIRST if no share in them reaches OPEN: 0.95 is three standard errors below 97.5 %.
FIRST, OPEN = 400, 0.95
LEVEL = 0.05  # two-sided
TRIED = (8, 16, 32, 64, 128, 256)  # runs of each student
MEASURED = ("ms", "times", "%")  # units of numbers that depend on luck, and for which no deviation is assumed
Assumed = Callable[[NumberedCell], float]  # a cell -> the standard deviation that its table assumes, in points


@dataclass(frozen=True)
class Outcome:
    """What the numbers of a side say of a claim.

    Args:
        holds: whether the claim is shown to be true (True) or false (False); None if neither.
        runs: for an undecided claim, the runs of each student that would decide it; 0 if more than `TRIED`; else None.
        unknown: whether it is undecided because the deviation of a number is not known.
        so_far: for a claim left open by cells without a number: whether it is true of the means of the others; else
            None.
        known: for such a claim, how many of its cells have a number.
    """

    holds: bool | None
    runs: int | None = None
    so_far: bool | None = None
    known: Coverage | None = None
    unknown: bool = False


@dataclass(frozen=True)
class _StandardError:
    """The standard error of a mean, and its degrees of freedom."""

    size: float
    freedom: int


def _standard_error(cell: NumberedCell, assumed: Assumed, runs: int) -> _StandardError | None:
    """Return the standard error of a cell's mean over its own runs, or over `runs` if these are more.

    None for a cell without a deviation that is not a score: no deviation is assumed for it.
    """
    n = max(cell.n, runs, 1)
    if cell.std and cell.n > 1:
        return _StandardError(cell.std / math.sqrt(n), n - 1)
    if cell.unit != "x100":
        return None
    return _StandardError(assumed(cell) / math.sqrt(n), n - 1 if runs else ASSUMED_FREEDOM)


def _draws(cells: Mapping[Key, NumberedCell], assumed: Assumed, runs: int) -> Iterator[dict[Key, NumberedCell]]:
    """Yield `DRAWS` copies of the cells, each with newly drawn means; a mean without an error stays as it is."""
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
    """Shares of the draws, from 0 to 1.

    Args:
        holds: those in which the claim holds.
        wrong: part of the claim -> those that contradict it.
        alone: row, gain or pair of columns -> those in which it fulfils the claim by itself.
    """

    holds: float
    wrong: dict[str, float]
    alone: dict[str, float]

    @property
    def largest(self) -> float:
        """The largest of the shares."""
        return max(self.holds, *self.wrong.values(), 0.0)

    @property
    def shows_true(self) -> bool:
        """Whether the claim holds in enough draws; a claim about the best of several rows, also by one row alone."""
        return self.holds >= 1 - LEVEL / 2 and (not self.alone or _one_stands_out(self.alone))

    @property
    def shows_false(self) -> bool:
        """Whether one part of the claim is contradicted in enough draws."""
        return _one_stands_out(self.wrong)


def _one_stands_out(shares: Mapping[str, float]) -> bool:
    """Return whether the largest share reaches 1 - 2.5 % / k, for k shares (Bonferroni)."""
    return max(shares.values(), default=0.0) >= 1 - LEVEL / 2 / max(len(shares), 1)


def _shares(statement: Statement, side: Side, assumed: Assumed, runs: int = 0) -> _Shares:
    """Judge a claim on all draws and return the shares, as if each student had at least `runs` runs."""
    side = with_dev(statement, side)
    cells, compared = _cells(statement, side), comparison_of(statement, side)
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
    """Return the parts of a claim that a verdict contradicts; 'the claim' if a false claim has no parts."""
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
        return Outcome(None, so_far=verdict.so_far, known=coverage_of(statement, side, verdict.diverged))
    cells = _cells(statement, with_dev(statement, side)).values()
    if any(cell.unit in MEASURED and cell.std is None for cell in cells):
        return Outcome(None, unknown=True)

    def decided(runs: int = 0) -> bool:
        shares = _shares(statement, side, assumed, runs)
        return shares.shows_true if verdict.holds else shares.shows_false

    if decided():
        return Outcome(verdict.holds)
    return Outcome(None, next((runs for runs in TRIED if decided(runs)), 0))


# Decide each claim of a paper on our numbers: those of a run, or recorded ones.


@dataclass(frozen=True)
class ClaimsByOutcome:
    """The names of a paper's claims, each in the list of its outcome.

    Args:
        hold: claims that the numbers show to be true.
        fail: claims that the numbers show to be false.
        undecided: claims that other runs may turn -> the runs of each student that would decide them; 0 for more than
            were tried; None if a deviation is not known.
        so_far: claims that are true of the cells with a number, while other cells have none -> how many have one.
        not_so_far: the same for claims that are false of the cells with a number.
        without: claims that cannot be decided, because a number is missing.
    """

    hold: list[str] = field(default_factory=list)
    fail: list[str] = field(default_factory=list)
    undecided: dict[str, int | None] = field(default_factory=dict)
    so_far: dict[str, Coverage] = field(default_factory=dict)
    not_so_far: dict[str, Coverage] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)


def outcomes(study: Study, paper: str, side: Side) -> dict[str, Outcome]:
    """Return claim -> what the numbers of a side say of it, for all claims of a paper."""

    def assumed(cell: NumberedCell) -> float:
        table = study.exhibits[paper, cell.table]
        return assumed_std_of([*table.judging(cell.column), study.papers[paper]]).points

    return {name: outcome(claim, side, assumed) for name, claim in study.claims.get(paper, {}).items()}


def sort_claims(found: Mapping[str, Outcome]) -> ClaimsByOutcome:
    """Put each claim into the list of its outcome."""
    partly = {name: one.known for name, one in found.items() if one.so_far is not None and one.known is not None}
    return ClaimsByOutcome(
        hold=[name for name, one in found.items() if one.holds is True],
        fail=[name for name, one in found.items() if one.holds is False],
        undecided={name: one.runs for name, one in found.items() if one.runs is not None or one.unknown},
        so_far={name: known for name, known in partly.items() if found[name].so_far},
        not_so_far={name: known for name, known in partly.items() if not found[name].so_far},
        without=[
            name for name, one in found.items() if one.holds is one.runs is one.so_far is None and not one.unknown
        ],
    )


def side_of_lines(study: Study, paper: str, tables: Mapping[str, list[Line]]) -> Side:
    """Return the numbers of a run."""
    return ours({name: study.exhibits[paper, name] for name in tables}, tables)


def side_of_recording(study: Study, paper: str, recording: Recording) -> Side:
    """Return the numbers of a recorded run; a mean without a deviation counts as one run."""
    cells = {}
    for name, rows in recording.tables.items():
        digits = study.exhibits[paper, name].digits
        for row, columns in rows.items():
            for column, (mean, *deviations) in columns.items():
                std = deviations[0] if deviations else None
                number = Number(formatted(mean, digits), mean, "" if std is None else formatted(std, digits))
                runs = 1 if std is None else recording.runs
                cells[name, row, column] = NumberedCell(name, row, column, number, runs, "x100", std)
    claims = study.claims.get(paper, {}).values()
    keys = {key for claim in claims for group in (*claim.cells, *claim.than) for key in group.keys}
    return Side(cells, dict.fromkeys(keys, "not in the recorded run"), Reached)
