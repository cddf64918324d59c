"""How many students a job's memory holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.cost import memory
from retort.cost.estimates import step_on_corpus, step_together
from retort.cost.side_by_side import fits_one_job
from retort.plan.companions import jobs_of
from retort.plan.plan import Plan
from retort.specs.config import read_config

pytestmark = pytest.mark.slow


def plan_for(folder: Path, scale: str = "paper", **cluster: Any) -> Plan:
    """Return the plan of the papers for a cluster."""
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(cluster))
    config = {"scale": scale, "precision": "bfloat16", "students_together": 8, "cluster": str(file)}
    return Plan(read_config(config))


def longest_job(plan: Plan) -> int:
    """Return the most students of a job."""
    return max(map(len, jobs_of(plan, plan.task_agnostic, fits_one_job(plan))))


def test_students_on_a_gpu_divide_no_batch_that_the_largest_needs_whole(tmp_path: Path) -> None:
    plan, gigabytes = plan_for(tmp_path, gpu_memory_gb=24), 24e9
    jobs = jobs_of(plan, plan.task_agnostic, fits_one_job(plan))
    assert len(jobs) > len(jobs_of(plan, plan.task_agnostic))
    for job in jobs:
        steps = [step_on_corpus(plan.settings.students[name]) for name in job]
        known = [step for step in steps if step]
        alone = [memory.micro_batch(step, gigabytes) or step.rows for step in known]
        shared = step_together([plan.settings.students[name] for name in job])
        assert shared is not None
        assert shared.kept > 0
        rows = memory.micro_batch(shared, gigabytes) or shared.rows
        assert rows >= min(alone)
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


def test_no_cluster_sets_no_limit() -> None:
    plan = Plan(read_config({"scale": "paper", "precision": "bfloat16"}))
    assert jobs_of(plan, plan.task_agnostic, fits_one_job(plan)) == jobs_of(plan, plan.task_agnostic)
