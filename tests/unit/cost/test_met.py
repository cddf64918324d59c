"""Tests of what finished jobs took beside their estimates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from retort.cost import overview
from retort.cost.jobs import Jobs
from retort.cost.ledger import met_of
from retort.cost.speed import Speed
from retort.plan.plan import Plan

SPEED = Speed(flops=1e9, bandwidth=1e8, start=7, origin="")
SCORE = "results/scores/tiny-kd/{}/seed-{}.json"
ADDRESSES = [SCORE.format(task, 1) for task in ("mood", "rating")]


def write_score(plan: Plan, task: str, seed: int, **record: object) -> None:
    """Write a score of the settings of the study."""
    path = Path(SCORE.format(task, seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = plan.settings.distillations["tiny-kd"][task].as_json()
    path.write_text(json.dumps({"settings": settings, **record}))


def test_finished_jobs_are_held_against_their_estimates(plan: Plan) -> None:
    write_score(plan, "mood", 1, seconds=36, max_rss_mb=900)
    write_score(plan, "mood", 2, seconds=72, max_rss_mb=1200)
    write_score(plan, "rating", 1, seconds=99)  # its second seed is not done
    jobs = [job for job in map(Jobs(plan).at, ADDRESSES) if job]
    (met,) = met_of(jobs, SPEED)
    assert (met.rule, met.jobs, met.hours, met.ram) == ("distill_on_task", 1, pytest.approx(0.03), 1200 * 1024**2)
    assert met.expected == pytest.approx(SPEED.hours(jobs[0].estimate.work))
    assert met.ratio == pytest.approx(met.hours / met.expected)
    assert met.expected_ram == jobs[0].estimate.ram


def test_a_record_without_memory_still_has_its_time(plan: Plan) -> None:
    for seed in (1, 2):
        write_score(plan, "mood", seed, seconds=36)
    jobs = [job for job in map(Jobs(plan).at, ADDRESSES) if job]
    assert [(met.jobs, met.ram) for met in met_of(jobs, SPEED)] == [(1, None)]


def test_the_report_shows_them_once_there_are_some(plan: Plan) -> None:
    assert list(overview.of_one_process(plan, [])) == []
    for seed in (1, 2):
        write_score(plan, "mood", seed, seconds=18, max_rss_mb=900)
    for lines in (overview.lines(plan.config, [], 1e9), overview.of_one_process(plan, [])):
        (row,) = [line.split() for line in lines if line.startswith("  distill_on_task ")]
        assert row[:3] == ["distill_on_task", "1", "0.01"]
        assert row[5:7] == ["0.9", "GB"]
