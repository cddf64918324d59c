"""Decide whether our numbers show that a claim is true, that it is false, or neither, by a parametric bootstrap.

Each mean is drawn anew many times from its sampling distribution: mean + s / sqrt(n) * t, where t has Student's
distribution with n - 1 degrees of freedom. Means of runs with the same n seeds are drawn together, from the
multivariate t distribution with the covariance of their scores over these seeds. So the difference of two of them, or
any weighted sum, is drawn as in a paired t-test over the seeds, which is exact for normal scores, also with two seeds.
The claim is judged on every draw by its own comparison.

- The claim holds if it is true of our means and of at least 97.5 % of the draws. A claim about the best of several
  rows, gains or pairs of columns must also be true of one of them by itself: of k candidates that fulfil it in any
  draw, one must do so in at least 1 - 2.5 % / k of the draws. For luck alone lifts the best of many rows above another.
- The claim does not hold if it is false of our means and one of its parts is contradicted in at least 97.5 % of the
  draws. A part is a pair, a step or a column of the comparison. If draws contradict m parts, the share must be at least
  1 - 2.5 % / m (Bonferroni). It must be the same part each time: if many rows are equally good, hardly any draw has
  them in the printed order, so that most draws contradict some part.
- Else the claim is open: other runs may turn it. Then the number of runs is sought that would decide it if means
  and deviations stayed as they are.

Each claim is decided by itself, without a correction over several claims. A budget looks twice at its claims: at a
level of 1 % if their students have two runs, and of 3 % if they have more. Both looks together keep 5 %, also as the
first one decides about further runs.

A score without a deviation (one run), or with a deviation of zero, gets the one that its table assumes, as in verdicts.
For a time, a speed-up or a change in % nothing is assumed: if it has no deviation, its claim is open. Values that
do not pair are drawn independently, even if several depend on the same time. Sizes, counts and settings are exact: they
are not drawn.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from retort.judgement.comparisons import NumberedCell
from retort.judgement.judge import Coverage, Key, Kind, Side, comparison_of, coverage_of, decide_statement, with_dev
from retort.specs.paper import Statement
from retort.specs.rows import ASSUMED_FREEDOM, assumed_std_of
from retort.study.study import Study

SEED = 2023  # of the draws
DRAWS = 4000
# Draws stop after the first FIRST if no share in them reaches OPEN: 0.95 is three standard errors below 97.5 %.
FIRST, OPEN = 400, 0.95
LEVEL = 0.05  # two-sided
FIRST_RUNS = 2  # of each student, at which a budget looks first
LOOKS = (0.01, 0.03)  # levels of the first look and of the last; README.md simulates both together
TRIED = (8, 16, 32, 64, 128, 256)  # runs of each student
MEASURED = ("ms", "times", "%")  # units of numbers that depend on luck, and for which no deviation is assumed
Assumed = Callable[[NumberedCell], float]  # a cell -> the standard deviation that its table assumes, in points


@dataclass(frozen=True)
class Outcome:
    """What the numbers of a side say of a claim.

    Args:
        kind: the outcome.
        leans: whether the means, by themselves, say that the claim is true; None if they do not tell.
        runs: for an open claim with all its numbers, the runs of each student that would decide it; 0 if more than
            `TRIED`; None if the deviation of a number is not known.
        known: for a claim that is open because cells have no number, how many have one.
        removed: the share of the variance that pairs of runs with the same seeds remove; None without such pairs.
    """

    kind: Kind
    leans: bool | None = None
    runs: int | None = None
    known: Coverage | None = None
    removed: float | None = None


def _standard_error(cell: NumberedCell, assumed: Assumed, runs: int) -> tuple[float, int] | None:
    """Return standard error and degrees of freedom of a cell's mean over its own runs, or over `runs` if more.

    None for a cell without a deviation that is not a score: no deviation is assumed for it.
    """
    n = max(cell.n, runs, 1)
    if cell.std and cell.n > 1:
        return cell.std / math.sqrt(n), n - 1
    if cell.unit != "x100":
        return None
    return assumed(cell) / math.sqrt(n), n - 1 if runs else ASSUMED_FREEDOM


def differences_by_seed(first: NumberedCell, other: NumberedCell) -> list[float]:
    """Return the first cell minus the other under each seed; empty unless they have the same seeds, two or more."""
    scores, others = dict(first.by_seed), dict(other.by_seed)
    same = len(scores) > 1 and scores.keys() == others.keys()
    return [score - others[seed] for seed, score in scores.items()] if same else []


def _pairs(cell: NumberedCell) -> bool:
    """Return whether the errors of a cell are drawn with those of others that have its seeds."""
    return len(cell.by_seed) > 1 and bool(cell.std)


def drawn_means(
    cells: Mapping[Key, NumberedCell], assumed: Assumed, runs: int, count: int, generator: np.random.Generator
) -> dict[Key, np.ndarray]:
    """Return `count` draws of the mean of each cell; without those of means that have no error.

    Args:
        cells: the cells.
        assumed: the standard deviation of a score that has none.
        runs: draw as if each student had at least so many runs.
        count: the number of draws.
        generator: what draws.
    """
    together: dict[tuple[int, ...], list[Key]] = {}
    drawn = {}
    for key, cell in cells.items():
        if _pairs(cell):
            together.setdefault(tuple(seed for seed, _ in cell.by_seed), []).append(key)
        elif error := _standard_error(cell, assumed, runs):
            drawn[key] = cell.number.value + error[0] * generator.standard_t(error[1], count)
    for seeds, keys in together.items():
        n = max(len(seeds), runs)
        scores = np.array([[score for _, score in cells[key].by_seed] for key in keys])  # [cells, seeds]
        # x = means + Z (scores - means) / sqrt((k - 1) n) / sqrt(C / (n - 1)), with Z ~ N(0, 1) for each of k seeds and
        # C ~ chi2(n - 1): multivariate t with the sample covariance / n.
        normal = generator.standard_normal((count, len(seeds))) / math.sqrt((len(seeds) - 1) * n)
        scale = np.sqrt(generator.chisquare(n - 1, count) / (n - 1))
        errors = (scores - scores.mean(axis=1, keepdims=True)) @ normal.T / scale  # [cells, count]
        drawn |= {key: cells[key].number.value + error for key, error in zip(keys, errors, strict=True)}
    return drawn


def _draws(cells: Mapping[Key, NumberedCell], assumed: Assumed, runs: int, draws: int) -> Iterator[None]:
    """Give the cells newly drawn means, as often as it is asked; a mean without an error stays as it is."""
    generator = np.random.default_rng(SEED)
    for count in (FIRST, draws - FIRST):
        drawn = drawn_means(cells, assumed, runs, count, generator)
        for values in zip(*(means.tolist() for means in drawn.values()), strict=True) if drawn else [()] * count:
            for key, value in zip(drawn, values, strict=True):
                cells[key].value = value
            yield


def variance_removed(statement: Statement, side: Side) -> float | None:
    """Return the share of the variance of a claim's differences that pairs of runs with the same seeds remove.

    The differences are of each cell and each other cell of its column that it is compared with. None if none pairs.
    """
    own, others = with_dev(statement, side).both(statement)
    every = itertools.product(own, others) if statement.than else itertools.combinations(own, 2)
    pairs = [pair for pair in every if pair[0].column == pair[1].column and differences_by_seed(*pair)]
    apart = sum(statistics.variance(score for _, score in cell.by_seed) for pair in pairs for cell in pair)
    paired = sum(statistics.variance(differences_by_seed(*pair)) for pair in pairs)
    return 1 - paired / apart if apart else None


@dataclass(frozen=True)
class Shares:
    """Shares of the draws, from 0 to 1.

    Args:
        holds: those in which the claim holds.
        wrong: part of the claim, or the whole of one without parts -> those that contradict it.
        alone: row, gain or pair of columns -> those in which it fulfils the claim by itself.
        level: the chance of a wrong decision, at most.
    """

    holds: float
    wrong: dict[str, float]
    alone: dict[str, float]
    level: float = LEVEL

    @property
    def largest(self) -> float:
        """The largest of the shares."""
        return max(self.holds, *self.wrong.values(), 0.0)

    @property
    def shows_true(self) -> bool:
        """Whether the claim holds in enough draws; a claim about the best of several rows, also by one row alone."""
        return self.holds >= 1 - self.level / 2 and (not self.alone or self._one_stands_out(self.alone))

    @property
    def shows_false(self) -> bool:
        """Whether one part of the claim is contradicted in enough draws."""
        return self._one_stands_out(self.wrong)

    def _one_stands_out(self, shares: Mapping[str, float]) -> bool:
        """Return whether the largest share reaches 1 - level / 2 / k, for k shares (Bonferroni)."""
        return max(shares.values(), default=0.0) >= 1 - self.level / 2 / max(len(shares), 1)


def shares_of(
    statement: Statement, side: Side, assumed: Assumed, runs: int = 0, level: float = LEVEL, draws: int = DRAWS
) -> Shares:
    """Judge a claim on all draws and return the shares, as if each student had at least `runs` runs."""
    cells = {key: replace(cell) for key, cell in _cells(statement, with_dev(statement, side)).items()}
    compared = comparison_of(statement, replace(side, cells=cells))
    holding, wrong, alone, shares = 0, Counter[str](), Counter[str](), Shares(0.0, {}, {})
    for number, _ in enumerate(_draws(cells, assumed, runs, draws), start=1):
        verdict = compared()
        holding += verdict.holds is True
        for part in verdict.wrong or ["the claim"] * (verdict.holds is False):
            wrong[part] += 1
        for candidate in verdict.alone:
            alone[candidate] += 1
        if number in (FIRST, draws):
            apart, single = ({part: count / number for part, count in counts.items()} for counts in (wrong, alone))
            shares = Shares(holding / number, apart, single, level)
            if shares.largest < OPEN:
                break
    return shares


def _cells(statement: Statement, side: Side) -> dict[Key, NumberedCell]:
    """Return the cells of a claim that have a number."""
    return {key: side.cells[key] for key in sorted(set(statement.keys)) if key in side.cells}


def claim_outcome(statement: Statement, side: Side, assumed: Assumed, level: float = LEVEL) -> Outcome:
    """Return what the numbers of a side say of a claim, and how many runs would decide it.

    Args:
        statement: the claim.
        side: the numbers.
        assumed: the standard deviation of a score that has none.
        level: the chance of a wrong decision, at most.
    """
    verdict = decide_statement(statement, side)
    if isinstance(verdict, str):
        return Outcome(Kind.WITHOUT)
    if verdict.holds is None:
        kind = Kind.WITHOUT if verdict.so_far is None else Kind.OPEN
        return Outcome(kind, verdict.so_far, known=coverage_of(statement, side, verdict.diverged))
    cells = _cells(statement, with_dev(statement, side)).values()
    if any(cell.unit in MEASURED and cell.std is None for cell in cells):
        return Outcome(Kind.OPEN, verdict.holds)
    removed = variance_removed(statement, side)

    def decided(runs: int = 0) -> bool:
        shares = shares_of(statement, side, assumed, runs, level)
        return shares.shows_true if verdict.holds else shares.shows_false

    if decided():
        return Outcome(Kind.HOLDS if verdict.holds else Kind.FAILS, verdict.holds, removed=removed)
    return Outcome(Kind.OPEN, verdict.holds, next((runs for runs in TRIED if decided(runs)), 0), removed=removed)


def assumed_by(study: Study, paper: str) -> Assumed:
    """Return a function from a cell of a paper to the standard deviation that its table assumes."""

    def assumed(cell: NumberedCell) -> float:
        table = study.exhibits[paper, cell.table]
        return assumed_std_of([*table.judging(cell.column), study.papers[paper]]).points

    return assumed


def level_of(study: Study, statement: Statement, side: Side) -> float:
    """Return the level at which a claim is decided: that of a look if the study has a budget."""
    return level_of_look(statement, side) if study.config.budget else LEVEL


def level_of_look(statement: Statement, side: Side) -> float:
    """Return the level of the look at which a claim is: the first, or the last if it has more runs."""
    return LOOKS[max((cell.n for cell in _cells(statement, side).values()), default=0) > FIRST_RUNS]
