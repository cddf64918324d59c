"""Tests of the rules that Snakemake and the cost model read: which rule makes a file, and which seeds a job trains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from retort.cost.jobs import Jobs, rules_of
from retort.plan.companion_groups import Companions
from retort.plan.plan import Plan
from retort.plan.rules import Rules
from retort.plan.seeds_of_jobs import SeedJobs
from retort.specs.config import read_config

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def paper() -> Plan:
    """Return the plan at scale paper."""
    return Plan(read_config({"scale": "paper", "precision": "bfloat16", "keep_weights": True}))


@pytest.mark.slow
def test_every_file_that_a_job_reads_is_made_by_one_rule_or_is_of_the_study(paper: Plan) -> None:
    jobs = Jobs(paper)
    pages = jobs.rules.pages
    everything = jobs.in_order([*pages.pages, "reports/index.html"])
    places = {job.key: number for number, job in enumerate(everything)}
    assert len(everything) == len(places) > 2000
    for job in everything:
        for path in job.needs:
            made = [rule.name for rule in jobs.rules.values() for each in rule.patterns if each.fullmatch(path)]
            need = jobs.at(path)
            assert len(made) == (need is not None)
            assert places[need.key] < places[job.key] if need else Path(path).is_file()


def test_the_files_of_rules_name_each_rule() -> None:
    text = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    plain = re.findall(r"^rule (\w+):", text, re.MULTILINE)
    several = re.findall(r'^for each in rule_of.of_kind\("(\w+)"\)', text, re.MULTILINE)
    rules = rules_of(Plan(read_config({})))
    assert {rule.kind for rule in rules.values()} - {"distill_together"} <= {*plain, *several}
    assert {*plain, *several} <= {rule.kind for rule in rules.values()} | {"distill_together"}
    for kind in several:
        assert len(rules.of_kind(kind)) == len({rule.name for rule in rules.of_kind(kind)})
    assert all(rule.name.isidentifier() for rule in rules.values())


def seeds_of(plan: Plan, student: str, hours: float = 1.0) -> list[tuple[int, ...]]:
    """Return the seeds of each job of a student; its seeds take so many hours on its longest task, else less."""
    return SeedJobs(plan, lambda _, task: hours if task == "mood" else hours / 2).jobs(student)


@pytest.mark.parametrize(
    ("most", "hours", "divided"),
    [
        (None, 100, [(1, 2, 3)]),
        (3, 1, [(1, 2, 3)]),
        (2.9, 1, [(1, 2), (3,)]),
        (2, 1, [(1, 2), (3,)]),
        (2, 1.2, [(1,), (2,), (3,)]),  # two together would take too long
        (2, 1.9, [(1,), (2,), (3,)]),
        (2, 50, [(1,), (2,), (3,)]),
        (2, 0.0, [(1, 2, 3)]),
    ],
)
def test_the_seeds_of_a_student_are_divided_by_its_longest_task(
    most: float | None, hours: float, divided: list[tuple[int, ...]], config: dict[str, Any]
) -> None:
    assert seeds_of(Plan(read_config({**config, "hours_of_seeds": most})), "tiny-kd", hours) == divided


def test_all_processes_of_a_run_divide_seeds_alike(config: dict[str, Any]) -> None:
    first = SeedJobs(Plan(read_config({**config, "hours_of_seeds": 2})), lambda *_: 1.0)
    assert first.divided == {"tiny-kd": 2, "tiny-attention": 2}
    of_job = SeedJobs(Plan(read_config({**config, "seeds_divided": first.divided})), lambda *_: 50.0)
    assert of_job.of(["tiny-kd", "tiny-attention"]) == first.of(["tiny-kd", "tiny-attention"])
    assert first.of(["tiny-kd"]) == {(1, 2): ["tiny-kd"], (3,): ["tiny-kd"]}


def test_each_job_of_seeds_has_a_rule_and_a_log_of_its_own(config: dict[str, Any]) -> None:
    plan = Plan(read_config({**config, "hours_of_seeds": 2}))
    jobs = Jobs(plan, Rules(plan, Companions(plan), SeedJobs(plan, lambda *_: 1.0)))
    found = [jobs.at(f"results/scores/tiny-kd/mood/seed-{seed}.json") for seed in (1, 2, 3)]
    assert [job.key for job in found if job] == [
        f"results/logs/distill_on_task/tiny-kd.mood.{seeds}.log" for seeds in ("1-2", "1-2", "3")
    ]
    assert [job.rule.name for job in found if job] == [f"distill_on_task_{name}" for name in ("1_2", "1_2", "3")]
    assert jobs.at("results/scores/tiny-kd/mood/seed-4.json") is None
