"""Judge a claim on reported numbers, ours or recorded ones: the outcome, how sure it is, and the cells behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

from retort.formatters import number
from retort.judgement.cells import CellValues, Pairs, Verdict
from retort.judgement.certainty import LEVEL, Assumed, Outcome, claim_outcome
from retort.judgement.difference import VariancePart, welch_difference
from retort.judgement.judge import DEV, Kind, Side, coverage_of, decide_statement, within_rounding
from retort.judgement.verdicts import NEEDS_DISTILLATIONS
from retort.specs.paper import Statement

WITHIN = "within the spread"
ON_DEV = "on dev"
NOT_BY_MANY = "not even 256 runs of each student would decide it"
FEWEST, FAR, FAR_TIMES = 3, 5.0, 5.0  # runs; points from the median, and times the median distance of the others
POINTS = {True: "the means point to yes", False: "the means point to no", None: ""}
COMPUTED = ("M", "h", "rows", "steps", "layers", "units")  # units of numbers that follow from settings
CHARITABLE = (Kind.SUPPORTED, Kind.TIED)  # of two verdicts on the reported numbers, the first of these counts


@dataclass(frozen=True)
class Judgement:
    """The judgement of a claim on one side: the reported numbers, this run, or a recorded run.

    Args:
        verdict: the outcome.
        remark: how sure it is.
        numbers: the deciding numbers as text.
        computed: whether it needs no run: all its numbers follow from settings.
        conditions: for smaller models: at which length and on which teacher.
        further: for a recorded run: sentences on another length, and the known cause.
        points_to: whether the means of our runs, by themselves, say that the claim is true; None if they do not tell.
    """

    verdict: Kind
    remark: str = ""
    numbers: str = ""
    computed: bool = False
    conditions: str = ""
    further: tuple[str, ...] = ()
    points_to: bool | None = None


def _spread(pair: Pairs | None) -> str:
    """Return WITHIN if the interval of the difference of the two deciding cells holds zero, else an empty string.

    Only the deviations of these two cells count, so that a remark on reported numbers never rests on our runs. The
    remark is also empty if the cells are in different columns, or if one has no deviation over two runs or more.
    """
    if pair is None or pair.own.columns[0] != pair.other.columns[0]:
        return ""
    spreads = [(cell.facts("std")[0], cell.facts("n")[0]) for cell in (pair.own, pair.other)]
    parts = [VariancePart(std**2 / n, n - 1) for std, n in spreads if n > 1 and std >= 0]
    if len(parts) < len(spreads) or not any(part.variance for part in parts):
        return ""
    low, high = welch_difference(pair.gap[0, 0], parts).interval()
    return WITHIN if low <= 0 <= high else ""


def judge_means(statement: Statement, side: Side) -> Judgement:
    """Judge a claim on reported means; if these cannot decide it, the reason stands in place of the numbers."""
    verdict = decide_statement(statement, side)
    if isinstance(verdict, str):
        return Judgement(Kind.NOT_REPORTED, "", verdict)
    if verdict.supported is None:
        kind = Kind.NOT_REPORTED if verdict.points_to is None else Kind.INCONCLUSIVE
        remarks = [POINTS[verdict.points_to], str(coverage_of(statement, side, verdict.diverged))]
    else:
        tied = not verdict.supported and within_rounding(statement, side)
        kind = Kind.TIED if tied else Kind.SUPPORTED if verdict.supported else Kind.NOT_SUPPORTED
        remarks = [_spread(verdict.pair)]
    return Judgement(kind, ", ".join(filter(None, remarks)), _numbers(statement, verdict))


def judge_runs(
    statement: Statement, side: Side, assumed: Assumed, conditions: str = "", level: float = LEVEL
) -> Judgement:
    """Judge a claim on numbers of ours, with certainty; which way the means point is a remark.

    Args:
        statement: the claim.
        side: the numbers.
        assumed: what is assumed of the spread of a score's runs.
        conditions: for smaller models: at which length and on which teacher.
        level: the level at which the claim is decided.
    """
    verdict, found = decide_statement(statement, side), claim_outcome(statement, side, assumed, level)
    if isinstance(verdict, str):
        return Judgement(Kind.NOT_TESTED, "", verdict, conditions=conditions)
    numbered = side.cells_of(statement).numbered
    units, on_dev = {*numbered.facts("unit")}, ON_DEV if DEV in numbered.facts("split") else ""
    removed = round(100 * (found.removed or 0.0))
    how = "removes" if removed > 0 else "adds"
    paired = f"pairing by seed {how} {abs(removed)} % of the variance of the difference" if removed else ""
    remarks = [
        *(_left_open(found) if found.kind is Kind.INCONCLUSIVE else ()),
        paired,
        on_dev,
        far_runs(numbered, verdict.pair),
    ]
    said = ("; ".join(filter(None, remarks)), _numbers(statement, verdict))
    if units and units <= {*COMPUTED} and not on_dev:
        return Judgement(found.kind, *said, computed=True, points_to=found.points_to)
    return Judgement(found.kind, *said, conditions=conditions, points_to=found.points_to)


def far_runs(cells: CellValues, pair: Pairs | None) -> str:
    """Return which rows have a run far from their others, with the signs by seed of a claim on two cells, as text.

    A training that collapses in one run of ten makes its row fall below an equal one in half of all claims.
    """
    rows = []
    for row, by_seed in zip(cells.rows, cells.facts("by_seed"), strict=True):
        scores = sorted(score for _, score in by_seed)
        apart = sorted(abs(score - median(scores)) for score in scores)
        if len(apart) >= FEWEST and apart[-1] > FAR and apart[-1] > FAR_TIMES * median(apart[:-1]):
            rows.append(row)
    if not rows:
        return ""
    signs = ""
    if pair is not None:
        first, other = (dict(side.facts("by_seed")[0]) for side in (pair.own, pair.other))
        each = ["+" if first[seed] > other[seed] else "-" for seed in sorted(first.keys() & other.keys())]
        signs = f"; signs by seed: {' '.join(each)}" if each else ""
    return f"a run of {', '.join(dict.fromkeys(rows))} is far from the others{signs}"


def _left_open(one: Outcome) -> tuple[str, str]:
    """Return which way the means of an inconclusive claim point, and on what, or how many runs would decide it."""
    if one.known:
        return POINTS[one.points_to], f"on {one.known}"
    if one.runs is None:
        return POINTS[one.points_to], "the deviation of one of its numbers is not known"
    if one.distillations is not None:
        enough = f": {one.distillations} of each student would decide it" if one.distillations else ""
        return POINTS[one.points_to], f"{NEEDS_DISTILLATIONS}{enough}"
    return POINTS[one.points_to], f"{one.runs} runs of each student would decide it" if one.runs else NOT_BY_MANY


def _numbers(statement: Statement, verdict: Verdict) -> str:
    """Return the deciding cells as text, with the computed result, the number in the text, and the missing cells."""
    result = f": {verdict.result}" if verdict.result else ""
    if verdict.pair and not result:
        difference = number(verdict.pair.gap[0, 0], 1)
        several = "; " in verdict.numbers
        result = f"; at worst {difference}" if several else f": difference {difference}"
    stated = f"; the text says {statement.number}" if statement.number else ""
    missing = f"; {verdict.missing}" if verdict.missing else ""
    return f"{verdict.numbers}{result}{stated}{missing}"


def judge_reported(statement: Statement, side: Side, with_recomputed: Side) -> Judgement:
    """Judge a claim on the reported numbers; if recomputed averages turn the verdict, show both, the charitable first.

    Args:
        statement: the claim.
        side: the numbers as reported.
        with_recomputed: the same, with each average computed from the numbers of its row.
    """
    reported, again = judge_means(statement, side), judge_means(statement, with_recomputed)
    if again.verdict == reported.verdict:
        return reported
    found, remark = reported, f"{again.verdict} on averages of the reported columns"
    if next((kind for kind in CHARITABLE if kind in (reported.verdict, again.verdict)), None) is again.verdict:
        found, remark = again, f"on averages of the reported columns, {reported.verdict} as reported"
    return replace(
        found,
        remark=", ".join(filter(None, [reported.remark, remark])),
        numbers=f"{reported.numbers}. Averages of the reported columns: {again.numbers}",
    )
