"""The difference of two means: its standard error and interval, the tests for zero and equivalence, and paired tests.

Every number of `MeanDifference` may be an array, so that a simulation computes many differences at once.

Two rows are compared by paired tests over tasks and seeds. The tests differ in what they take as the sample, that is,
what would be drawn anew if the experiment were repeated:

- `tasks-fixed`: the seeds, on these same tasks. Each task has a spread of its own over seeds.
- `tasks-random`: the tasks, from all tasks of their sort. Each task gives one number, the mean over its seeds.
- `pairs`: the pairs of a task and a seed, as if all were independent. Papers often test like this. It is too cautious
  for fixed tasks and much too bold for random ones, so it is shown only next to reported tests.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retort.specs.rows import DISTILLATION_FREEDOM, TASK_CORRELATION
from retort.study.reasons import Status

Numbers = Any  # a float or an array of floats
LEVEL = 0.05  # significance level of all tests; intervals have a confidence of 1 - LEVEL


@dataclass(frozen=True)
class VariancePart:
    """One independent part of the variance of a difference.

    Args:
        variance: variance of the mean, not of a single run.
        freedom: degrees of freedom of its estimate.
    """

    variance: Numbers
    freedom: Numbers


@dataclass(frozen=True)
class MeanDifference:
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


def welch_difference(value: Numbers, parts: Iterable[VariancePart]) -> MeanDifference:
    """Return a difference whose variance is the sum of independent parts, with Welch's degrees of freedom.

    Args:
        value: the difference.
        parts: the parts of its variance.
    """
    import numpy as np

    # Welch and Satterthwaite: f = (sum_i v_i)^2 / sum_i (v_i^2 / f_i).
    parts = list(parts)
    variance = sum(part.variance for part in parts)
    unknown = sum(part.variance**2 / part.freedom for part in parts)
    freedom = variance**2 / unknown if unknown > 0 else float("inf")
    return MeanDifference(value, np.sqrt(variance), freedom)


def power_of_equivalence(error: Numbers, freedom: Numbers, margin: float) -> Numbers:
    """Return the power of TOST for equal means, from the standard error of their difference."""
    # TOST succeeds if |value| <= margin - t error, with t the 95 % quantile; value / error has Student's distribution.
    least = margin / error - _t().ppf(1 - LEVEL, freedom)
    return (2 * _t().cdf(least, freedom) - 1).clip(0)


def holm_corrected(p: Numbers) -> Numbers:
    """Return p-values corrected for multiple tests by Holm's step-down procedure, over the last axis of an array.

    A test without a p-value (NaN) is no member of the family, and has no corrected one.
    """
    import numpy as np

    # Holm (1979): with p_(1) <= ... <= p_(m), the corrected p_(i) is max over j <= i of min(1, (m - j + 1) p_(j)).
    p = np.asarray(p, dtype=float)
    order = p.argsort(axis=-1)  # NaN stands last
    steps = np.isfinite(p).sum(axis=-1, keepdims=True) - np.arange(p.shape[-1])
    raised = np.maximum.accumulate(np.minimum(1.0, steps * np.take_along_axis(p, order, axis=-1)), axis=-1)
    corrected = np.empty_like(p)
    np.put_along_axis(corrected, order, raised, axis=-1)
    return corrected


# --- paired tests

Group = tuple[str, str]  # variant, task
Differences = Mapping[Group, list[float]]  # the differences of one pair of rows on each task, one per seed
EQUAL = 1e-9  # scores times 100 that differ by less are equal: the rest is rounding of floating point


ALL_EQUAL = "all differences are equal"  # so that there is no p-value


@dataclass(frozen=True)
class Comparison:
    """The result of a test whether a mean difference is zero.

    Args:
        mean: mean difference; None if the sample is empty.
        std: sample standard deviation of the differences; None if the test uses one for each task.
        n: size of the sample: number of pairs, or of tasks.
        status: OK or MISSING.
        reason: why it is missing.
        difference: the mean with its error; None if the test cannot be computed.
    """

    mean: float | None
    std: float | None
    n: int
    status: Status = Status.OK
    reason: str = ""
    difference: MeanDifference | None = None

    @property
    def p(self) -> float | None:
        """The two-sided p-value; None if the test cannot be computed."""
        return float(self.difference.p()) if self.difference else None


def mean_is_zero(groups: Sequence[list[float]], few: str = "", luck: float = 0.0) -> Comparison:
    """Test whether the mean of some groups' means is zero: of one group, Student's t-test; of several, Welch's.

    Args:
        groups: the differences of each group, which has a variance of its own.
        few: the reason for no result if a group has fewer than two.
        luck: the variance of the mean that all differences share: of the two distillations behind them.
    """
    # With k groups of n_g: t = mean_g(d_g) / sqrt(sum_g s_g^2 / n_g) k, degrees of freedom by Satterthwaite.
    values = [value for group in groups for value in group]
    mean = statistics.fmean(map(statistics.fmean, groups)) if values else None
    std = math.sqrt(variance(values)) if len(groups) == 1 and len(values) > 1 else None
    tested = Comparison(mean, std, len(values))
    if mean is None or min(map(len, groups)) < 2:
        return replace(tested, status=Status.MISSING, reason=few)
    if all(max(group) - min(group) < EQUAL for group in groups):
        return replace(tested, status=Status.MISSING, reason=ALL_EQUAL)
    parts = [VariancePart(variance(group) / len(group) / len(groups) ** 2, len(group) - 1) for group in groups]
    parts += [VariancePart(luck, DISTILLATION_FREEDOM)] if luck else []
    return replace(tested, difference=welch_difference(mean, parts))


def variance(values: Sequence[float]) -> float:
    """Return the sample variance of floats; `statistics.variance` computes with fractions, many times as long."""
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def paired_test(differences: Differences, luck: float = 0.0) -> Comparison:
    """Return the paired t-test over all pairs of a task and a seed; as in papers, luck that they share is left out."""
    return mean_is_zero([[value for values in differences.values() for value in values]], "fewer than two pairs")


def tasks_fixed(differences: Differences, luck: float = 0.0) -> Comparison:
    """Test whether the mean over these tasks is zero; each task has its own variance over seeds.

    Args:
        differences: the differences on each task.
        luck: the variance on one task of the two distillations behind them, if there is one of each row.
    """
    shared = TASK_CORRELATION + (1 - TASK_CORRELATION) / max(len(differences), 1)
    return mean_is_zero(list(differences.values()), "fewer than two seeds on a task", luck * shared)


def tasks_random(differences: Differences, luck: float = 0.0) -> Comparison:
    """Return the t-test over the mean differences of tasks; they show what of the luck the tasks do not share."""
    means = [statistics.fmean(values) for values in differences.values()]
    return mean_is_zero([means], "fewer than two tasks", luck * TASK_CORRELATION)


@dataclass(frozen=True)
class PairedTest:
    """A paired test, named after its sample.

    Args:
        title: the sample, in a few words.
        explanation: what the test answers, in a sentence.
        run: the test, of the differences and the luck of distillations.
        metric: the `metric` of its p-values in a frame.
    """

    title: str
    explanation: str
    run: Callable[[Differences, float], Comparison]
    metric: str

    @property
    def metric_holm(self) -> str:
        """The `metric` of its corrected p-values in a frame."""
        return f"{self.metric}-holm"


OF_SEEDS = "Fixed tasks: would other seeds give the same sign of the mean over these tasks?"
OF_TASKS = "Random tasks: would other tasks of this sort? Each task counts once, by its mean over seeds."
OF_PAIRS = (
    "Pairs: every task and seed is an independent sample, as in the reported tests; too bold if tasks are random."
)
FIXED = PairedTest("fixed tasks", OF_SEEDS, tasks_fixed, "p-tasks-fixed")
DRAWN = PairedTest("random tasks", OF_TASKS, tasks_random, "p-tasks-random")
PAIRS = PairedTest("pairs", OF_PAIRS, paired_test, "p")
TESTS = (FIXED, DRAWN, PAIRS)
