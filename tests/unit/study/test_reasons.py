"""Tests of why a cell has no number of ours."""

from __future__ import annotations

from typing import Any

import pytest
from retort.specs.config import RunSources, read_config
from retort.study import reasons
from retort.study.cells import profile_address
from retort.study.reasons import Reason, Status
from retort.study.study import Study

from tests.tiny.results import opened

KD = "tiny-kd"


@pytest.fixture
def study(config: dict[str, Any]) -> Study:
    """Return the variant of the tiny study, which runs whole."""
    return opened(config)


def test_what_is_run_has_no_reason(study: Study) -> None:
    found = [reasons.not_run(study, KD), reasons.unscored(study, KD, "mood"), reasons.unsent(study, KD, "mood")]
    assert [*found, reasons.unprofiled(study, KD), reasons.failed(study, ["results/x"])] == [None] * 5


def test_what_is_not_run_says_whether_scale_budget_or_student_decides(study: Study) -> None:
    study.not_run["tiny-attention"] = "is too deep"
    assert reasons.unscored(study, "tiny-attention", "mood") == reasons.unprofiled(study, "tiny-attention")
    whys = [reasons.not_run(study, "tiny-attention"), reasons.not_run(study, "")]
    budget = {"hours": 1.0, "runs": {KD: {"seeds": 2, "tasks": ["mood"]}}, "left_out": {KD: 5.0}}
    study.config = read_config({**study.config.model_dump(), "budget": budget})
    assert reasons.unscored(study, KD, "mood") is None
    whys += [reasons.unscored(study, KD, "rating"), reasons.unscored(study, "tiny-teacher", "mood")]
    assert [why.sentence for why in whys if why] == [
        "not run at this scale: is too deep",
        "not run since there is no student yet",
        "not run in this budget: tiny-kd takes 5 hours more",
        "not run in this budget",
    ]
    assert [reasons.is_of_scale(why.status, why.text) for why in whys if why] == [True, False, False, False]


def test_what_is_missing_or_failed_says_why(study: Study) -> None:
    gone = {"tasks/mood": "task mood is not there", "submissions/rating": "no test set"}
    study.apply(RunSources(missing=gone, failed={profile_address(KD): "a log: no luck"}))
    assert reasons.unscored(study, KD, "mood") == Reason(Status.MISSING, "task mood is not there")
    assert reasons.unscored(study, KD, "rating") is None
    assert reasons.unsent(study, KD, "mood", "rating") == Reason(Status.MISSING, "task mood is not there")
    failed = reasons.failed(study, [profile_address(KD)])
    assert failed
    assert failed.sentence == "failed (a log: no luck)"
