"""Compare two rows by paired tests over tasks and seeds, and correct p-values for several tests.

The tests differ in what they take as the sample, that is, what would be drawn anew if the experiment were repeated:

- `tasks-fixed`: the seeds, on these same tasks. Each task has a spread of its own over seeds.
- `tasks-drawn`: the tasks, from all tasks of their sort. Each task gives one number, the mean over its seeds. If runs
  are missing, a mixed model weights these numbers (`tables/mixed.py`).
- `pairs`: the pairs of a task and a seed, as if all were independent. Papers often test like this. It is too cautious
  for fixed tasks and much too bold for drawn ones, so it is shown only beside published tests.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retort.tables.collect import summary
from retort.tables.difference import Difference, Part, welch
from retort.tables.mixed import mean_and_variance
from retort.tables.tidy import Status

Group = tuple[str, str]  # variant, task
Differences = Mapping[Group, list[float]]  # the differences of one pair of rows on each task, one per seed
EQUAL = 1e-9  # scores times 100 that differ by less are equal: the rest is rounding of floating point


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
    """The result of a paired test of two rows; t and p are None if the test cannot be computed.

    Args:
        mean: mean difference; None if the sample is empty.
        std: sample standard deviation of the differences; None if the test uses one for each task.
        n: size of the sample: number of pairs, or of tasks.
        p: two-sided p-value.
        status: OK, NO_VARIANCE (all differences are equal) or MISSING.
        reason: why it is missing.
        t: the t statistic.
        freedom: its degrees of freedom.
    """

    mean: float | None
    std: float | None
    n: int
    p: float | None
    status: Status
    reason: str = ""
    t: float | None = None
    freedom: float = 0.0


def _one_sample(values: list[float], noun: str) -> Comparison:
    """Return Student's one-sample t-test of the hypothesis that the mean is zero.

    Args:
        values: the sample.
        noun: what the values stand for, in the plural, such as 'tasks'.
    """
    moments = summary(values)
    if len(values) < 2:
        return Comparison(**moments, p=None, status=Status.MISSING, reason=f"fewer than two {noun}")
    if max(values) - min(values) < EQUAL:
        return Comparison(**moments, p=None, status=Status.NO_VARIANCE)
    return _comparison(moments["std"], len(values), welch(moments["mean"], [_part(values)]))


def _part(values: list[float]) -> Part:
    return Part(statistics.variance(values) / len(values), len(values) - 1)


def _comparison(std: float | None, n: int, difference: Difference) -> Comparison:
    return Comparison(
        float(difference.value), std, n, float(difference.p()), Status.OK, t=float(difference.value / difference.error),
        freedom=float(difference.freedom),
    )  # fmt: skip


def pairs(differences: Differences) -> Comparison:
    """Return the paired t-test over all pairs of a task and a seed."""
    # d_i = a_i - b_i; t = mean(d) / (s_d / sqrt(n)) with n - 1 degrees of freedom.
    return _one_sample([value for values in differences.values() for value in values], "pairs")


def tasks_fixed(differences: Differences) -> Comparison:
    """Test whether the mean over these tasks is zero; each task has its own variance over seeds."""
    # With k tasks of n_t seeds: t = mean_t(d_t) / sqrt(sum_t s_t^2 / n_t) k, degrees of freedom by Satterthwaite.
    tasks = list(differences.values())
    mean = statistics.mean(map(statistics.mean, tasks)) if tasks else None
    size = sum(map(len, tasks))
    if not tasks or min(map(len, tasks)) < 2:
        return Comparison(mean, None, size, None, Status.MISSING, "fewer than two seeds on a task")
    if all(max(values) - min(values) < EQUAL for values in tasks):
        return Comparison(mean, None, size, None, Status.NO_VARIANCE)
    shares = [Part(_part(values).variance / len(tasks) ** 2, _part(values).freedom) for values in tasks]
    return _comparison(None, size, welch(mean, shares))


def tasks_drawn(differences: Differences) -> Comparison:
    """Return the t-test over the mean differences of tasks; if runs are missing, a mixed model weights the tasks."""
    tasks = list(differences.values())
    means = _one_sample([statistics.mean(values) for values in tasks], "tasks")
    if means.status is not Status.OK or len({len(values) for values in tasks}) == 1:
        return means  # the mixed model gives the same: all weights are equal
    mean, variance = mean_and_variance(tasks)
    return _comparison(None, len(tasks), welch(mean, [Part(variance, len(tasks) - 1)]))


@dataclass(frozen=True)
class PairedTest:
    """A paired test, named after its sample.

    Args:
        title: the sample, in a few words.
        explanation: what the test answers, in a sentence.
        run: the test.
        metric: the `metric` of its p-values in the tidy CSV.
    """

    title: str
    explanation: str
    run: Callable[[Differences], Comparison]
    metric: str

    @property
    def metric_holm(self) -> str:
        """The `metric` of its corrected p-values in the tidy CSV."""
        return f"{self.metric}-holm"


FIXED = PairedTest(
    "tasks fixed",
    "Tasks fixed: would other seeds give the same sign of the mean over these tasks?",
    tasks_fixed,
    "p-tasks-fixed",
)
DRAWN = PairedTest(
    "tasks drawn",
    "Tasks drawn: would other tasks of this sort? Each task counts once, by its mean over seeds; where runs are left "
    "out, a task with fewer seeds counts less (mixed model).",
    tasks_drawn,
    "p-tasks-drawn",
)
PAIRS = PairedTest(
    "pairs",
    "Pairs: every task and seed counts as an independent draw, as in the published tests; too bold if tasks are drawn.",
    pairs,
    "p",
)
TESTS = (FIXED, DRAWN, PAIRS)
