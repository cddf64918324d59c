"""Tests of how many students a job distils side by side, and how many seeds it trains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.cost import memory
from retort.cost.estimates import Estimates, step_on_corpus, step_together
from retort.cost.resources import fits_one_job, hours_of_a_seed
from retort.cost.speed import GUESSED
from retort.plan.plan import Plan
from retort.plan.sharing import divided_seeds, jobs_of
from retort.specs.config import read_config
from retort.study.questions import seeds_of

pytestmark = pytest.mark.slow


def plan_for(folder: Path, scale: str = "paper", hours: float | None = None, **cluster: Any) -> Plan:
    """Return the plan of the papers for a cluster, with a limit of the hours of students side by side."""
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(cluster))
    config = {"scale": scale, "precision": "bfloat16", "students_together": 8, "hours_together": hours}
    return Plan(read_config({**config, "cluster": str(file)}))


def longest_job(plan: Plan) -> int:
    """Return the most students of a job."""
    return max(map(len, jobs_of(plan, plan.task_agnostic, fits_one_job(plan))))


def test_students_on_a_gpu_divide_no_batch_that_one_of_them_needs_whole(tmp_path: Path) -> None:
    plan, gigabytes = plan_for(tmp_path, gpu_memory_gb=24), 24e9
    jobs = jobs_of(plan, plan.task_agnostic, fits_one_job(plan))
    assert 0 < sum(map(len, jobs)) < sum(map(len, jobs_of(plan, plan.task_agnostic)))
    for job in jobs:
        steps = [step_on_corpus(plan.settings.students[name]) for name in job]
        known = [step for step in steps if step]
        alone = [memory.micro_batch(step, gigabytes) or step.rows for step in known]
        shared = step_together([plan.settings.students[name] for name in job])
        assert shared is not None
        assert shared.kept > 0
        rows = memory.micro_batch(shared, gigabytes) or shared.rows
        assert rows >= max(alone)
        assert memory.fits(shared, rows, gigabytes)


def test_a_smaller_gpu_holds_fewer_students(tmp_path: Path) -> None:
    held = [longest_job(plan_for(tmp_path, gpu_memory_gb=memory)) for memory in (80, 24, 16)]
    assert held[0] == 8
    assert held == sorted(held, reverse=True)
    assert held[0] > held[-1]


@pytest.mark.parametrize(("ram", "most"), [(64_000, 8), (1_000, 0)])
def test_students_on_cpus_fit_the_memory_of_a_job(ram: int, most: int, tmp_path: Path) -> None:
    plan = plan_for(tmp_path, "rehearsal", partitions={"cpu": {"max_mem_mb": ram}})
    jobs = jobs_of(plan, plan.task_agnostic, fits_one_job(plan))
    assert max(map(len, jobs), default=0) == most


def test_no_job_is_longer_than_the_limit_but_that_of_a_student_alone(tmp_path: Path) -> None:
    plan, any_length = plan_for(tmp_path, hours=400), plan_for(tmp_path)
    jobs, longer = (jobs_of(each, each.task_agnostic, fits_one_job(each)) for each in (plan, any_length))
    hours, more = ([GUESSED[True].hours(Estimates(plan).work_together(job)) for job in each] for each in (jobs, longer))
    assert 200 < max(hours) <= 400
    assert max(more) > 800


def test_no_cluster_sets_no_limit() -> None:
    plan = Plan(read_config({"scale": "paper", "precision": "bfloat16"}))
    assert jobs_of(plan, plan.task_agnostic, fits_one_job(plan)) == jobs_of(plan, plan.task_agnostic)


def test_the_hours_of_a_seed_depend_on_no_measured_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_for(tmp_path)
    hours = hours_of_a_seed(plan)
    predicted = {pair: hours(*pair) for pair in plan.pairs if pair[0] in plan.study.students}
    longest = max(predicted, key=lambda pair: predicted[pair])
    assert 1 < predicted[longest] < 100
    divided = divided_seeds(Plan(plan.config.model_copy(update={"hours_of_seeds": predicted[longest]})), hours)
    assert divided[longest[0]] == len(seeds_of(plan.study, longest[0])) > 1
    Path("results").mkdir()
    slow = {"flops": 1e9, "bandwidth": 1e9, "relations": 1, "start": 9, "fork": 1, "device": "cuda: a GPU"}
    slow |= {"threads": 1, "precision": "bfloat16", "at": "2026-11-22"}
    Path("results/calibration.json").write_text(json.dumps(slow))
    assert hours_of_a_seed(plan)(*longest) == predicted[longest]
