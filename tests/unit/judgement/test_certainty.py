"""Tests of how certain a claim is: decided by runs that agree, open where their luck may have turned it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.judgement import certainty
from retort.judgement.certainty import LEVEL, LOOKS, TRIED, AsIf, Outcome, Shares, shares_of
from retort.judgement.comparisons import Reached
from retort.judgement.judge import Coverage, Kind, Side, claim_frame, our_numbers
from retort.specs.paper import Statement
from retort.specs.rows import AssumedSpread
from scipy.stats import t

from tests import claim_coverage, claims_of_columns, distillation_luck
from tests.claims_of_columns import TRUTHS, Truth, as_before, as_now, decided, pooled
from tests.conftest import ROOT
from tests.tiny.edit import CLAIMS, set_value
from tests.tiny.results import frame, made, opened
from tests.tiny.variant import TABLE
from tests.unit.judgement.claims import by_seed, claim, side_of

HOLDS, FAILS, OPEN = Kind.SUPPORTED, Kind.NOT_SUPPORTED, Kind.INCONCLUSIVE


def side(apart: float, std: float | None = 1.0, n: int = 4, unit: str = "x100") -> Side:
    """Return the means of two rows that lie so far apart."""
    return side_of({"ac": 70 + apart, "bc": 70.0}, std, n, unit)


def in_order(means: list[float], std: float, unit: str = "x100") -> Side:
    """Return the means of rows a to e, of four runs each."""
    return side_of(dict(zip(("ac", "bc", "cc", "dc", "ec"), means, strict=True)), std, unit=unit)


ABOVE, FALLING = claim("above", "a", "b"), claim("falls-at-each-step", "abcde")


def outcome(statement: Statement, numbers: Side, assumed: float = 0.6) -> Outcome:
    """Return the outcome of a statement where every column assumes the same deviation."""
    return certainty.claim_outcome(statement, numbers, lambda _: AssumedSpread(assumed))


def test_a_claim_some_of_whose_cells_have_no_number_is_open_and_leans() -> None:
    some = Coverage(2, 6)
    for compare, above, below in (
        ("above", Outcome(OPEN, True, known=some), Outcome(FAILS, False)),
        ("mostly-above", Outcome(OPEN, True, known=some), Outcome(OPEN, False, known=some)),
        ("mean-above", Outcome(Kind.NOT_TESTED), Outcome(Kind.NOT_TESTED)),
    ):
        statement = claim(compare, "a", "b", "cde")
        assert (outcome(statement, side(9.0)), outcome(statement, side(-9.0))) == (above, below)
    assert outcome(ABOVE, side_of({"ac": 79.0})) == Outcome(Kind.NOT_TESTED)
    two = claim("above", "a", "b", "cd")  # the other column may contradict it, but cannot save it
    assert outcome(two, side(-0.1, 3.0)).kind is OPEN
    assert outcome(two, side(-30.0, 3.0)).kind is FAILS


def test_means_far_apart_decide_and_others_say_how_many_runs_would() -> None:
    assert (outcome(ABOVE, side(9.0)), outcome(ABOVE, side(-9.0))) == (Outcome(HOLDS, True), Outcome(FAILS, False))
    found = [outcome(ABOVE, side(apart)) for apart in (1.0, 0.5, 0.25)]
    assert {one.kind for one in found} == {OPEN}
    runs = [one.runs or 0 for one in found]
    assert runs[0] in TRIED[:2]  # |d| > 1.96 s sqrt(2 / n) from n = 8 on, and a little later with Student's t
    assert runs == sorted(set(runs))  # the more, the closer the means are
    assert outcome(ABOVE, side(0.0)).runs == 0  # more than are tried


@pytest.mark.parametrize(("std", "n"), [(None, 1), (0.0, 4), (None, 0)])  # 0: on dev, for a test server
def test_a_score_without_a_deviation_has_the_one_that_its_table_assumes(std: float | None, n: int) -> None:
    near, far = side(0.3, std, n), side(9.0, std, n)
    assert (outcome(ABOVE, near).kind, outcome(ABOVE, far).kind) == (OPEN, HOLDS)
    assert outcome(ABOVE, far, assumed=20.0).kind is OPEN
    assert outcome(ABOVE, near, assumed=0.01).kind is HOLDS


@pytest.mark.parametrize("unit", ["M", "rows", "h", "p"])
def test_a_number_that_no_luck_is_in_is_taken_as_it_is(unit: str) -> None:
    assert outcome(ABOVE, side(0.1, std=None, n=1, unit=unit)).kind is HOLDS


@pytest.mark.parametrize("unit", ["ms", "times", "%"])
def test_a_time_a_speed_up_and_a_change_have_the_error_of_their_runs(unit: str) -> None:
    assert outcome(ABOVE, side(0.1, std=1.0, n=5, unit=unit)).kind is OPEN
    assert outcome(ABOVE, side(9.0, std=1.0, n=5, unit=unit)).kind is HOLDS
    assert outcome(FALLING, in_order([-2.00, -2.01, -2.02, -2.03, -2.04], 0.5, unit)).kind is OPEN
    assert outcome(ABOVE, side(9.0, std=None, n=1, unit=unit)) == Outcome(OPEN, True)


ORDERS: list[tuple[list[float], float, Outcome]] = [
    # as claimed, but 0.1 apart where a mean has an error of 1: hardly any resample has this order
    ([80.0, 79.9, 79.8, 79.7, 79.6], 2.0, Outcome(OPEN, True, 0)),
    # some step is up in nearly every resample, but no step is up in most of them
    ([80.0, 79.9, 79.8, 79.6, 79.7], 10.0, Outcome(OPEN, False, 0)),
    ([80.0, 79.9, 79.8, 74.0, 79.7], 0.5, Outcome(FAILS, False)),
    ([80.0, 78.0, 76.0, 74.0, 72.0], 0.5, Outcome(HOLDS, True)),
]


@pytest.mark.parametrize(("means", "std", "expected"), ORDERS)
def test_an_order_is_shown_only_if_it_is_no_chance(means: list[float], std: float, expected: Outcome) -> None:
    assert outcome(FALLING, in_order(means, std)) == expected


def test_rows_that_are_equally_good_are_rarely_shown_to_be_out_of_order() -> None:
    """The claim is true where all are equal: at most 2.5 % of such tables may say that it is not."""
    runs, wrong = np.random.default_rng(7).normal(80.0, 1.0, (80, 5, 4)), 0
    for table in runs:
        numbers = by_seed(dict(zip("abcde", table, strict=True)), paired=False)
        wrong += shares_of(FALLING, numbers, lambda _: AssumedSpread(0.6)).shows_false
    assert wrong <= 5  # more than 5 of 80 happen in 2 % of such tests if 2.5 % are wrong


@pytest.mark.parametrize(("best", "kind"), [(70.8, OPEN), (76.0, HOLDS)])
def test_the_best_of_many_rows_is_above_another_only_if_one_of_them_is(best: float, kind: Kind) -> None:
    """Six rows a little above another one: their best is above it in nearly all resamples, but none of them is."""
    statement = claim("best-above", "abcdef", "g")
    numbers = side_of({"ac": best, **{f"{row}c": 70.8 for row in "bcdef"}, "gc": 70.0}, 0.8)
    assert shares_of(statement, numbers, lambda _: AssumedSpread(0.6)).supported > 0.975
    assert outcome(statement, numbers).kind is kind


def test_a_deviation_is_that_of_the_column_else_of_the_table_else_of_the_paper(
    config: dict[str, Any], tmp_path: Path
) -> None:
    folder, reason = tmp_path / "study", "a reason"
    teacher = {"table": "table1", "rows": ["Teacher"], "columns": ["Acc. %"]}
    set_value(folder, CLAIMS, "a-beats-b", "cells", to=[teacher])

    def kind() -> Kind:
        lines, _ = made(config)
        assert next(line.n for line in lines if line.row == "Teacher") == 1
        study = opened(config)
        side = our_numbers({"table1": study.exhibits["tiny", "table1"]}, {"table1": frame(lines)})
        claim = study.claims["tiny"]["a-beats-b"]
        return certainty.claim_outcome(claim, side, certainty.assumed_by(study, "tiny")).kind

    assert kind() is HOLDS  # 80 of one run, 70 of three
    set_value(folder, "papers/tiny/paper.yaml", "assumed_std", to={"points": 20.0, "because": reason})
    assert kind() is OPEN
    set_value(folder, "papers/tiny/table1.yaml", "assumed_std", to={"points": 0.5, "because": reason})
    assert kind() is HOLDS
    wide = {**TABLE["columns"][0], "assumed_std": {"points": 20.0, "because": reason}}
    set_value(folder, "papers/tiny/table1.yaml", "columns", to=[wide, *TABLE["columns"][1:]])
    assert kind() is OPEN


@pytest.mark.parametrize(("largest", "shown"), [(18.4, False), (30.0, True)])
def test_the_largest_of_many_gains_is_shown_only_if_one_of_them_is(largest: float, shown: bool) -> None:
    """Others of 17.4, of rows with a deviation of 1: the largest is above 17.8 in nearly all resamples."""
    columns = "cdefghijklmn"
    statement = claim("largest-gain", "l", "h", columns, number="17.8")
    means = {f"{row}{column}": mean for column in columns for row, mean in (("l", 67.4), ("h", 50.0))}
    shares = shares_of(statement, side_of({**means, "lc": 50.0 + largest}), lambda _: AssumedSpread(0.6))
    assert shares.supported > 0.975
    assert shares.shows_true is shown


def test_rows_that_are_equally_good_do_not_show_that_none_is_best_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certainty, "TRIED", ())
    statement = claim("none-dominates", "abc", columns="vwxyz")
    equal = {f"{row}{column}": 70.0 for row in "abc" for column in "vwxyz"}
    assert outcome(statement, side_of({**equal, "av": 70.1, "bz": 70.1})).kind is OPEN
    assert outcome(statement, side_of({**equal, "av": 99.0, "bz": 99.0})).kind is HOLDS


def test_one_of_several_parts_must_stand_out_by_more_than_one_alone() -> None:
    assert Shares(0.0, {"a": 0.98}, {}).shows_false
    assert not Shares(0.0, {"a": 0.98, "b": 0.5}, {}).shows_false  # of two, a share of 1 - 2.5 % / 2
    assert not Shares(0.98, {}, {"a": 0.98, "b": 0.5}).shows_true


# --- runs with the same seeds


SAME_LUCK = {"a": [70.0, 74.0, 78.0, 72.0], "b": [69.5, 73.2, 77.6, 71.1]}  # b is 0.65 below a, give or take 0.24


def test_rows_that_share_the_luck_of_a_seed_are_compared_seed_by_seed() -> None:
    paired = outcome(ABOVE, by_seed(SAME_LUCK))
    assert paired.kind is HOLDS
    assert paired.removed == pytest.approx(1 - 0.0567 / (11.67 + 12.10), abs=1e-3)
    alone = outcome(ABOVE, by_seed(SAME_LUCK, paired=False))
    assert (alone.kind, alone.removed) == (OPEN, None)
    turned = outcome(ABOVE, by_seed({"a": SAME_LUCK["a"], "b": SAME_LUCK["b"][::-1]}))
    assert turned.removed is not None
    assert turned.removed < 0.5


def test_runs_with_other_seeds_do_not_pair() -> None:
    first, later = by_seed({"a": SAME_LUCK["a"]}), by_seed({"b": SAME_LUCK["b"]}, first=5)
    one = outcome(ABOVE, Side(claim_frame({**first.numbers, **later.numbers}), Reached))
    assert (one.kind, one.removed) == (OPEN, None)


@pytest.mark.parametrize(
    ("statement", "own", "others"), [(ABOVE, [0], [1]), (claim("mean-above", "ac", "bd"), [0, 2], [1, 3])]
)
def test_pairs_decide_as_the_paired_test_of_the_same_difference(
    statement: Statement, own: list[int], others: list[int]
) -> None:
    """Any weighted sum of means is drawn as its paired t-test has it, with n - 1 degrees of freedom."""
    scores = np.random.default_rng(3).normal(70.0, 2.0, (4, 3))
    scores[[0, 2]] += 9.0
    numbers = by_seed(dict(zip("abcd", scores, strict=True)))
    apart = scores[own].mean(axis=0) - scores[others].mean(axis=0)
    expected = t.cdf(apart.mean() / (apart.std(ddof=1) / 3**0.5), 2)
    assert shares_of(statement, numbers, lambda _: AssumedSpread(0.6)).supported == pytest.approx(expected, abs=0.01)


def test_a_cell_that_stands_three_times_counts_three_times() -> None:
    """So a trend over four places is judged, with the weights -3, -1, 1 and 3, as its paired t-test has it."""
    scores = np.random.default_rng(3).normal(70.0, 2.0, (4, 5)) + np.array([[0.0], [0.5], [1.0], [1.5]])
    single = {row: claim("mean-above", row, "b").cells[0] for row in "abcd"}
    sides = {"cells": [single[row] for row in "dddc"], "than": [single[row] for row in "aaab"]}
    trend = Statement.model_validate({"says": "x", "where": "y", "compare": "mean-above", **sides})
    rises = np.array([-3, -1, 1, 3]) @ scores
    expected = t.cdf(rises.mean() / (rises.std(ddof=1) / 5**0.5), 4)
    found = shares_of(trend, by_seed(dict(zip("abcd", scores, strict=True))), lambda _: AssumedSpread(0.6)).supported
    assert found == pytest.approx(expected, abs=0.01)


def test_more_runs_narrow_pairs_as_they_narrow_single_means() -> None:
    numbers = by_seed({"a": [70.0, 72.0, 71.0], "b": [69.9, 71.0, 71.2]})
    runs = outcome(ABOVE, numbers).runs
    assert runs in TRIED
    assert shares_of(ABOVE, numbers, lambda _: AssumedSpread(0.6), AsIf(runs)).shows_true


@pytest.mark.parametrize("runs", [2, 3])
def test_few_seeds_do_not_show_what_is_not_so(runs: int) -> None:
    """A difference of zero is shown to be one in 2.5 % of tables; resampled seeds show it in 13 to 25 %."""
    scores = claim_coverage.scores_of(runs, shared=0.5, apart=0.0, tables=800)
    assert claim_coverage.shown(scores, paired=True) == pytest.approx(0.025, abs=0.015)
    assert claim_coverage.resampled(scores) > 0.1
    stepped = claim_coverage.scores_of(runs, shared=0.5, apart=0.0, tables=800, step=0.5)  # half of the deviation
    assert claim_coverage.shown(stepped, paired=True) < (0.1 if runs == 2 else 0.04)


def test_two_looks_of_a_budget_keep_the_level() -> None:
    above, below, _ = claim_coverage.looked_twice(0.0, LOOKS)
    assert above + below < 100 * LEVEL < sum(claim_coverage.looked_twice(0.0, (LEVEL, LEVEL))[:2])
    assert sum(claim_coverage.looked_twice(0.0, LOOKS, wider=1.0)[:2]) > 100 * LEVEL  # the margin is needed
    assert f"\n{claim_coverage.table_of_looks()}\n" in (ROOT / "workflow/retort/judgement/statistics.md").read_text()


@pytest.mark.parametrize("truth", [TRUTHS[0], TRUTHS[1], TRUTHS[2], TRUTHS[6]], ids=lambda truth: truth.told)
def test_luck_in_equal_columns_or_in_a_range_decides_nothing(truth: Truth) -> None:
    """At most 2.5 % are decided wrongly; by the whole claim on resamples, many."""
    assert max(decided(truth, as_now, tables=60)) <= 5  # 3 of 60; more happen in 6 % of such tests
    assert max(decided(pooled(truth), as_before, tables=60)) > 20


@pytest.mark.parametrize("truth", [TRUTHS[3], TRUTHS[-1]], ids=lambda truth: truth.told)
def test_most_columns_and_ranges_far_apart_are_shown(truth: Truth) -> None:
    assert decided(truth, as_now, tables=60)[0] > 75


def test_as_many_columns_as_refute_most_must_be_shown_to_be_otherwise() -> None:
    statement = claim("mostly-above", "a", "b", "cdefgh")
    means = {f"{row}{column}": 70.0 for row in "ab" for column in "cdefgh"}
    lower = {f"a{column}": 50.0 for column in "cde"}  # three of six: no more than half is left
    assert outcome(statement, side_of({**means, **lower, **{f"a{column}": 90.0 for column in "fgh"}})).kind is FAILS
    lower.popitem()
    assert outcome(statement, side_of({**means, **lower})).kind is OPEN


def test_each_objective_varies_by_itself() -> None:
    statement = claim("varies-less", ("x / 1", "x / 2", "y / 1", "y / 2"), ("z / 1", "z / 2"))
    means = dict(zip(("x / 1", "x / 2", "y / 1", "y / 2", "z / 1", "z / 2"), (50, 51, 90, 91, 60, 80), strict=True))
    numbers = {(row, "c"): float(mean) for row, mean in means.items()}
    assert outcome(statement, side_of(numbers)).kind is HOLDS
    assert outcome(statement, side_of({**numbers, ("y / 2", "c"): 130.0})).kind is FAILS


@pytest.mark.slow
@pytest.mark.parametrize("simulated", [claims_of_columns, distillation_luck])
def test_tables_in_the_readme_are_those_of_the_simulation(simulated: Any) -> None:
    assert f"\n{simulated.table()}\n" in (ROOT / "workflow/retort/judgement/statistics.md").read_text()


@pytest.mark.slow
def test_the_coverage_in_the_readme_is_that_of_the_simulation() -> None:
    simulated, readme = claim_coverage.table(), (ROOT / "workflow/retort/judgement/statistics.md").read_text()
    head = simulated.splitlines()[0]
    reported = readme[readme.index(head) :].split("\n\n")[0]
    cells = [[int(cell) for cell in re.findall(r"\d+", text.partition("\n| ---")[2])] for text in (reported, simulated)]
    assert cells[0] == pytest.approx(cells[1], abs=1)
