"""Tests of verdicts on a run that was recorded before: it repeats it, reproduces it, or is judged as any other run."""

from __future__ import annotations

from typing import Any

import pytest
from retort.judgement.verdicts import PAIRED, SAME, judge_lines, judge_repeats, seed_differences, verdict_rules
from retort.results.frames import Line, lines_of
from retort.specs.rows import AssumedSpread

from tests.tiny.results import frame, line

RECORDED = (70.12345, 70.9, 69.4)


def assumed(_: str) -> AssumedSpread:
    """Return the assumed deviation of every column."""
    return AssumedSpread(0.6)


def pair(ours: tuple[float, ...], recorded: tuple[float, ...] = RECORDED, **more: Any) -> Line:
    """Return the line of a run and of a recorded one, both with the seeds 1, 2, ..."""
    seeds = [tuple(enumerate(scores, start=1)) for scores in (ours, recorded)]
    means = [sum(scores) / len(scores) for scores in (ours, recorded)]
    std = {} if len(recorded) > 1 else {"reported_std": None}
    fields = {"n": len(ours), "by_seed": seeds[0], "reported_by_seed": seeds[1], "reported_half": 5e-6}
    return line(*means, **{**fields, **std, **more})


def judged(*lines: Line) -> list[Line]:
    """Return the lines of one table with their verdicts."""
    return list(lines_of(judge_repeats(judge_lines(frame(lines), assumed))))


def shifted(*by: float) -> tuple[float, ...]:
    """Return the recorded scores, each with a difference."""
    return tuple(score + more for score, more in zip(RECORDED, by, strict=True))


def test_a_run_with_the_recorded_digits_repeats_it_however_wide_its_spread() -> None:
    wide = (20.29866, -40.1, 80.7)
    (same,) = judged(pair(tuple(score + 4e-6 for score in wide), wide, std=60.0))
    assert (same.verdict, same.assumes) == ("reproduced exactly", SAME)
    assert (same.low, same.high) == pytest.approx((0, 0), abs=1e-5)
    (one_digit,) = judged(pair(shifted(1e-5, 0, 0)))
    assert (one_digit.verdict, one_digit.assumes) == ("reproduced", PAIRED)


def test_rounding_reproduces_and_a_shift_or_a_distance_does_not() -> None:
    near, shift, far, few = judged(
        pair(shifted(0.9, -0.5, 0.2)),  # as wide as the scores, without a direction
        pair(shifted(0.401, 0.4, 0.399), row="B"),  # small, but the same under each seed
        pair(shifted(3.0, -0.5, 2.0), row="C"),
        pair((70.6,), (70.0,), row="D"),  # of one seed: the margin alone decides
    )
    assert [one.verdict for one in (near, shift, far, few)] == [
        "reproduced", next(lines_of(judge_lines(frame([shift]), assumed))).verdict, "inconclusive", "reproduced",
    ]  # fmt: skip
    assert shift.verdict not in ("reproduced exactly", "reproduced")
    # the interval is that of the paired difference: 0.2 +- 4.303 * 0.7 / sqrt(3)
    assert (near.low, near.high) == pytest.approx((0.2 - 1.739, 0.2 + 1.739), abs=1e-3)
    assert (few.low, few.high, few.verdict) == (None, None, "reproduced")


def test_shifts_are_corrected_over_the_table() -> None:
    shift = pair(shifted(0.5, 0.45, 0.4))  # p = 0.004
    assert judged(shift)[0].verdict != "reproduced"
    others = [pair(shifted(0.5, -0.5, 0.1), row=str(at)) for at in range(20)]
    assert judged(shift, *others)[0].verdict == "reproduced"


def test_equal_differences_under_all_seeds_have_no_test() -> None:
    near, far = judged(pair(shifted(0.05, 0.05, 0.05)), pair(shifted(1.5, 1.5, 1.5), row="B"))
    assert near.verdict == "reproduced"
    assert far.verdict != "reproduced"


def test_runs_with_other_seeds_do_not_pair() -> None:
    other = pair(RECORDED, by_seed=((1, 70.12345), (2, 70.9), (4, 69.4)))
    assert seed_differences(other) == []
    assert judged(other)[0].verdict not in ("reproduced exactly", "reproduced")
    assert judged(pair(RECORDED, differs="without augmentation"))[0].verdict == ""


def test_a_table_explains_these_verdicts_only_if_it_has_one() -> None:
    (text,) = verdict_rules(frame(judged(line(70.0, 70.0))))
    assert "recorded run" not in text
    (text,) = verdict_rules(frame(judged(pair(shifted(0.9, -0.5, 0.2)))))
    assert "its mean is within 1 point of the recorded one" in text
