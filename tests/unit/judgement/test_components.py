"""Tests of the components of variance, by hand and on drawn scores, and of pairs that one distillation shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from retort.judgement.components import variance_components

from tests.unit.judgement.luck import correlation_of_students, correlation_of_tasks, pairs_shown


def drawn(students: int, luck: float, seed: int = 1, distillations: int = 8) -> np.ndarray:
    """Return scores with a deviation of 1 between fine-tunings: [students, distillations, 3]."""
    draw = np.random.default_rng(seed)
    shape = (students, distillations, 3)
    return luck * draw.standard_normal((*shape[:2], 1)) + draw.standard_normal(shape)


def test_components_by_hand():
    # means of distillations 2 and 6, of seeds 3 and 5: MS of distillations 16, of the rest 0; within (1, 3), (5, 7): 2
    scores = np.array([[[1.0, 3.0], [5.0, 7.0]]])
    found = variance_components(scores + np.array([[[0.1, -0.1], [-0.1, 0.1]]]))  # the rest: 4 times 0.1^2, 1 degree
    assert found.freedom == (1, 1)
    assert found.distillations == pytest.approx(math.sqrt((16 - 0.04) / 2))
    assert found.finetunings == pytest.approx(math.sqrt((1.8**2 / 2 + 2.2**2 / 2) / 2))


def test_a_seed_that_raises_the_fine_tunings_of_all_distillations_is_no_luck_of_them():
    scores = drawn(5, luck=0.0) * 0.01 + np.array([0.0, 5.0, 9.0])
    assert variance_components(scores).p > 0.05


@pytest.mark.parametrize("luck", [0.0, 0.5, 1.0])
def test_the_interval_holds_the_true_deviation(luck: float) -> None:
    found = [variance_components(drawn(5, luck, seed)) for seed in range(200)]
    assert np.mean([one.low <= luck <= one.high for one in found]) == pytest.approx(0.95, abs=0.04)
    assert np.mean([one.p < 0.05 for one in found]) == pytest.approx({0.0: 0.05, 0.5: 0.61, 1.0: 1.0}[luck], abs=0.08)


def test_luck_that_tasks_or_students_share_correlates():
    draw = np.random.default_rng(3)
    luck = draw.standard_normal((40, 8, 1))
    first, second = (luck + 0.5 * draw.standard_normal((40, 8, 3)) for _ in range(2))
    assert correlation_of_tasks(first, second) == pytest.approx(1.0, abs=0.1)
    assert abs(correlation_of_tasks(first, np.roll(second, 1, axis=0))) < 0.2
    assert abs(correlation_of_students(first)) < 0.1
    assert correlation_of_students(first[:1] + 0.01 * drawn(5, 0.0)) > 0.9


def test_one_distillation_each_shows_differences_that_eight_do_not_show():
    found = [pair for seed in range(20) for pair in pairs_shown(drawn(2, luck=3.0, seed=seed))]
    assert np.mean([pair.shown for pair in found]) > 0.3
    assert np.mean([pair.reversed for pair in found]) > 0.05
    assert np.mean([pair.p < 0.05 for pair in found]) < 0.2
