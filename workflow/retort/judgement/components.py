"""Components of the spread of a student's scores: how far its distillations differ, and how far its fine-tunings do.

All arrays of scores are [students, distillations, fine-tunings], in points; the fine-tunings of all distillations have
the same seeds.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from retort.judgement.difference import LEVEL, paired_test

Scores = Any  # a NumPy array


@dataclass(frozen=True)
class Components:
    """The deviations of a random-effects model: score = student + distillation + seed of the fine-tuning + the rest.

    Args:
        distillations: the standard deviation between distillations of a student, in points.
        finetunings: that between fine-tunings of one distillation, in points.
        low: the lower end of the 95 % interval of `distillations`.
        high: its upper end.
        p: of the F test that distillations do not differ.
        freedom: the degrees of freedom of the mean squares of distillations and of the rest.
    """

    distillations: float
    finetunings: float
    low: float
    high: float
    p: float
    freedom: tuple[int, int]

    @property
    def ratio(self) -> tuple[float, float, float]:
        """The ratio of the two deviations, and the ends of its 95 % interval, as far as `finetunings` is known."""
        return tuple(value / self.finetunings for value in (self.distillations, self.low, self.high))  # type: ignore[return-value]


def variance_components(scores: Scores) -> Components:
    """Return the components of the variance, pooled over students, by a two-way analysis of variance of each."""
    from scipy.stats import f

    # With D distillations and F fine-tunings of each of S students:
    # MS_d = F sum (x_sd. - x_s..)^2 / S (D - 1), MS_e = sum (x_sdf - x_sd. - x_s.f + x_s..)^2 / S (D - 1) (F - 1),
    # var_d = (MS_d - MS_e) / F. MS_d / MS_e is (1 + F var_d / var_e) times a variable of Fisher's F distribution.
    students, distillations, finetunings = scores.shape
    of_distillations, of_seeds = scores.mean(axis=2, keepdims=True), scores.mean(axis=1, keepdims=True)
    rest = scores - of_distillations - of_seeds + scores.mean(axis=(1, 2), keepdims=True)
    freedom = students * (distillations - 1), students * (distillations - 1) * (finetunings - 1)
    of_rest = float((rest**2).sum() / freedom[1])
    between = float(finetunings * of_distillations.var(axis=1, ddof=1).mean())
    ends = (between / f.ppf(share, *freedom) for share in (1 - LEVEL / 2, LEVEL / 2))
    found, low, high = (math.sqrt(max(0.0, end - of_rest) / finetunings) for end in (between, *ends))
    within = math.sqrt(scores.var(axis=2, ddof=1).mean())
    return Components(found, within, low, high, float(f.sf(between / of_rest, *freedom)), freedom)


def correlation_of_tasks(first: Scores, second: Scores) -> float:
    """Return the correlation of what a distillation is worth on two tasks; NaN if it is worth nothing on one."""
    means = [scores.mean(axis=2) for scores in (first, second)]
    apart = [each - each.mean(axis=1, keepdims=True) for each in means]
    covariance = (apart[0] * apart[1]).sum() / (apart[0].size - len(apart[0]))
    deviations = variance_components(first).distillations * variance_components(second).distillations
    return float(covariance / deviations) if deviations else math.nan


def correlation_of_students(scores: Scores) -> float:
    """Return the mean correlation, over the seeds of distillations, of the means of two students."""
    import numpy as np

    correlations = np.corrcoef(scores.mean(axis=2))
    return float(correlations[np.triu_indices(len(correlations), 1)].mean())


@dataclass(frozen=True)
class PairShown:
    """What one distillation of each of two students shows of their difference, and what all distillations show.

    Args:
        students: the places of the two.
        shown: the share of the seeds under which one distillation each would show a difference, at 5 %.
        reversed: the share under which it would show the other sign than the mean over all distillations has.
        mean: the mean difference over all distillations, in points.
        p: of the paired t-test over distillations.
    """

    students: tuple[int, int]
    shown: float
    reversed: float
    mean: float
    p: float


def pairs_shown(scores: Scores) -> list[PairShown]:
    """Return what is shown of each pair of students, by paired t-tests over fine-tunings and over distillations."""
    found = []
    for first, second in itertools.combinations(range(len(scores)), 2):
        apart = scores[first] - scores[second]  # [distillations, fine-tunings]
        mean = float(apart.mean())
        tests = [paired_test({("", ""): values}) for values in apart.tolist()]
        shown = [test for test in tests if (test.p or 0.0) < LEVEL]
        wrong = [test for test in shown if (test.mean or 0.0) * mean < 0]
        over = paired_test({("", ""): apart.mean(axis=1).tolist()})
        shares = len(shown) / len(tests), len(wrong) / len(tests)
        found.append(PairShown((first, second), *shares, mean, over.p or 0.0))
    return found
