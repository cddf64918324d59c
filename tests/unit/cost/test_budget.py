"""Tests of a budget: the greedy choice against an exact one, prices, and the configuration that is written."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from retort.cost.budget import Demand, Price, choose, together, weight_of
from retort.cost.jobs import Jobs
from retort.engine.workflow import everything
from retort.plan.plan import Plan
from retort.specs.config import read_config
from retort.study.cells import score_address
from scipy.optimize import Bounds, LinearConstraint, milp

CASES = range(12)
BEST, LEAST = 0.95, 0.8  # of what the exact choice decides: on the mean, and in each case


def case_of(number: int) -> tuple[list[Demand], dict[str, float], dict[tuple[str, str], float]]:
    """Return claims about six students and three tasks, the hours of each student, and of its seed on each task."""
    draw = random.Random(number)
    students, tasks = [f"s{index}" for index in range(6)], ["long", "short", "tiny"]
    distilled = {student: draw.choice([5.0, 20.0, 60.0]) for student in students}
    seed = {(student, task): draw.uniform(0.2, 4.0) for student in students for task in tasks}
    demands = []
    for index in range(10):
        compared = draw.sample(students, draw.choice([2, 2, 3]))
        on, seeds = frozenset(draw.sample(tasks, draw.choice([1, 1, 3]))), draw.choice([2, 3, 4, 6])
        demands.append(Demand(f"claim{index}", dict.fromkeys(compared, (on, seeds)), draw.choice([1.0, 1.0, 2.0])))
    return demands, distilled, seed


def price_of(distilled: dict[str, float], seed: dict[tuple[str, str], float]) -> Price:
    """Return the price of runs: each student once, and its seeds on each task."""
    return lambda runs: sum(
        distilled[name] + seeds * sum(seed[name, task] for task in tasks) for name, (tasks, seeds) in runs.items()
    )


def exact(
    demands: list[Demand], distilled: dict[str, float], seed: dict[tuple[str, str], float], hours: float
) -> float:
    """Return the largest weight of claims that fit some hours, as an integer program.

    Variables: claims, students, tasks of a student, seeds of a student (it has at least k), and seeds on a task.
    """
    most = range(1, 7)
    pairs, ranks = list(seed), list(itertools.product(distilled, most))
    runs = [(name, task, rank) for name, task in pairs for rank in most]
    names: list[Any] = [*(demand.name for demand in demands), *distilled, *pairs, *ranks, *runs]
    place, rows, low = {name: at for at, name in enumerate(names)}, [], []

    def need(first: Any, *others: Any) -> None:
        """Require that the first is chosen if all of the others are."""
        row = np.zeros(len(names))
        row[place[first]], low_of = 1.0, 1.0 - len(others)
        for other in others:
            row[place[other]] -= 1.0
        rows.append(row)
        low.append(low_of)

    for demand in demands:
        for name, (tasks, seeds) in demand.runs.items():
            need(name, demand.name)
            for rank in range(1, seeds + 1):
                need((name, rank), demand.name)
            for task in tasks:
                need((name, task), demand.name)
    for name, task, rank in runs:
        need((name, task, rank), (name, task), (name, rank))
    spent = np.zeros(len(names))
    for name, taken in distilled.items():
        spent[place[name]] = taken
    for name, task, rank in runs:
        spent[place[name, task, rank]] = seed[name, task]
    value = np.zeros(len(names))
    value[: len(demands)] = [-demand.weight for demand in demands]
    limits = [LinearConstraint(np.array(rows), np.array(low), np.inf), LinearConstraint(spent, -np.inf, hours)]
    found = milp(value, constraints=limits, integrality=np.ones(len(names)), bounds=Bounds(0, 1))
    assert found.success
    return float(-found.fun)


def ratio_of(number: int, share: float) -> float:
    """Return what the greedy choice decides of a case with a share of its hours, relative to the exact choice."""
    demands, distilled, seed = case_of(number)
    price, every = price_of(distilled, seed), dict[str, Any]()
    for demand in demands:
        every = dict(together(every, demand.runs))
    hours = share * price(every)
    runs = choose(demands, price, hours)
    assert price(runs) <= hours
    best = exact(demands, distilled, seed, hours)
    return weight_of(demands, runs) / best if best else 1.0


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_the_greedy_choice_is_near_the_exact_one(share: float) -> None:
    ratios = [ratio_of(number, share) for number in CASES]
    print(share, *(f"{ratio:.2f}" for ratio in ratios))
    assert min(ratios) >= LEAST
    assert sum(ratios) / len(ratios) >= BEST


def test_a_budget_runs_what_it_names_and_nothing_else(config: dict[str, Any]) -> None:
    every = Plan(read_config(config))
    student, task = next(pair for pair in every.pairs if pair[0] in every.study.students)
    chosen = {"hours": 1.0, "runs": {student: {"tasks": [task], "seeds": 3}}}
    plan = Plan(read_config({**config, "budget": chosen}))
    made = [path for job in Jobs(plan).behind(everything(plan.study)) for path in job.results if "/scores/" in path]
    assert {path for path in made if student in path} == {score_address(student, task, seed) for seed in (1, 2, 3)}
    assert {path.split("/")[2] for path in made} <= {student, plan.study.teacher_of(student)}
