"""The difference of two means: its standard error, its confidence interval, and the tests for zero and for equivalence.

Every number may be an array, so that a simulation computes many differences at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Numbers = Any  # a float or an array of floats
LEVEL = 0.05  # significance level of all tests; intervals have a confidence of 1 - LEVEL
INFINITE = float("inf")


@dataclass(frozen=True)
class Part:
    """One independent part of the variance of a difference.

    Args:
        variance: variance of the mean, not of a single run.
        freedom: degrees of freedom of its estimate; infinite for a known variance.
    """

    variance: Numbers
    freedom: Numbers


@dataclass(frozen=True)
class Difference:
    """An estimated difference of two means.

    Args:
        value: the difference.
        error: its standard error.
        freedom: the degrees of freedom of the standard error.
    """

    value: Numbers
    error: Numbers
    freedom: Numbers

    def interval(self, level: float = 1 - LEVEL) -> tuple[Numbers, Numbers]:
        """Return the lower and the upper end of the confidence interval at `level`."""
        half = _t().ppf((1 + level) / 2, self.freedom) * self.error
        return self.value - half, self.value + half

    def p(self) -> Numbers:
        """Return the two-sided p-value of the test that the true difference is zero."""
        return 2 * _t().sf(abs(self.value) / self.error, self.freedom)

    def p_equivalence(self, margin: float) -> Numbers:
        """Return the p-value of TOST (Schuirmann, 1987): small if |true difference| < margin is shown.

        It is the larger p-value of two one-sided tests, and below 5 % exactly if the 90 % interval lies between -margin
        and margin.
        """
        # The larger p is that of the side on which the value lies: P(T > (margin - |value|) / error).
        return _t().sf((margin - abs(self.value)) / self.error, self.freedom)


def _t() -> Any:
    from scipy.stats import t

    return t


def welch(value: Numbers, parts: Iterable[Part]) -> Difference:
    """Return a difference whose variance is the sum of independent parts, with Welch's degrees of freedom.

    A known variance adds to the error, but not to its degrees of freedom. Else an estimate from few runs that is small
    by luck would count as well known, because most of the total variance is.

    Args:
        value: the difference.
        parts: the parts of its variance.
    """
    import numpy as np

    # Welch and Satterthwaite, over the estimated variances: f = (sum_i v_i)^2 / sum_i (v_i^2 / f_i).
    parts = list(parts)
    variance = sum(part.variance for part in parts)
    estimated = sum(part.variance * np.isfinite(part.freedom) for part in parts)
    unknown = sum(part.variance**2 / part.freedom for part in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(unknown > 0, estimated**2 / unknown, INFINITE)[()]  # [()]: a scalar if the parts are scalars
    return Difference(value, np.sqrt(variance), freedom)


def power_of_equivalence(error: Numbers, freedom: Numbers, margin: float) -> Numbers:
    """Return the power of TOST for equal means, from the standard error of their difference."""
    # TOST succeeds if |value| <= margin - t error, with t the 95 % quantile; value / error has Student's distribution.
    least = margin / error - _t().ppf(1 - LEVEL, freedom)
    return (2 * _t().cdf(least, freedom) - 1).clip(0)
