"""The difference of two means: its standard error, its interval, and the tests that it is zero or that it is small.

Every number may be an array, so that a simulation computes many differences at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Numbers = Any  # a float or an array of floats
LEVEL = 0.05  # of all tests; intervals hold 1 - LEVEL
INFINITE = float("inf")


@dataclass(frozen=True)
class Part:
    """One independent part of the variance of a difference.

    Args:
        variance: of the mean, not of a single run.
        freedom: degrees of freedom of its estimate; infinite for a variance that is known.
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
        """Return both ends of the interval that holds the true difference with a probability of `level`."""
        half = _t().ppf((1 + level) / 2, self.freedom) * self.error
        return self.value - half, self.value + half

    def p(self) -> Numbers:
        """Return the two-sided p-value of the test that the true difference is zero."""
        return 2 * _t().sf(abs(self.value) / self.error, self.freedom)

    def p_equivalence(self, margin: float) -> Numbers:
        """Return the p-value of the test that the true difference is `margin` or more, in either direction.

        It is the larger one of the two one-sided tests (Schuirmann, 1987). It is below 5 % exactly if the 90 % interval
        lies between -margin and margin.
        """
        # the side on which the value lies has the larger p: P(T > (margin - |value|) / error)
        return _t().sf((margin - abs(self.value)) / self.error, self.freedom)


def _t() -> Any:
    from scipy.stats import t

    return t


def welch(value: Numbers, parts: Iterable[Part]) -> Difference:
    """Return a difference whose variance is the sum of some parts, with the degrees of freedom of Welch.

    A variance that is known adds to the error and not to its degrees of freedom. Else an estimate from few runs that is
    small by luck would count as well known, because most of the variance beside it is.
    """
    import numpy as np

    # Welch and Satterthwaite, over the estimated variances: f = (sum_i v_i)^2 / sum_i (v_i^2 / f_i).
    parts = list(parts)
    variance = sum(part.variance for part in parts)
    estimated = sum(part.variance * np.isfinite(part.freedom) for part in parts)
    unknown = sum(part.variance**2 / part.freedom for part in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(unknown > 0, estimated**2 / unknown, INFINITE)[()]  # [()]: of numbers, a number
    return Difference(value, np.sqrt(variance), freedom)


def power_of_equivalence(error: Numbers, freedom: Numbers, margin: float) -> Numbers:
    """Return the probability that equal means are shown to be within a margin, from the error of their difference."""
    # Shown if |value| <= margin - t error, with t the 95 % quantile; the value over its error is taken to be Student's.
    least = margin / error - _t().ppf(1 - LEVEL, freedom)
    return (2 * _t().cdf(least, freedom) - 1).clip(0)
