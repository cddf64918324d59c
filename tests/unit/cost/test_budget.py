"""Tests of a budget: the greedy choice against an exact one, prices, and the configuration that is written."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import Maker, take
from retort.cost.budget import NONE, Demand, Price, Prices, choose_runs, joined_runs, weight_of
from retort.cost.jobs import Jobs
from retort.cost.overview import hours_of
from retort.cost.speed import Speed
from retort.plan import resolve
from retort.plan.plan import Plan
from retort.run.workflow import everything
from retort.settings.inputs import settings_section
from retort.specs.config import read_config
from retort.study.addresses import name_of_seeds, score_file

from tests.tiny.edit import AGNOSTIC, set_value

CASES = range(12)
GONE = ("record_activations/tiny-teacher.rating.1", "finetune_teacher/tiny-teacher.rating.1")  # before a seed that is
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


def exact(demands: list[Demand], price: Price, hours: float) -> float:
    """Return the largest weight of claims that fit some hours, of all sets of claims."""
    chosen = itertools.product((False, True), repeat=len(demands))
    sets = ([each for each, taken in zip(demands, of_set, strict=True) if taken] for of_set in chosen)
    fitting = (one for one in sets if price(functools.reduce(joined_runs, (each.runs for each in one), NONE)) <= hours)
    return max(sum(each.weight for each in one) for one in fitting)


def ratio_of(number: int, share: float) -> float:
    """Return what the greedy choice decides of a case with a share of its hours, relative to the exact choice."""
    demands, distilled, seed = case_of(number)
    price = price_of(distilled, seed)
    hours = share * price(functools.reduce(joined_runs, (each.runs for each in demands), NONE))
    runs = choose_runs(demands, price, hours)
    assert price(runs) <= hours
    best = exact(demands, price, hours)
    return weight_of(demands, runs) / best if best else 1.0


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_the_greedy_choice_is_near_the_exact_one(share: float) -> None:
    ratios = [ratio_of(number, share) for number in CASES]
    assert min(ratios) >= LEAST
    assert sum(ratios) / len(ratios) >= BEST


def test_a_budget_runs_what_it_names_and_nothing_else(config: dict[str, Any]) -> None:
    every = Plan(read_config(config))
    student, task = next(pair for pair in every.pairs if pair[0] in every.study.students)
    chosen = {"hours": 1.0, "runs": {student: {"tasks": [task], "seeds": 3}}}
    plan = Plan(read_config({**config, "budget": chosen}))
    made = [job.result for job in Jobs(plan).behind(everything(plan.study)) if "/scores/" in job.result]
    assert [path for path in made if student in path] == [f"results/scores/{student}/{task}/1-2-3.json"]
    assert {path.split("/")[2] for path in made} <= {student, plan.study.teacher_of(student)}


def test_a_further_distillation_costs_all_of_its_own_jobs_and_a_budget_counts_it_on_every_task(
    study_folder: Path, here: Path
) -> None:
    plan = Plan(read_config({"papers": ["tiny"], "study": str(study_folder)}))
    prices = Prices(plan, Speed(1e11, 5e9, 1.0, "a test"))
    one, two, three = (prices.hours({"tiny-predicting": (frozenset(["mood"]), count)}) for count in (1, 2, 3))
    assert three - two == pytest.approx(two - one)
    jobs = [job.name for job in prices.jobs.behind(["results/scores/tiny-predicting/mood/1-2.json"])]
    own = [name for name in jobs if name.startswith(("distill_students", "run_grid", "finetune_student"))]
    again = sum(hours_of([job], prices.speed) for job in prices.jobs.by_key.values() if job.name in own)
    assert again <= two - one <= 1.5 * again  # the price of a seed holds the start of a job, which its two seeds share
    assert prices.whole("tiny-predicting", ["mood"]) == {"tiny-predicting": (frozenset(["mood"]), 1)}


@pytest.fixture
def tiny(study_folder: Path, here: Path) -> Callable[..., Prices]:
    """Return a function to the prices of the tiny study as things are, of which nothing has been run."""
    config = {"papers": ["tiny"], "study": str(study_folder), "precision": "float32"}
    return lambda: Prices(Plan(read_config(config)), Speed(1e11, 5e9, 1.0, "a test"))


def write_scores(prices: Prices, student: str, task: str, seeds: list[int], named: str = "") -> None:
    """Write scores of a student, or of a further distillation of it, with the settings of the study."""
    study = prices.found if named in prices.found.students else prices.plan.study
    path = Path(score_file(named or student, task, name_of_seeds(seeds)))
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = resolve.score(study, named or student, task).as_json()
    path.write_text(json.dumps([{"seed": seed, "settings": settings} for seed in seeds]))


def test_seeds_that_are_made_are_counted_once_on_each_task(tiny: Callable[..., Prices]) -> None:
    before, both = tiny(), frozenset(["mood", "rating"])
    runs = {"tiny-teacher": (both, 1), "tiny-kd": (both, 3)}
    total = before.hours(runs)
    assert before.spent() == 0
    write_scores(before, "tiny-teacher", "mood", [1])
    write_scores(before, "tiny-kd", "mood", [1, 2, 3])
    write_scores(before, "tiny-kd", "rating", [1])
    after = tiny()
    assert after.begun() == {"tiny-teacher": (frozenset(["mood"]), 1), "tiny-kd": (both, 3)}
    left = after.hours(runs)
    gone = [after.jobs.by_key[f"results/logs/{key}.log"] for key in GONE]
    assert after.spent() + left == pytest.approx(total + hours_of(gone, after.speed))


def test_a_distillation_that_is_made_is_spent_also_before_it_has_a_score(tiny: Callable[..., Prices]) -> None:
    runs, found = {"tiny-predicting": (frozenset(["mood"]), 3)}, []
    total = tiny().hours(runs)
    for name in ("tiny-narrow", "tiny-narrow-distillation-2", "tiny-predicting"):
        Path(f"results/students/{name}/model").mkdir(parents=True)
        after = tiny()
        found.append(after.spent())
        assert after.spent() + after.hours(runs) == pytest.approx(total)
    assert 0 < found[0] < found[1] < found[2]
    assert found[1] == pytest.approx(2 * found[0])


def test_a_score_counts_if_it_has_the_settings_of_the_study(tiny: Callable[..., Prices], study_folder: Path) -> None:
    runs, further = {"tiny-predicting": (frozenset(["mood"]), 2)}, "tiny-predicting-distillation-2"
    write_scores(tiny(), "tiny-predicting", "mood", [1, 2])
    Path("results/scores", further).mkdir()
    write_scores(tiny(), "tiny-predicting", "mood", [1, 2], named=further)
    every = tiny()
    assert every.begun() == runs
    assert every.hours(runs) == 0
    set_value(study_folder, AGNOSTIC, "schedule", "steps", to=60)
    assert tiny().begun() == {}
    assert tiny().hours(runs) > every.spent() > tiny().spent() == 0


def test_a_scored_distillation_whose_model_is_gone_costs_nothing_where_a_further_one_is_asked_for(
    tiny: Callable[..., Prices],
) -> None:
    before, tasks = tiny(), frozenset(["mood"])
    two = before.hours({"tiny-predicting": (tasks, 2)})
    write_scores(before, "tiny-predicting", "mood", [1, 2])
    after = tiny()
    again = [after.hours({"tiny-predicting": (tasks, count)}) for count in (1, 2)]
    assert again[0] == 0
    distil = next(job for job in before.jobs.by_key.values() if job.name == "distill_students(tiny-predicting)")
    assert two - again[1] > hours_of([distil], before.speed) > 0


def test_a_further_distillation_of_a_student_from_a_group_is_priced_as_one_alone(tiny: Callable[..., Prices]) -> None:
    def prices(job: str) -> list[float]:
        model = Path("results/students/tiny-predicting/model")
        model.mkdir(parents=True, exist_ok=True)
        (model / "README.md").write_text("# A model")
        take(model, job, Maker(commit="c", code="d"), [], {})
        return [tiny().hours({"tiny-predicting": (frozenset(["mood"]), count)}) for count in (1, 2, 3)]

    assert prices("distill_students(tiny-teacher_1)") == pytest.approx(prices("distill_students(tiny-predicting)"))


def test_a_group_that_was_distilled_with_other_settings_is_not_spent(tiny: Callable[..., Prices]) -> None:
    settings = tiny().plan.settings.students["tiny-predicting"]
    card = Path("results/distilled/tiny-predicting/tiny-predicting/README.md")
    card.parent.mkdir(parents=True)
    card.write_text(settings_section(settings))
    assert tiny().spent() > 0
    card.write_text(settings_section(settings.model_copy(update={"seed": 9})))
    assert tiny().spent() == 0


def test_distillations_that_a_protocol_asks_for_are_counted_with_their_student(
    tiny: Callable[..., Prices], study_folder: Path
) -> None:
    set_value(study_folder, AGNOSTIC, "distillation_seeds", to=[1, 2, 3])
    before = tiny()
    runs = before.whole("tiny-predicting", ["mood"])
    assert runs == {"tiny-predicting": (frozenset(["mood"]), 3)}
    total = before.hours(runs)
    further = [name for name in before.plan.study.further if name.startswith("tiny-predicting")]
    for name in ("tiny-predicting", *further):
        Path("results/scores", name).mkdir(parents=True, exist_ok=True)
        write_scores(before, "tiny-predicting", "mood", [1, 2], named=name)
    after = tiny()
    assert len(further) == 2
    assert set(after.begun()) == {"tiny-predicting"}
    assert after.hours(runs) == 0
    assert after.spent() == pytest.approx(total)
