"""Test whether two numbers agree: verdicts from the spread over seeds, paired t-tests, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from retort.tables.collect import summary
from retort.tables.tidy import Line, Status

RULE = (
    "A cell 'agrees' when ours and the published mean are at most 2 standard errors apart, is 'close' up to 4, and "
    "'differs' beyond; the standard error comes from the standard deviation over seeds, pooled over the whole column."
)
AGREES, CLOSE, DIFFERS = "agrees", "close", "differs"


def pooled(deviations: Iterable[tuple[float | None, int]]) -> float | None:
    """Return the pooled sample standard deviation of (standard deviation, number of runs) pairs.

    None if no pair has a standard deviation over two runs or more.
    """
    # Pooled standard deviation: s_p = sqrt(sum_i (n_i - 1) s_i^2 / sum_i (n_i - 1)).
    known = [(std, n) for std, n in deviations if std is not None and n >= 2]
    freedom = sum(n - 1 for _, n in known)
    return math.sqrt(sum((n - 1) * std**2 for std, n in known) / freedom) if freedom else None


def spread(lines: Iterable[Line]) -> float | None:
    """Return the pooled standard deviation of a column, ours and published; None if no cell has two seeds or more.

    A published standard deviation counts with the number of seeds of our cell.
    """
    return pooled((std, line.n) for line in lines for std in (line.std, line.published_std))


def standard_error(spread_of: float, n: int, other: int) -> float:
    """Return the standard error of the difference of two means over `n` and `other` seeds."""
    # Equal variances assumed: SE = s_p sqrt(1/n + 1/m).
    return spread_of * math.sqrt(1 / n + 1 / other)


def score_verdict(line: Line, column: Iterable[Line]) -> str:
    """Return 'agrees', 'close' or 'differs'; an empty string if a number or any spread is missing.

    A line without a task (an average) has no verdict either. The published mean is taken to be over as many seeds as
    ours.
    """
    spread_of = spread(column)
    if line.mean is None or line.published is None or spread_of is None or not line.task:
        return ""
    error = standard_error(spread_of, line.n, line.n)
    # z = |ours - published| / SE: 'agrees' for z <= 2, 'close' for z <= 4, else 'differs'.
    distance = abs(line.mean - line.published)
    return AGREES if distance <= 2 * error else CLOSE if distance <= 4 * error else DIFFERS


def exact_verdict(line: Line, decimals: int) -> str:
    """Return 'agrees' or 'differs' for numbers of parameters (unit 'M'), which must be equal as printed.

    Empty for any other unit: machines differ, so a time has no verdict.
    """
    if line.unit != "M" or line.mean is None or line.published is None:
        return ""
    digits = min(decimals, len(f"{line.published:.10g}".partition(".")[2]))  # a paper may print fewer than `decimals`
    return AGREES if round(line.mean, digits) == round(line.published, digits) else DIFFERS


def verdicts(lines: list[Line], decimals: int) -> dict[tuple[str, str], str]:
    """Return the verdict of each (row, column) of a table of scores or profiles."""
    columns: dict[str, list[Line]] = {}
    for line in lines:
        columns.setdefault(line.column, []).append(line)
    return {
        (line.row, line.column): score_verdict(line, columns[line.column])
        if line.unit == "x100"
        else exact_verdict(line, decimals)
        for line in lines
    }


def holm(p: list[float]) -> list[float]:
    """Return the p-values corrected for multiple tests by Holm's step-down procedure, in the order given."""
    # Holm (1979): with p_(1) <= ... <= p_(m), the corrected p_(i) is max over j <= i of min(1, (m - j + 1) p_(j)).
    corrected, largest = [0.0] * len(p), 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        corrected[index] = largest
    return corrected


@dataclass(frozen=True)
class Comparison:
    """The result of a paired t-test of two rows; t and p are None if the test cannot be computed.

    Args:
        mean: mean of the pairwise differences; None without pairs.
        std: sample standard deviation of the differences; None below two pairs.
        n: number of pairs.
        p: two-sided p-value.
        status: OK, NO_VARIANCE (all differences are equal) or MISSING.
        reason: why it is missing.
        t: the t statistic, with n - 1 degrees of freedom.
    """

    mean: float | None
    std: float | None
    n: int
    p: float | None
    status: Status
    reason: str = ""
    t: float | None = None


def paired(first: list[float], second: list[float]) -> Comparison:
    """Return the two-sided paired t-test (Student) of two lists of equal length."""
    from scipy.stats import ttest_rel

    # d_i = a_i - b_i; t = mean(d) / (s_d / sqrt(n)) with n - 1 degrees of freedom.
    differences = [a - b for a, b in zip(first, second, strict=True)]
    moments = summary(differences)
    if len(differences) < 2:
        return Comparison(**moments, p=None, status=Status.MISSING, reason="fewer than two pairs")
    if max(differences) - min(differences) < 1e-9:  # scores times 100, equal except for float rounding: s_d = 0
        return Comparison(**moments, p=None, status=Status.NO_VARIANCE)
    tested = ttest_rel(first, second)
    return Comparison(**moments, p=float(tested.pvalue), status=Status.OK, t=float(tested.statistic))
