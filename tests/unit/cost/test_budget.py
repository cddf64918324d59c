"""Tests of a budget: the greedy choice against an exact one, prices, and the configuration that is written."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import pytest
from retort.cost.budget import NONE, Price, Runs, choose, decided_by, together
from retort.cost.jobs import Jobs
from retort.engine.workflow import everything
from retort.plan.plan import Plan
from retort.specs.config import read_config
from retort.study.cells import score_address

CASES = range(12)
BEST = 0.95  # of what the exact choice decides, over all cases


def case_of(number: int) -> tuple[list[Runs], Price]:
    """Return what decides ten claims about six students and three tasks, and the price of runs.

    Each student is distilled once, and has seeds on each task.
    """
    draw = random.Random(number)
    students, tasks = [f"s{index}" for index in range(6)], ["long", "short", "tiny"]
    distilled = {student: draw.choice([5.0, 20.0, 60.0]) for student in students}
    seed = {(student, task): draw.uniform(0.2, 4.0) for student in students for task in tasks}
    demands = []
    for _ in range(10):
        compared = draw.sample(students, draw.choice([2, 2, 3]))
        on, seeds = frozenset(draw.sample(tasks, draw.choice([1, 1, 3]))), draw.choice([2, 3, 4, 6])
        demands.append(dict.fromkeys(compared, (on, seeds)))
    return demands, lambda runs: sum(
        distilled[name] + seeds * sum(seed[name, task] for task in tasks) for name, (tasks, seeds) in runs.items()
    )


def counts_of(number: int, share: float) -> tuple[int, int]:
    """Return how many claims the greedy choice decides of a case with a share of its hours, and the most."""
    demands, price = case_of(number)
    hours = share * price(functools.reduce(together, demands, NONE))
    runs = choose(demands, price, hours)
    assert price(runs) <= hours
    subsets = itertools.chain(*(itertools.combinations(demands, count) for count in range(len(demands) + 1)))
    most = max(len(subset) for subset in subsets if price(functools.reduce(together, subset, NONE)) <= hours)
    return decided_by(runs, demands), most


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_the_greedy_choice_is_near_the_exact_one(share: float) -> None:
    greedy, exact = zip(*(counts_of(number, share) for number in CASES), strict=True)
    assert max(most - own for own, most in zip(greedy, exact, strict=True)) <= 1
    assert sum(greedy) >= BEST * sum(exact)


def test_a_budget_runs_what_it_names_and_nothing_else(config: dict[str, Any]) -> None:
    every = Plan(read_config(config))
    student, task = next(pair for pair in every.pairs if pair[0] in every.study.students)
    chosen = {"hours": 1.0, "runs": {student: {"tasks": [task], "seeds": 3}}}
    plan = Plan(read_config({**config, "budget": chosen}))
    made = [path for job in Jobs(plan).behind(everything(plan.study)) for path in job.results if "/scores/" in path]
    assert {path for path in made if student in path} == {score_address(student, task, seed) for seed in (1, 2, 3)}
    assert {path.split("/")[2] for path in made} <= {student, plan.study.teacher_of(student)}
