"""A mixed model of paired differences: tasks are drawn, and each has a mean difference of its own.

The difference of two rows on task t under seed s is d_ts = m + u_t + e_ts. The random intercept u_t of the task has the
variance b, and the noise e_ts of a run has the variance v. The null hypothesis is m = 0.

With n_t seeds on task t, its mean difference d_t has the variance b + v / n_t. So m is estimated by a weighted mean of
all d_t. Its weights w_t are proportional to 1 / (b + v / n_t) and add up to one. For k tasks, its variance is
sum_t w_t (d_t - m)^2 / (k - 1), with k - 1 degrees of freedom (Hartung, 1999; Knapp and Hartung, 2003). b and v are
estimated only to choose the weights.

If all tasks have equally many seeds, all weights are 1 / k, whatever b and v are. The test is then exactly the t-test
over the task means. It differs only if runs are missing: a task with fewer seeds counts less.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

Tasks = Sequence[Sequence[float]]  # the differences on each task, one per seed


def variances(tasks: Tasks) -> tuple[float, float]:
    """Estimate b, the variance between tasks, and v, that between seeds, by analysis of variance.

    Expected mean squares of a one-way layout (Searle, Casella and McCulloch, 1992): E[within] = v and
    E[between] = v + n_0 b, where n_0 = (N - sum_t n_t^2 / N) / (k - 1) for N differences in all. A negative estimate of
    b becomes zero.

    Args:
        tasks: the differences on two tasks or more; at least one task has two seeds.
    """
    sizes, total = [len(values) for values in tasks], sum(map(len, tasks))
    means = [statistics.mean(values) for values in tasks]
    grand = statistics.mean(value for values in tasks for value in values)
    squares = sum((value - mean) ** 2 for values, mean in zip(tasks, means, strict=True) for value in values)
    within = squares / (total - len(tasks))
    between = sum(n * (mean - grand) ** 2 for n, mean in zip(sizes, means, strict=True)) / (len(tasks) - 1)
    seeds = (total - sum(n**2 for n in sizes) / total) / (len(tasks) - 1)
    return max(0.0, (between - within) / seeds), within


def weights(tasks: Tasks) -> list[float]:
    """Return the weight of each task in the mean difference; they add up to one.

    Args:
        tasks: the differences on two tasks or more; not all differences are equal.
    """
    sizes = [len(values) for values in tasks]
    if len(set(sizes)) == 1:
        return [1 / len(tasks)] * len(tasks)
    between, within = variances(tasks)
    precisions = [1 / (between + within / n) for n in sizes]
    return [precision / sum(precisions) for precision in precisions]


def mean_and_variance(tasks: Tasks) -> tuple[float, float]:
    """Return the weighted mean difference over k tasks, and the variance of this mean (k - 1 degrees of freedom)."""
    means, shares = [statistics.mean(values) for values in tasks], weights(tasks)
    mean = sum(share * value for share, value in zip(shares, means, strict=True))
    squares = sum(share * (value - mean) ** 2 for share, value in zip(shares, means, strict=True))
    return mean, squares / (len(tasks) - 1)
