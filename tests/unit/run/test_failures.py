"""Tests of a run with failures: which jobs failed and which wait for them, and what tables and pages say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.cost.jobs import Jobs
from retort.job import attempts
from retort.job.attempts import Attempt, file_of
from retort.plan.plan import Plan
from retort.run.failures import failed_jobs, print_what_there_is
from retort.specs.config import read_config

INDEX = ["reports/index.html"]
KD = "results/logs/distill_on_task/tiny-kd.mood.1-2-3.log"
TABLE, FIGURE = "results/logs/make_table/tiny.table1.log", "results/logs/plot_figure/tiny.figure3.log"


@pytest.fixture
def plan(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Return the plan of a run of the tiny study's variant, of which nothing has been made."""
    monkeypatch.setenv(attempts.RUN, "run-1")
    return Plan(read_config(config))


def fails(log: str, reason: str, run: str = "run-1") -> None:
    """Note that a job of a run has failed."""
    Attempt(run, reason).write(file_of(log))


def test_what_waits_for_a_failed_job_has_its_reason(
    plan: Plan, config: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    teacher = "results/logs/finetune_teacher/tiny-teacher.mood.1.log"
    print_what_there_is(Jobs(plan), config, INDEX)  # none has failed: the user has stopped the run
    assert (capsys.readouterr().err, Path("reports").exists()) == ("", False)
    fails(teacher, "no \x1b[31mluck")
    fails(FIGURE, "a bug")
    fails("results/logs/profile_student/tiny-attention.log", "no luck", run="an earlier run")
    found = failed_jobs(Jobs(plan), INDEX)
    assert found[KD] == found[TABLE] == found[teacher] == rf"{teacher}: no \x1b[31mluck"
    assert found[FIGURE] == f"{FIGURE}: a bug"  # its own, though the table that it draws is not made either
    assert [key for key in found if "rating" in key or "profile" in key or "table2" in key] == []
    assert KD not in failed_jobs(Jobs(plan), ["results/scores/tiny-kd/rating/1-2-3.json"])
