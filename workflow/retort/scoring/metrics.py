"""Metrics: scikit-learn's and scipy's, by the names that tables use; each between -1 and 1."""

from __future__ import annotations

import numpy as np

from retort.registry import Registry

metrics: Registry = Registry("metric")


@metrics.register("accuracy")
def accuracy(predicted: np.ndarray, true: np.ndarray) -> float:
    """The share of rows that are right."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(true, predicted))


@metrics.register("f1")
def f1(predicted: np.ndarray, true: np.ndarray) -> float:
    """F1 of class 1; 0 where it is never predicted."""
    from sklearn.metrics import f1_score

    return float(f1_score(true, predicted, zero_division=0))


@metrics.register("matthews")
def matthews(predicted: np.ndarray, true: np.ndarray) -> float:
    """Matthews' correlation; 0 for a constant prediction."""
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(true, predicted))


@metrics.register("pearson")
def pearson(predicted: np.ndarray, true: np.ndarray) -> float:
    """Pearson's correlation; 0 for a constant prediction, for which it is not defined."""
    from scipy.stats import pearsonr

    return 0.0 if np.ptp(predicted) == 0 else float(pearsonr(predicted, true)[0])


@metrics.register("spearman")
def spearman(predicted: np.ndarray, true: np.ndarray) -> float:
    """Spearman's rank correlation; 0 for a constant prediction, for which it is not defined."""
    from scipy.stats import spearmanr

    return 0.0 if np.ptp(predicted) == 0 else float(spearmanr(predicted, true)[0])


def evaluate(names: list[str], logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Every named metric of logits (rows, classes) against labels (rows,); one class means regression."""
    regression = logits.shape[1] == 1
    predicted = logits[:, 0] if regression else logits.argmax(1)
    true = labels if regression else labels.astype(int)
    return {name: metrics[name](predicted, true) for name in names}
