"""Tests of verdicts and paired tests, computed by hand."""

from __future__ import annotations

import pytest
from retort.tables import compare
from retort.tables.tidy import Status

from tests.tiny.results import line


def test_holm_by_hand():
    # sorted: 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.5 x 1; never smaller than the one before
    assert compare.holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert compare.holm([0.9, 0.8]) == [1.0, 1.0]
    assert compare.holm([]) == []


def test_paired_t_by_hand():
    # differences 1, 2, 3: mean 2, std 1, t = 2 / (1 / sqrt 3) = 3.4641 with 2 degrees of freedom
    test = compare.paired([11.0, 22.0, 33.0], [10.0, 20.0, 30.0])
    assert (test.mean, test.std, test.n) == (2.0, 1.0, 3)
    # two-sided p for 2 degrees of freedom: 1 - t / sqrt(2 + t^2)
    assert test.p == pytest.approx(1 - 12**0.5 / 14**0.5)


def test_equal_differences_have_no_p():
    test = compare.paired([0.3 * 100, 0.7 * 100], [0.2 * 100, 0.6 * 100])
    assert (test.p, test.status) == (None, Status.NO_VARIANCE)
    single = compare.paired([1.0], [2.0])
    assert (single.status, single.reason) == (Status.MISSING, "fewer than two pairs")


def test_spread_pools_both_sides_and_skips_single_seeds():
    lines = [line(1.0, 1.0, std=1.0), line(1.0, 1.0, std=2.0, n=5), line(9.0, 9.0, std=50.0, n=1)]
    assert compare.spread(lines) == pytest.approx(((2 * 2 * 1 + 2 * 4 * 4) / 12) ** 0.5)
    assert compare.spread([line(9.0, 9.0, n=1)]) is None


@pytest.mark.parametrize(
    ("apart", "verdict"), [(1.63, "agrees"), (1.64, "close"), (3.26, "close"), (3.27, "differs"), (-3.27, "differs")]
)
def test_verdict_borders(apart: float, verdict: str):
    # spread 1, three seeds a side: standard error sqrt(2/3) = 0.8165, borders at 1.633 and 3.266
    one = line(70.0 + apart, 70.0)
    assert compare.score_verdict(one, [one]) == verdict


def test_a_single_seed_is_judged_by_the_spread_of_the_others():
    # standard error sqrt(2) = 1.414: 2.8 agrees, 2.9 is close
    others = [line(50.0, 50.0)]
    near, far = line(72.8, 70.0, n=1), line(72.9, 70.0, n=1)
    assert compare.score_verdict(near, [*others, near]) == "agrees"
    assert compare.score_verdict(far, [*others, far]) == "close"


def test_nothing_published_no_verdict():
    assert compare.score_verdict(line(70.0), [line(1.0, 1.0)]) == ""
    assert compare.score_verdict(line(None, 70.0), [line(1.0, 1.0)]) == ""
