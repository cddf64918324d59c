"""Tests of paired tests and of Holm's correction, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from retort.judgement import difference
from retort.judgement.difference import ALL_EQUAL
from retort.study.reasons import Status

MOOD, RATING, THIRD = ("", "mood"), ("", "rating"), ("", "third")


def test_pairs_by_hand():
    # differences 1, 2, 3: mean 2, std 1, t = 2 / (1 / sqrt 3) = 3.4641 with 2 degrees of freedom
    test = difference.paired_test({MOOD: [1.0, 2.0], RATING: [3.0]})
    assert (test.mean, test.std, test.n) == (2.0, 1.0, 3)
    # two-sided p for 2 degrees of freedom: 1 - t / sqrt(2 + t^2)
    assert test.p == pytest.approx(1 - 12**0.5 / 14**0.5)


def test_fixed_tasks_have_a_spread_each():
    # task means 2 and 10, each of three seeds with variances 1 and 4: t = 6 / (sqrt(1/3 + 4/3) / 2) = 9.295
    test = difference.tasks_fixed({MOOD: [1.0, 2.0, 3.0], RATING: [8.0, 10.0, 12.0]})
    assert (test.mean, test.n) == (6.0, 6)
    assert test.difference
    assert test.difference.error == pytest.approx((1 / 3 + 4 / 3) ** 0.5 / 2)
    # degrees of freedom: (1/3 + 4/3)^2 / ((1/3)^2 / 2 + (4/3)^2 / 2) = 2.941
    assert test.difference.freedom == pytest.approx(25 / 9 / (17 / 18))


def test_drawn_tasks_count_once_each():
    # task means 2, 4, 6: t = 4 / (2 / sqrt 3)
    test = difference.tasks_random({MOOD: [1.0, 3.0], RATING: [4.0, 4.0], THIRD: [6.0, 6.0]})
    assert test.difference
    assert (test.mean, test.n, test.difference.freedom) == (4.0, 3, 2.0)
    assert test.mean / test.difference.error == pytest.approx(12**0.5)


def test_equal_differences_have_no_p():
    same = {MOOD: [0.3 * 100 - 0.2 * 100, 0.7 * 100 - 0.6 * 100]}
    for test in (difference.paired_test(same), difference.tasks_fixed(same)):
        assert (test.p, test.reason) == (None, ALL_EQUAL)


@pytest.mark.parametrize(
    ("test", "differences", "reason"),
    [(difference.paired_test, {MOOD: [1.0]}, "fewer than two pairs"),
     (difference.tasks_fixed, {MOOD: [1.0, 2.0], RATING: [1.0]}, "fewer than two seeds on a task"),
     (difference.tasks_random, {MOOD: [1.0, 2.0]}, "fewer than two tasks"),
     (difference.tasks_fixed, {}, "fewer than two seeds")],
)  # fmt: skip
def test_a_sample_that_is_too_small_says_so(test: difference.Callable, differences: dict, reason: str):  # type: ignore[type-arg]
    result = test(differences)
    assert (result.status, result.p) == (Status.MISSING, None)
    assert result.reason.startswith(reason)


def test_holm_by_hand():
    # sorted: 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.5 x 1; never smaller than the one before
    assert difference.holm_corrected([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert list(difference.holm_corrected([0.9, 0.8])) == [1.0, 1.0]
    assert difference.holm_corrected([]).size == 0
    missing = difference.holm_corrected([[0.03, float("nan"), 0.02], [0.9, 0.01, 0.2]])  # of two tables
    assert missing == pytest.approx(np.array([[0.04, np.nan, 0.04], [0.9, 0.03, 0.4]]), nan_ok=True)
