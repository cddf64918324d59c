"""Tests of a run with failures: which jobs failed and which wait for them, and what tables and pages say of it."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest
from retort.cost.jobs import PRINTING, Jobs
from retort.job import attempts
from retort.job.attempts import Attempt, file_of
from retort.plan.plan import Plan
from retort.results.frames import lines_of, read
from retort.results.planned_study import kept_open
from retort.run.failures import failed_jobs, print_what_there_is
from retort.run.rehearsal.in_process import run_job
from retort.specs.config import read_config
from retort.study.reasons import Status

from tests.tiny.results import write_results
from tests.unit.report.pages import take_checksums

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


def make_the_rest(config: dict[str, Any], plan: Plan) -> str:
    """Make what does not wait for a failed job, as the run does, and then what does; return the page of the paper."""
    write_results(config)
    take_checksums()
    jobs = Jobs(plan)
    waiting = failed_jobs(jobs, INDEX)
    if KD in waiting:
        shutil.rmtree("results/scores/tiny-kd/mood")
    with kept_open(config, plan.study):
        for job in jobs.behind(INDEX):
            if job.rule.name in PRINTING and job.key not in waiting:
                assert run_job(job, config)
    print_what_there_is(jobs, config, INDEX)
    return Path("reports/tiny/index.html").read_text()


def test_after_a_failed_training_its_cells_say_so(
    plan: Plan, config: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fails(KD, "no luck")
    page = make_the_rest(config, plan)
    told = capsys.readouterr().err
    assert (
        f"1 job failed; cells that need the results say 'failed', everything else is made:\n  {KD}: no luck\n" in told
    )
    assert "Traceback" not in told
    lines = {line.student: line for line in lines_of(read("results/tables/tiny/table1.csv")) if line.task == "mood"}
    assert lines["tiny-kd"].state == f"failed ({KD}: no luck)"
    assert lines["tiny-attention"].status == Status.OK
    assert Path("results/tables/tiny/table1.csv").stat().st_mtime == 1  # the next run makes it anew
    assert "This run could not make" not in page
    assert "1 job failed</h2>" in Path("reports/index.html").read_text()


def test_a_failed_table_is_left_out_of_claims_figure_and_page(
    plan: Plan, config: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fails(TABLE, "a bug")
    Path("reports/tiny").mkdir(parents=True)
    Path("reports/tiny/figure3.svg").write_text("<svg>of an earlier run</svg>")
    page = make_the_rest(config, plan)
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert f"left out: {FIGURE}, since {TABLE}: a bug\n" in told
    for label in ("Table 1", "Figure 3"):
        assert f"This run could not make {label}: {TABLE}: a bug." in page
    assert '<article class="exhibit claims" id="tiny-claims">' in page  # on what is printed
    index = Path("reports/index.html").read_text()
    assert "1 job failed</h2>" in index
    assert f"<li>{TABLE}: a bug</li>" in index


def test_a_figure_that_cannot_be_written_is_left_out_with_a_remedy(
    plan: Plan, config: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "reports/tiny/figure3.svg")

    fails(KD, "no luck")  # the figure waits for it
    monkeypatch.setattr("retort.tables.figures.base.write", no_room)
    for job in list(Jobs(plan).behind(INDEX)):
        if job.rule.name == "plot_figure" and job.key != FIGURE:
            fails(job.key, "no room")
    page = make_the_rest(config, plan)
    told = capsys.readouterr().err
    why = f"{FIGURE}: cannot write reports/tiny/figure3.svg: No space left on device; free some space"
    assert f"{why}\n" in told
    assert "Traceback" not in told
    assert f"This run could not make Figure 3: {why}." in page


def test_a_figure_with_a_folder_in_its_place_is_left_out_with_a_remedy(
    plan: Plan, config: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fails(KD, "no luck")  # the figures wait for it
    Path("reports/tiny/figure3.svg/mine").mkdir(parents=True)
    page = make_the_rest(config, plan)
    told = capsys.readouterr().err
    why = f"{FIGURE}: reports/tiny/figure3.svg is a folder, and a file belongs there; delete it and run again"
    assert f"{why}\n" in told
    assert f"This run could not make Figure 3: {why}." in page
    assert "Traceback" not in told


def test_a_figure_without_its_frame_is_told_on_the_page(plan: Plan, config: dict[str, Any]) -> None:
    fails(KD, "no luck")
    make_the_rest(config, plan)
    Path("results/tables/tiny/figure3.csv").unlink()
    (page,) = (job for job in Jobs(plan).behind(INDEX) if job.outputs == ["reports/tiny/index.html"])
    assert run_job(page, config)
    assert "This run could not make Figure 3: its job did not run." in Path("reports/tiny/index.html").read_text()
