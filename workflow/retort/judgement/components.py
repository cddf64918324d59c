"""Components of the spread of a student's scores: how far its distillations differ, and how far its fine-tunings do.

All arrays of scores are [students, distillations, fine-tunings], in points; the fine-tunings of all distillations have
the same seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from retort.judgement.difference import LEVEL

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
    ratio = between / of_rest if of_rest else math.inf
    return Components(found, within, low, high, float(f.sf(ratio, *freedom)), freedom)
