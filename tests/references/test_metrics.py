"""Tests that every registered metric equals that of scikit-learn or scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from retort.data.encoded import Encoded
from retort.tasks import task_types
from retort.tasks.metrics import metrics

CLASSES, SCORES = task_types["classification"].metrics, task_types["regression"].metrics


def reference(name: str) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return the metric as scikit-learn or scipy computes it."""
    import sklearn.metrics as sk
    from scipy import stats

    return {
        "accuracy": lambda p, t: sk.accuracy_score(t, p),
        "f1": lambda p, t: sk.f1_score(t, p, zero_division=0),
        "matthews": lambda p, t: sk.matthews_corrcoef(t, p),
        "pearson": lambda p, t: stats.pearsonr(p, t)[0],
        "spearman": lambda p, t: stats.spearmanr(p, t)[0],
    }[name]


def test_every_metric_has_a_reference_and_a_kind() -> None:
    assert sorted(metrics) == sorted([*CLASSES, *SCORES])
    for name in metrics:
        assert callable(reference(name))


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    draws = [np.random.default_rng(seed).integers(0, 2, (2, 97)) for seed in range(5)]
    constant = [(np.array([0, 1, 1, 0, 1]), np.full(5, each)) for each in (0, 1)]
    for true, predicted in (*draws, *constant):
        expected = pytest.approx(reference(name)(predicted, true), rel=1e-12, abs=1e-12)
        assert metrics[name](predicted, true) == expected


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", range(5))
def test_scores_with_ties(name: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    true = draw.integers(-4, 5, 97) / 4
    predicted = np.round(true + draw.normal(size=97), 1).astype(np.float32)
    assert metrics[name](predicted, true) == pytest.approx(reference(name)(predicted, true), rel=1e-6)
    assert metrics[name](np.ones(4), np.arange(4.0)) == 0.0


def rows(labels: list[float]) -> Encoded:
    """Return a split with these labels and no tokens."""
    return Encoded(np.array([]), np.array([]), np.arange(len(labels) + 1), np.array(labels))


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_logits_that_are_not_finite_have_no_score(kind: str) -> None:
    answers = task_types[kind]().answers(np.array([[np.nan], [0.5]]), rows([1, 0]))
    scores = task_types[kind]().scores(answers, [1, 0])
    assert answers[0] is None
    assert sorted(scores) == sorted(task_types[kind].metrics)
    assert all(np.isnan(value) for value in scores.values())


def test_metrics_of_two_classes_are_not_made_of_three() -> None:
    assert set(task_types["classification"]().scores([0, 1, 2], [0, 1, 1])) == {"accuracy"}
    assert set(task_types["classification"]().scores([0, 1, 0], [0, 1, 2])) == {"accuracy"}
    assert set(task_types["classification"]().scores([0, 1, 0], [0, 1, 1])) == {"accuracy", "f1", "matthews"}
