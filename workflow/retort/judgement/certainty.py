"""Decide whether our numbers show that a claim is true, that it is false, or neither, by a parametric bootstrap.

Each mean is drawn anew many times from its sampling distribution: mean + s / sqrt(n) * t, where t has Student's
distribution with n - 1 degrees of freedom. Means of runs with the same n seeds are drawn together, from the
multivariate t distribution with the covariance of their scores over these seeds. So the difference of two of them, or
any weighted sum, is drawn as in a paired t-test over the seeds, which is exact for normal scores, also with two seeds.
Its own comparison judges the claim on all resamples at once.

- The claim holds if it is true of our means and of at least 97.5 % of the resamples. A claim about the best of several
  rows, gains or pairs of columns must also be true of one of them by itself: of k candidates that fulfil it in any
  resample, one must do so in at least 1 - 2.5 % / k of the resamples. For luck alone lifts the best of many rows above
  another.
- A claim about most of m columns holds if at least u = m // 2 + 1 of them are shown to be so: p_(u), the u-th smallest
  p-value of a column, times m - u + 1 is at most 2.5 % (partial conjunction in Bonferroni's form; Benjamini and Heller,
  2008). It does not hold if as many columns as refute it are shown to be otherwise. For over columns that are equal, a
  few of many resamples win most of them, whatever some far apart are.
- The claim does not hold if it is false of our means and one of its parts is contradicted in at least 97.5 % of the
  resamples. A part is a pair, a step or a column of the comparison. If resamples contradict m parts, the share must be
  at least 1 - 2.5 % / m (Bonferroni). It must be the same part each time: if many rows are equally good, hardly any
  resample has them in the reported order, so that most resamples contradict some part.
- Else the claim is open: other runs may turn it. Then the number of runs is sought that would decide it if means
  and deviations stayed as they are.

Each claim is decided by itself, without a correction over several claims. A budget looks twice at its claims: at a
level of 1 % if their students have two runs, and of 3 % if they have more. Both looks together keep 5 %, also as the
first one decides about further runs.

Runs that are fine-tunings of one distillation tell nothing of another one. A claim is about methods, unless it says
`about: students`. Then each resample also has what the distillation of each student may have been worth, with a
deviation that is assumed (`specs/rows.py`). If no number of fine-tunings decides a claim, the number of distillations
is sought.

A score without a deviation (one run), or with a deviation of zero, gets the one that its table assumes, as in verdicts.
For a time, a speed-up or a change in % nothing is assumed: if it has no deviation, its claim is open. Values that
do not pair are drawn independently, even if several depend on the same time. Sizes, counts and settings are exact: they
are not drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from retort.judgement.cells import CellValues, Flags, Parts, SeedScores, Values, Verdict
from retort.judgement.judge import Coverage, Key, Kind, Side, compare, coverage_of, decide_statement, sides_of
from retort.specs.paper import Statement
from retort.specs.rows import (
    ASSUMED_FREEDOM,
    DISTILLATION_FREEDOM,
    TASK_CORRELATION,
    AssumedSpread,
    assumed_spread,
)
from retort.study.distillations import distillations_of
from retort.study.study import Study

SEED = 2023  # of the resamples
RESAMPLES = 4000
# Resampling stops after the first FIRST if no share in them reaches OPEN, well below 97.5 %: of a claim about most
# columns, a single resample counts several times.
FIRST, OPEN = 400, 0.9
LEVEL = 0.05  # two-sided
FIRST_RUNS = 2  # of each student, at which a budget looks first
LOOKS = (0.01, 0.03)  # levels of the first look and of the last; statistics.md simulates both together
TRIED = (8, 16, 32, 64, 128, 256)  # runs of each student
DISTILLED = (2, 3, 4, 6, 8, 12, 16, 32)  # distillations of each student
MEASURED = ("ms", "times", "%")  # units of numbers that depend on luck, and for which no deviation is assumed
Assumed = Callable[[Key], AssumedSpread]  # a cell -> what its table assumes of the spread of its runs


@dataclass(frozen=True)
class Outcome:
    """What the numbers of a side say of a claim.

    Args:
        kind: the outcome.
        points_to: whether the means, by themselves, say that the claim is true; None if they do not tell.
        runs: for an open claim with all its numbers, the runs of each student that would decide it; 0 if more than
            `TRIED`; None if the deviation of a number is not known.
        known: for a claim that is open because cells have no number, how many have one.
        removed: the share of the variance that pairs of runs with the same seeds remove; None without such pairs.
        distillations: for a claim that no number of fine-tunings decides, the distillations of each student that would;
            0 if more than `DISTILLED`; None for any other claim.
    """

    kind: Kind
    points_to: bool | None = None
    runs: int | None = None
    known: Coverage | None = None
    removed: float | None = None
    distillations: int | None = None


def seed_scores(by_seed: Iterable[SeedScores]) -> Values:
    """Return the scores of cells as [cells, seeds]; NaN where a cell has no run with a seed."""
    import pandas as pd

    return pd.DataFrame([dict(scores) for scores in by_seed]).sort_index(axis=1).to_numpy(float)


@dataclass(frozen=True)
class AsIf:
    """A number of runs for which resamples are made, in the place of the runs that there are.

    Args:
        runs: of each student, or fine-tunings of each distillation; fewer than there are change nothing.
        distillations: of each student that has one; other students then have as many runs.
    """

    runs: int = 0
    distillations: int = 1


def resampled_means(
    cells: CellValues, assumed: Assumed, as_if: AsIf, count: int, generator: np.random.Generator
) -> Values:
    """Return [cells, count]: resamples of the mean of each cell; a mean without an error is repeated.

    A cell without a deviation has no error, unless it is a score: its table assumes one.

    Args:
        cells: cells with a number.
        assumed: what is assumed of the spread of a score's runs.
        as_if: the runs for which resamples are made.
        count: the number of resamples.
        generator: what resamples.
    """
    spreads = [assumed(tuple(key)) for key in cells.keys]
    once, n = np.array([bool(spread.student) for spread in spreads], bool), cells.facts("n")
    many = np.maximum(n, as_if.runs)
    if as_if.distillations > 1:
        many = np.where(once, as_if.distillations * many, np.maximum(n, as_if.distillations))
    resampled = _resampled_over_runs(cells, spreads, many, count, generator)
    luck = _drawn_distillations(cells, spreads, count, generator)
    resampled += luck / np.sqrt(as_if.distillations)
    return resampled


def _drawn_distillations(
    cells: CellValues, spreads: Sequence[AssumedSpread], count: int, generator: np.random.Generator
) -> Values:
    """Return [cells, count]: resamples of what the one distillation of each cell's student is worth; 0 for other cells.

    It is the sum of a part that all columns of the student share and of a part of its own in each, so that two columns
    are correlated by TASK_CORRELATION. A number that is no score has none.
    """
    found, luck = np.zeros((len(cells), count)), dict[tuple[str, ...], Values]()
    at = [place for place, spread in enumerate(spreads) if spread.student and cells.facts("unit")[place] == "x100"]
    if not at:
        return found
    # d = s sqrt(f / C) (sqrt(r) Z_student + sqrt(1 - r) Z_column), with s and f assumed, C ~ chi2(f) and Z ~ N(0, 1)
    scale = np.sqrt(DISTILLATION_FREEDOM / generator.chisquare(DISTILLATION_FREEDOM, count))
    for place in at:
        student, std = spreads[place].student, spreads[place].distillation_std
        for key in ((student,), (student, cells.columns[place])):
            luck.setdefault(key, generator.standard_normal(count))
        shared, own = luck[student,], luck[student, cells.columns[place]]
        found[place] = std * scale * (np.sqrt(TASK_CORRELATION) * shared + np.sqrt(1 - TASK_CORRELATION) * own)
    return found


def _resampled_over_runs(
    cells: CellValues, spreads: Sequence[AssumedSpread], many: Values, count: int, generator: np.random.Generator
) -> Values:
    """Return [cells, count]: resamples of the mean over the runs of each cell; 0 for those of an assumed deviation."""
    resampled = np.repeat(cells.values[:, :1], count, axis=1)
    n, std, by_seed = cells.facts("n"), cells.facts("std"), cells.facts("by_seed")
    pairs = (std > 0) & np.array([len(scores) > 1 for scores in by_seed], bool)
    measured, planned, many = (std > 0) & (n > 1), many > np.maximum(n, 1), np.maximum(many, 1)
    apart = np.flatnonzero(~pairs & (measured | (cells.facts("unit") == "x100")))
    spread = np.array([std[at] if measured[at] else spreads[at].std for at in apart.tolist()])
    freedom = np.where(measured | planned, many - 1, ASSUMED_FREEDOM)[apart]
    error = spread / np.sqrt(many[apart])
    resampled[apart] += error[:, None] * generator.standard_t(freedom[:, None], (len(apart), count))
    together: dict[tuple[int, ...], list[int]] = {}
    for at in np.flatnonzero(pairs).tolist():
        together.setdefault(tuple(seed for seed, _ in by_seed[at]), []).append(at)
    for seeds, group in together.items():
        k, most = len(seeds), max(len(seeds), int(many[group].max()))
        scores = np.array([[score for _, score in by_seed[at]] for at in group])  # [cells, seeds]
        # x = means + Z (scores - means) / sqrt((k - 1) n) / sqrt(C / (n - 1)), with Z ~ N(0, 1) for each of k seeds and
        # C ~ chi2(n - 1): multivariate t with the sample covariance / n.
        normal = generator.standard_normal((count, k)) / np.sqrt((k - 1) * most)
        scale = np.sqrt(generator.chisquare(most - 1, count) / (most - 1))
        resampled[group] += (scores - scores.mean(axis=1, keepdims=True)) @ normal.T / scale
    return resampled


def variance_removed(statement: Statement, cells: CellValues) -> float | None:
    """Return the share of the variance of a claim's differences that pairs of runs with the same seeds remove.

    The differences are of each cell and each other cell of its column that it is compared with. None if none pairs.

    Args:
        statement: the claim.
        cells: its cells that have a number, each once.
    """
    own, others = (side.numbered for side in sides_of(statement, cells))
    others = others if statement.than else own
    first, other = np.nonzero(own.columns[:, None] == others.columns)
    if not statement.than:
        first, other = first[first < other], other[first < other]
    scores = seed_scores([*own.facts("by_seed"), *others.facts("by_seed")])  # [cells of both sides, seeds]
    one, another = scores[first], scores[len(own) + other]
    same = (np.isnan(one) == np.isnan(another)).all(axis=1) & ((~np.isnan(one)).sum(axis=1) > 1)
    one, another = one[same], another[same]
    apart, paired = (np.nanvar(each, axis=1, ddof=1).sum() for each in (np.vstack([one, another]), one - another))
    return float(1 - paired / apart) if apart else None


@dataclass(frozen=True)
class Shares:
    """Shares of the resamples, from 0 to 1.

    Args:
        supported: those in which the claim holds.
        wrong: part of the claim, or the whole of one without parts -> those that contradict it.
        alone: row, gain or pair of columns -> those in which it fulfils the claim by itself.
        level: the chance of a wrong decision, at most.
    """

    supported: float
    wrong: dict[str, float]
    alone: dict[str, float]
    level: float = LEVEL

    @property
    def largest(self) -> float:
        """The largest of the shares."""
        return max(self.supported, *self.wrong.values(), 0.0)

    @property
    def shows_true(self) -> bool:
        """Whether the claim is true in enough resamples; one about the best of several rows, also by one row alone."""
        return self.supported >= 1 - self.level / 2 and (not self.alone or self._one_stands_out(self.alone))

    @property
    def shows_false(self) -> bool:
        """Whether one part of the claim is contradicted in enough resamples."""
        return self._one_stands_out(self.wrong)

    def _one_stands_out(self, shares: Mapping[str, float]) -> bool:
        """Return whether the largest share reaches 1 - level / 2 / k, for k shares (Bonferroni)."""
        return max(shares.values(), default=0.0) >= 1 - self.level / 2 / max(len(shares), 1)


def in_at_least(columns: Sequence[Flags], least: int) -> float:
    """Return 1 - p, where p is the p-value of "fewer than `least` of the columns are so" (Benjamini and Heller, 2008).

    The p-value of a column is the share of resamples in which its best candidate is not so, times the candidates.

    Args:
        columns: [candidates, resamples] of each: whether the candidate is so; no candidate in a column without a
            number.
        least: the number of columns.
    """
    chances = sorted(len(flags) * (1 - flags.mean(axis=1).max()) if len(flags) else 1.0 for flags in columns)
    return max(0.0, 1 - (len(columns) - least + 1) * float(chances[least - 1]))


def shares_in(verdict: Verdict, level: float = LEVEL) -> Shares:
    """Return the shares of the resamples of a verdict."""
    if verdict.ballots:
        holds = min(in_at_least(one.good, len(one.good) // 2 + 1) for one in verdict.ballots)
        lost = {one.name: in_at_least(one.bad, (len(one.bad) + 1) // 2) for one in verdict.ballots}
        return Shares(holds, {name: share for name, share in lost.items() if share}, {}, level)
    fails = ~verdict.true & ~verdict.open
    whole = Parts(["the claim"], (fails & ~verdict.wrong.flags.any(axis=0))[None])
    wrong = {**_by_name(verdict.wrong), **_by_name(whole)}
    return Shares(float((verdict.true & ~verdict.open).mean()), wrong, _by_name(verdict.alone), level)


def _by_name(parts: Parts) -> dict[str, float]:
    """Return the shares of parts that are meant in any resample; parts of one name are one."""
    meant: dict[str, Flags] = {}
    for name, flags in zip(parts.names, parts.flags, strict=True):
        meant[name] = meant[name] | flags if name in meant else flags
    return {name: float(flags.mean()) for name, flags in meant.items() if flags.any()}


def shares_of(
    statement: Statement,
    side: Side,
    assumed: Assumed,
    as_if: AsIf = AsIf(),
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Shares:
    """Judge a claim on all resamples and return the shares, as if each student had so many runs.

    A claim about these students, and not about their methods, leaves the luck of their distillations out.
    """
    if statement.about == "students":
        assumed = _of_these_students(assumed)
    cells, generator = side.cells_of(statement), np.random.default_rng(SEED)
    known, resampled = cells.known, np.repeat(cells.values, resamples, axis=1)  # [cells, resamples]
    start, shares = 0, Shares(0.0, {}, {})
    for end in sorted({FIRST, resamples}):
        resampled[known, start:end] = resampled_means(cells.numbered, assumed, as_if, end - start, generator)
        start, shares = end, shares_in(compare(statement, side.rule, replace(cells, values=resampled[:, :end])), level)
        if shares.largest < OPEN:
            break
    return shares


def _of_these_students(assumed: Assumed) -> Assumed:
    """Return what is assumed of the spread of runs, without that of distillations."""
    return lambda cell: replace(assumed(cell), student="")


def claim_outcome(statement: Statement, side: Side, assumed: Assumed, level: float = LEVEL) -> Outcome:
    """Return what the numbers of a side say of a claim, and how many runs would decide it.

    Args:
        statement: the claim.
        side: the numbers.
        assumed: what is assumed of the spread of a score's runs.
        level: the chance of a wrong decision, at most.
    """
    verdict = decide_statement(statement, side)
    if isinstance(verdict, str):
        return Outcome(Kind.NOT_TESTED)
    if verdict.supported is None:
        kind = Kind.NOT_TESTED if verdict.points_to is None else Kind.INCONCLUSIVE
        return Outcome(kind, verdict.points_to, known=coverage_of(statement, side, verdict.diverged))
    cells = side.cells_of(statement)
    if (np.isin(cells.numbered.facts("unit"), MEASURED) & np.isnan(cells.numbered.facts("std"))).any():
        return Outcome(Kind.INCONCLUSIVE, verdict.supported)
    removed = variance_removed(statement, cells)

    def decided(as_if: AsIf = AsIf()) -> bool:
        shares = shares_of(statement, side, assumed, as_if, level)
        return shares.shows_true if verdict.supported else shares.shows_false

    if decided():
        return Outcome(Kind.SUPPORTED if verdict.supported else Kind.NOT_SUPPORTED, verdict.supported, removed=removed)
    runs = next((runs for runs in TRIED if decided(AsIf(runs))), 0)
    once = not runs and statement.about == "method" and any(assumed(tuple(key)).student for key in cells.numbered.keys)
    more = next((many for many in DISTILLED if decided(AsIf(distillations=many))), 0) if once else None
    return Outcome(Kind.INCONCLUSIVE, verdict.supported, runs, removed=removed, distillations=more)


def assumed_by(study: Study, paper: str, distillations: int | None = None) -> Assumed:
    """Return a function from a cell of a paper to what is assumed of the spread of its runs.

    Args:
        study: the study.
        paper: the paper.
        distillations: of each student of a recorded run; None: as many as the study has.
    """

    @functools.cache
    def students(table: str) -> dict[tuple[str, str], str]:
        return {(cell.row, cell.column): cell.student for cell in study.exhibits[paper, table].cells()}

    @functools.cache
    def assumed(cell: Key) -> AssumedSpread:
        table, row, column = cell
        student = students(table).get((row, column), "")
        several = len(distillations_of(study, student))
        shared = student if several and (distillations or several) == 1 else ""
        return assumed_spread([*study.exhibits[paper, table].judging(column), study.papers[paper]], shared)

    return assumed


def level_of_look(statement: Statement, side: Side) -> float:
    """Return the level of the look at which a claim is: the first, or the last if it has more runs."""
    runs = side.cells_of(statement).numbered.facts("n")
    return LOOKS[int(runs.max(initial=0) > FIRST_RUNS)]
