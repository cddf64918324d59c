"""The mixed model of paired differences against dense matrices, and against REML that a minimiser fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from retort.judgement import difference
from scipy.optimize import minimize

SIZES = {"balanced": (4, 4, 4, 4, 4), "runs left out": (4, 1, 4, 2, 3)}


def differences(sizes: tuple[int, ...], seed: int) -> list[list[float]]:
    """Return made-up differences of two rows on some tasks, whose true means differ."""
    draw = np.random.default_rng(seed)
    return [list(map(float, 1 + 2 * draw.standard_normal() + draw.standard_normal(n))) for n in sizes]


def covariance(tasks: list[list[float]], between: float, within: float) -> Any:
    """Return the covariance matrix of all differences: `between` within a task, and `within` on the diagonal too."""
    task = np.repeat(np.arange(len(tasks)), [len(values) for values in tasks])
    return between * (task[:, None] == task) + within * np.eye(len(task))


def fitted(tasks: list[list[float]], between: float, within: float) -> tuple[float, float]:
    """Return the mean by generalised least squares, and its variance if the covariance matrix is true."""
    inverse, y = np.linalg.inv(covariance(tasks, between, within)), np.concatenate(tasks)
    information = inverse.sum()  # 1' V^-1 1
    return float((inverse @ y).sum() / information), float(1 / information)


def restricted_likelihood(logs: Any, tasks: list[list[float]]) -> float:
    """Return minus twice the restricted log-likelihood of the logarithms of both variances, less a constant."""
    matrix = covariance(tasks, *np.exp(logs))
    residual = np.concatenate(tasks) - fitted(tasks, *np.exp(logs))[0]
    logarithms = np.linalg.slogdet(matrix)[1] + np.log(np.linalg.inv(matrix).sum())
    return float(logarithms + residual @ np.linalg.inv(matrix) @ residual)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("seed", range(5))
def test_weights_are_those_of_generalised_least_squares(sizes: tuple[int, ...], seed: int) -> None:
    tasks = differences(sizes, seed)
    assert difference.mean_and_variance(tasks)[0] == pytest.approx(fitted(tasks, *difference.variances(tasks))[0])


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_estimated_variances_are_right_on_average(sizes: tuple[int, ...]) -> None:
    estimates = np.array([difference.variances(differences(sizes, seed)) for seed in range(1500)])
    # b is 4 and v is 1; an estimate of b below zero, which is cut off, is rare here
    assert estimates.mean(axis=0) == pytest.approx([4.0, 1.0], rel=0.06)


def test_with_as_many_seeds_on_every_task_reml_gives_the_same_error() -> None:
    checked = 0
    for seed in range(10):
        tasks = differences(SIZES["balanced"], seed)
        between, within = difference.variances(tasks)
        if between < 0.5:  # near zero the estimate of REML may lie on its bound, where the two part
            continue
        start = np.log([between, within]) + 0.3
        found = minimize(restricted_likelihood, start, (tasks,), "Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9})
        assert np.exp(found.x) == pytest.approx([between, within], rel=1e-3)
        mean, variance = fitted(tasks, *np.exp(found.x))
        assert (mean, variance) == pytest.approx(difference.mean_and_variance(tasks), rel=1e-3)
        test = difference.tasks_drawn({("", str(task)): values for task, values in enumerate(tasks)})
        assert (test.t, test.freedom) == (pytest.approx(mean / variance**0.5, rel=1e-3), len(tasks) - 1)
        checked += 1
    assert checked > 5
