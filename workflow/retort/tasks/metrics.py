"""Metrics in numpy, by the names that tables use.

The tests compare them with scikit-learn and scipy. These are not imported here, because each job would pay for the
import as much as for ten training steps of a small student.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from retort.registry import Registry

Metric = Callable[[np.ndarray, np.ndarray], float]  # (predicted, true), (rows,) each

metrics: Registry[Metric] = Registry("metric")


def _confusion(predicted: np.ndarray, true: np.ndarray) -> tuple[int, int, int, int]:
    """Count (true positives, false positives, false negatives, true negatives) of class 1."""
    yes, predicted_yes = true == 1, predicted == 1
    return (
        int((yes & predicted_yes).sum()),
        int((~yes & predicted_yes).sum()),
        int((yes & ~predicted_yes).sum()),
        int((~yes & ~predicted_yes).sum()),
    )


@metrics.register("accuracy")
def accuracy(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return the accuracy: the fraction of rows predicted correctly."""
    return float((predicted == true).mean())


@metrics.register("f1")
def f1(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return the F1 of class 1; 0 without a true positive."""
    tp, fp, fn, _ = _confusion(predicted, true)
    return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


@metrics.register("matthews")
def matthews(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return Matthews' correlation of two classes; 0 where predictions or labels are all of one class.

    MCC = (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN)).
    """
    tp, fp, fn, tn = _confusion(predicted, true)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / float(product) ** 0.5 if product else 0.0


@metrics.register("pearson")
def pearson(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return Pearson's correlation; 0 if predictions or labels are constant, where it is not defined."""
    if np.ptp(predicted) == 0 or np.ptp(true) == 0:
        return 0.0
    return float(np.corrcoef(predicted.astype(np.float64), true.astype(np.float64))[0, 1])


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1; equal values get the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)  # (distinct values,), the highest rank of each
    shared: np.ndarray = (last - (counts - 1) / 2)[inverse]  # mean of the ranks last - counts + 1 to last
    return shared


@metrics.register("spearman")
def spearman(predicted: np.ndarray, true: np.ndarray) -> float:
    """Return Spearman's rank correlation; 0 if predictions or labels are constant, where it is not defined."""
    return pearson(ranks(predicted), ranks(true))
