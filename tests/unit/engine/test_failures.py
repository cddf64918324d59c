"""Tests of a run with failures: which jobs failed and which wait for them, and what tables and pages say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.checksums import take
from retort.cost.jobs import Jobs
from retort.engine import attempts
from retort.engine.attempts import Attempt, file_of
from retort.engine.failures import LONG_AGO, PRINTING, failed_jobs, print_what_there_is
from retort.engine.job import this_code
from retort.plan.plan import Plan
from retort.rehearsal.in_process import outputs_of, run_job
from retort.specs.config import read_config

from tests.tiny.results import write_results

INDEX = ["reports/index.html"]
KD = "results/logs/distill_on_task/tiny-kd.mood.1-2-3.log"
TABLE, FIGURE = "results/logs/make_table/tiny.table1.log", "results/logs/plot_figure/tiny.figure3.log"


@pytest.fixture
def plan(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Return the plan of a run of the tiny study's variant, of which nothing has been made."""
    monkeypatch.setenv(attempts.RUN, "run-1")
    return Plan(read_config(config))


@pytest.fixture
def jobs(plan: Plan, config: dict[str, Any]) -> Jobs:
    """Make all results, tables and pages of the study, and return its jobs."""
    write_results(config)
    jobs = Jobs(plan)
    for job in jobs.behind(INDEX):
        if job.rule.kind in PRINTING:
            assert run_job(job, config)
        else:
            for path in filter(Path.exists, map(Path, outputs_of(job))):
                take(path, job.name, this_code(), (), {})
    return jobs


def fails(log: str, reason: str, run: str = "run-1") -> None:
    """Note that a job of a run has failed."""
    Attempt(run, "", "", reason=reason).write(file_of(log))


def pages() -> dict[str, float]:
    """Return the time of each table, figure and page."""
    return {str(path): path.stat().st_mtime for path in Path("reports").rglob("*.*")}


def test_what_waits_for_a_failed_job_has_its_reason(
    plan: Plan, config: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    teacher = "results/logs/finetune_teacher/tiny-teacher.mood.log"
    print_what_there_is(Jobs(plan), config, INDEX)  # none has failed: the user has stopped the run
    assert (capsys.readouterr().err, Path("reports").exists()) == ("", False)
    fails(teacher, "no \x1b[31mluck")
    fails(FIGURE, "a bug")
    fails("results/logs/profile_student/tiny-attention.log", "no luck", run="an earlier run")
    found = failed_jobs(Jobs(plan), INDEX)
    assert found[KD] == found[TABLE] == found[teacher] == rf"{teacher}: no \x1b[31mluck"
    assert found[FIGURE] == f"{FIGURE}: a bug"  # its own, though the table that it draws is not made either
    assert [key for key in found if "rating" in key or "profile" in key or "table2" in key] == []
    assert KD not in failed_jobs(Jobs(plan), ["results/scores/tiny-kd/rating/seed-1.json"])


def test_what_waits_is_made_with_what_there_is_and_anew_by_the_next_run(
    jobs: Jobs, plan: Plan, config: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    before = pages()
    fails(KD, "no luck")
    for path in jobs.by_key[KD].results:
        Path(path).unlink()
    capsys.readouterr()
    print_what_there_is(jobs, config, INDEX)
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [
        "1 job failed; cells that need the results say 'failed', everything else is made:", f"  {KD}: no luck"
    ]  # fmt: skip
    assert not [line for line in said if "could not be made" in line]
    assert "failed" in Path("reports/tiny/table1.md").read_text()
    assert f"{KD}: no luck" in Path("reports/tiny/index.html").read_text()
    assert f"{KD}: no luck" in Path("reports/index.html").read_text()
    after = pages()
    again = {path for path, time in after.items() if time == LONG_AGO[1]}
    assert {"reports/tiny/table1.html", "reports/tiny/index.html", *INDEX} <= again
    assert {path for path in before if before[path] != after[path]} == again
    assert "reports/tiny/table2.html" not in again
