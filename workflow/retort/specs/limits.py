"""The limits of the numbers in tables: of metrics of scores, and of measurements of a model."""

from __future__ import annotations

import math

from retort.specs.printed import AVERAGE, CHANGE, OF_A_MODEL

CORRELATIONS = ("matthews", "pearson", "spearman")
UNBOUNDED = "threshold"  # ending of the names of metrics that are measured in logits
ROUNDED = 0.01  # what rounding may add to a recorded number


def limits(metric: str) -> tuple[float, float]:
    """Return the least and the greatest value that a metric can have; its name may end in '/<subset>'."""
    name = metric.split("/")[0]
    if name.endswith(UNBOUNDED):
        return -math.inf, math.inf
    return (-1.0 if name in CORRELATIONS else 0.0), 1.0


def check_possible(metric: str, mean: float, std: float | None) -> None:
    """Check that a number of a table is possible; scores are times 100, and a change may have any value.

    Args:
        metric: what is measured.
        mean: the number, or the mean of several runs.
        std: the standard deviation over the runs; None if there is none.

    Raises:
        ValueError: it is impossible.
    """
    if metric == CHANGE:
        return
    if metric in OF_A_MODEL:
        if mean <= 0:
            raise ValueError(f"{metric} is above 0, not {mean:g}")
        return
    least, greatest = (-100.0, 100.0) if metric == AVERAGE else (100 * limit for limit in limits(metric))
    if not least - ROUNDED <= mean <= greatest + ROUNDED:
        raise ValueError(f"{metric} is from {least:g} to {greatest:g}, not {mean:g}")
    largest = (greatest - least) / math.sqrt(2)  # of two runs, one at each limit; more runs have a smaller one
    if std is not None and std > largest + ROUNDED:
        raise ValueError(f"the standard deviation of {metric} is at most {largest:.1f}, not {std:g}")
