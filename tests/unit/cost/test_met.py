"""Tests of what finished jobs took beside their estimates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from retort.cost import report
from retort.cost.jobs import Jobs
from retort.cost.met import met_of
from retort.cost.speed import Speed
from retort.plan.plan import Plan

SPEED = Speed(flops=1e9, bandwidth=1e8, start=7, origin="")
SCORES = [f"results/scores/tiny-kd/mood/seed-{seed}.json" for seed in (1, 2, 3)]


def write_score(plan: Plan, path: str, **record: object) -> None:
    """Write a score of the settings of the study."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    settings = plan.settings.distillations["tiny-kd"]["mood"].as_json()
    Path(path).write_text(json.dumps({"settings": settings, **record}))


def test_finished_jobs_are_held_against_their_estimates(plan: Plan) -> None:
    write_score(plan, SCORES[0], seconds=36, max_rss_mb=900)
    write_score(plan, SCORES[1], seconds=72, max_rss_mb=1200)
    write_score(plan, SCORES[2], seconds=99, settings={})  # of other settings
    jobs = [job for job in map(Jobs(plan).at, SCORES) if job]
    (met,) = met_of(jobs, SPEED)
    assert (met.rule, met.jobs, met.hours, met.ram) == ("distill_on_task", 2, pytest.approx(0.03), 1200 * 1024**2)
    assert met.expected == pytest.approx(2 * SPEED.hours(jobs[0].estimate.work))
    assert met.ratio == pytest.approx(met.hours / met.expected)
    assert met.expected_ram == jobs[0].estimate.ram


def test_a_record_without_memory_still_has_its_time(plan: Plan) -> None:
    write_score(plan, SCORES[0], seconds=36)
    jobs = [job for job in map(Jobs(plan).at, SCORES) if job]
    assert [(met.jobs, met.ram) for met in met_of(jobs, SPEED)] == [(1, None)]


def test_the_report_shows_them_once_there_are_some(plan: Plan) -> None:
    assert list(report.of_one_process(plan, [])) == []
    write_score(plan, SCORES[0], seconds=36, max_rss_mb=900)
    for lines in (report.lines(plan.config, [], 1e9), report.of_one_process(plan, [])):
        (row,) = [line.split() for line in lines if line.startswith("  distill_on_task ")]
        assert row[:3] == ["distill_on_task", "1", "0.01"]
        assert row[5:7] == ["0.9", "GB"]
