"""What distillations share, and what one of each student shows: as the guide to the study of luck counts it.

All arrays of scores are [students, distillations, fine-tunings], in points.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from retort.judgement.components import variance_components
from retort.judgement.difference import LEVEL, paired_test


def correlation_of_tasks(first: Any, second: Any) -> float:
    """Return the correlation of what a distillation is worth on two tasks; NaN if it is worth nothing on one."""
    means = [scores.mean(axis=2) for scores in (first, second)]
    apart = [each - each.mean(axis=1, keepdims=True) for each in means]
    covariance = (apart[0] * apart[1]).sum() / (apart[0].size - len(apart[0]))
    deviations = variance_components(first).distillations * variance_components(second).distillations
    return float(covariance / deviations) if deviations else math.nan


def correlation_of_students(scores: Any) -> float:
    """Return the mean correlation, over the seeds of distillations, of the means of two students."""
    correlations = np.corrcoef(scores.mean(axis=2))
    return float(correlations[np.triu_indices(len(correlations), 1)].mean())


class PairShown(NamedTuple):
    """What one distillation of each of two students shows of their difference, and what all distillations show.

    Args:
        shown: the share of the seeds under which one distillation each would show a difference, at 5 %.
        reversed: the share under which it would show the other sign than the mean over all distillations has.
        p: of the paired t-test over distillations.
    """

    shown: float
    reversed: float
    p: float


def pairs_shown(scores: Any) -> list[PairShown]:
    """Return what is shown of each pair of students, by paired t-tests over fine-tunings and over distillations."""
    found = []
    for first, second in itertools.combinations(scores, 2):
        apart = first - second  # [distillations, fine-tunings]
        tests = [paired_test({("", ""): values}) for values in apart.tolist()]
        shown = [test for test in tests if (test.p or 0.0) < LEVEL]
        wrong = [test for test in shown if (test.mean or 0.0) * float(apart.mean()) < 0]
        over = paired_test({("", ""): apart.mean(axis=1).tolist()})
        found.append(PairShown(len(shown) / len(tests), len(wrong) / len(tests), over.p or 0.0))
    return found
