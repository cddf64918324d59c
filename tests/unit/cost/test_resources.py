"""Tests of the resources that jobs ask for, and of how many students and seeds fit one job."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.cost import memory
from retort.cost.estimates import Estimate, Estimates
from retort.cost.jobs import Jobs
from retort.cost.resources import NOTHING, JobResources, fits_one_job, hours_of_a_seed
from retort.cost.speed import GUESSED, Work
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.plan.sharing import divided_seeds, jobs_of
from retort.specs.config import read_config
from retort.study.questions import seeds_of
from snakemake.iocontainers import Wildcards
from snakemake_executor_plugin_slurm import partitions

from tests.unit.cost.test_cluster import cluster

LARGE = "udagawa2023-od-layer-12-6l-distilbert-mono"  # batches of 960 rows of 256 tokens: 82 GB on one GPU
LONG = "minilmv2-6x384-xlm-r-large-layer-24"  # the student that takes longest
CONTRASTED = "wang2023-hid-cls-contrast"
GPUS_OF_8 = {"gpu": {"max_gpu": 8, "max_runtime": 600}}
SLOW = {"flops": 1e9, "bandwidth": 1e9, "relations": 1, "start": 9, "device": "cuda: a GPU",
        "threads": 1, "precision": "bfloat16", "at": "2026-11-22"}  # fmt: skip


pytestmark = pytest.mark.usefixtures("here")


def calibrate(folder: Path) -> None:
    """Write a calibration of a slow GPU."""
    (folder / "results").mkdir()
    (folder / "results/calibration.json").write_text(json.dumps(SLOW))


@functools.cache
def plan_at(scale: str, device: str) -> Plan:
    """Return the plan of the papers at a scale; no cluster changes it."""
    return Plan(read_config({"scale": scale, "precision": "bfloat16", "device": device}))


def plan_for(scale: str = "paper", **config: Any) -> Plan:
    """Return the plan of the papers at a scale, with a configuration that changes no settings."""
    asked = read_config({"scale": scale, "precision": "bfloat16", "students_together": 8, **config})
    plan = copy.copy(plan_at(asked.scale, asked.device))
    plan.config = asked
    return plan


def asking(student: str, scale: str = "paper", **config: Any) -> tuple[JobResources, Estimate]:
    """Return the resources of the papers' jobs, and the estimate of a job that distils one student."""
    asked = JobResources(plan_for(scale, **config))
    return asked, asked.estimates.distill_student(student)


@pytest.mark.parametrize(("gigabytes", "rows"), [(None, 0), (141, 0), (80, 480), (40, 320), (24, 192)])
def test_a_step_that_does_not_fit_a_gpu_is_refused_with_the_micro_batch_that_fits(
    here: Path, gigabytes: float | None, rows: int
) -> None:
    ask = JobResources(plan_for(cluster=cluster(here, {"gpu_memory_gb": gigabytes}))).of("distill_students")["gpu"]
    if not rows:
        assert ask({"group": LARGE}, 1) == 1
        return
    with pytest.raises(RetortError) as caught:
        ask({"group": LARGE}, 1)
    assert str(caught.value).startswith(
        f"{LARGE}: 960 rows at once do not fit the {gigabytes} GB of a GPU; set micro_batch: {rows}, or less,"
    )


def test_a_micro_batch_is_a_setting_of_the_trainings_whose_batches_are_larger() -> None:
    whole, parts = (Plan(read_config({"papers": ["udagawa2023"], "scale": "paper", "micro_batch": rows}))
                    for rows in (None, 480))  # fmt: skip
    for name in (LARGE, "udagawa2023-hs-uniform-6l-mono"):
        before, after = (plan.settings.students[name].as_json() for plan in (whole, parts))
        sizes = [stage["schedule"]["batch_size"] for stage in before["stages"]]
        divided = [stage["schedule"].get("micro_batch") for stage in after["stages"]]
        assert divided == [480 if size > 480 else None for size in sizes]
        assert (before == after) == (max(sizes) <= 480)


def test_a_job_that_is_tried_again_asks_for_more_ram_and_without_checkpoints_for_more_time(here: Path) -> None:
    path = cluster(here, {"gpu_memory_gb": 80}, cpu={"max_runtime": 80})
    asked, large = asking(LARGE, cluster=path)
    first, *others = (asked.of_job(large, attempt) for attempt in range(1, 7))
    assert others == [{**first, "mem_mb": first["mem_mb"] * times} for times in (2, 3, 4, 4, 4)]
    encoded = asked.estimates.of("encode_task", task="mnli", tokenizer="bert-base-uncased")
    minutes = [asked.of_job(encoded, attempt)["runtime"] for attempt in range(1, 7)]
    assert minutes[:2] == [minutes[0], 2 * minutes[0]]
    assert max(minutes) == minutes[-1] == min(4 * minutes[0], 80)


@pytest.mark.parametrize(
    ("device", "gpu_model", "expected"),
    [("auto", "h100", (1, "h100")), ("auto", None, (1, None)), ("cpu", "h100", (0, None))],
)
def test_a_gpu_and_its_type_are_asked_for_where_the_device_is_one(
    here: Path, device: str, gpu_model: str | None, expected: tuple[int, str | None]
) -> None:
    asked, large = asking(LARGE, device=device, cluster=cluster(here, {"gpu_model": gpu_model}))
    resources = asked.of_job(large)
    assert (resources["gpu"], resources["gpu_model"]) == expected
    fetched = asked.of_job(asked.estimates.of("fetch_source", source="cc100"))
    assert (fetched["gpu"], fetched["gpu_model"]) == (0, None)


@pytest.mark.parametrize(("attempt", "minutes"), [(1, 7 * 1440), (2, 240)])
def test_a_job_fits_one_partition(here: Path, attempt: int, minutes: int) -> None:
    short = {"max_gpu": 2, "max_runtime": "4h", "max_mem_mb": 500_000}
    path = cluster(here, short=short, long={"max_gpu": 2, "max_runtime": "7d", "max_mem_mb": 12_000})
    asked, long = asking(LONG, cluster=path)
    resources = {name: asked.of_job(long, attempt)[name] for name in ("runtime", "mem_mb", "gpu")}
    assert resources["runtime"] == minutes
    sent = SimpleNamespace(resources=resources, threads=1)
    assert [read.score_job_fit(sent) is not None for read in partitions.read_partition_file(Path(path))].count(True)


def test_each_gpu_has_a_process_with_ram_of_its_own(here: Path) -> None:
    one, long = asking(LONG, cluster=cluster(here, **GPUS_OF_8))
    alone = one.of_job(long)
    asked = JobResources(plan_for(cluster=cluster(here, {"gpus_per_job": 4}, **GPUS_OF_8))).of_job(long)
    ram = memory.RAM_MARGIN * (4 * long.ram + memory.PROCESS[False]) / 1e6
    assert asked["mem_mb"] - 500 < ram <= asked["mem_mb"]
    assert alone["mem_mb"] < asked["mem_mb"] / 4
    assert (alone["gpu"], alone["runtime"], asked["gpu"]) == (1, 600, 4)  # as long as the partition allows


def test_a_training_that_compares_whole_batches_has_one_gpu(here: Path) -> None:
    path = cluster(here, {"gpus_per_job": 4}, **GPUS_OF_8)
    asked, long = asking(LONG, cluster=path)
    assert long.step is not None
    joint = dataclasses.replace(long, step=dataclasses.replace(long.step, joint=("contrast",)))
    assert [asked.of_job(each)["gpu"] for each in (long, joint)] == [4, 1]


@pytest.mark.parametrize(("gigabytes", "micro_batch", "rows"), [(2, None, 1), (None, 8, 8), (None, None, None)])
def test_a_batch_that_is_compared_whole_and_does_not_fit_is_refused(
    here: Path, gigabytes: float | None, micro_batch: int | None, rows: int | None
) -> None:
    asked = {"cluster": cluster(here, {"gpu_memory_gb": gigabytes}), "micro_batch": micro_batch}
    plan = Plan(read_config({"scale": "paper", "precision": "bfloat16", "papers": ["wang2023"], **asked}))
    ask = JobResources(plan).of("distill_on_task")["gpu"]
    of = {"student": CONTRASTED, "task": "mnli", "seeds": "1"}
    if rows is None:
        assert ask(of, 1) == 1
        return
    with pytest.raises(RetortError) as caught:
        ask(of, 1)
    assert str(caught.value) == (
        f"{CONTRASTED}, mnli: 'contrast' needs all 32 examples of a batch at once, and {rows} would go through a GPU; "
        "take a GPU with more memory, leave 'micro_batch' out, or give the student a smaller batch_size"
    )


def test_a_measured_speed_changes_minutes_alone(here: Path) -> None:
    path = cluster(here, {"gpu_memory_gb": 40, "gpus_per_job": 4}, gpu={"max_gpu": 4, "max_runtime": "1d"})
    before, job = asking(LARGE, cluster=path)
    plan = plan_for()
    predicted = {pair: hours_of_a_seed(plan)(*pair) for pair in plan.pairs if pair[0] == "wang2023-kd"}
    calibrate(here)
    after = JobResources(plan_for(cluster=path))
    slow, quick = after.of_job(job), before.of_job(job)
    assert slow.pop("runtime") > quick.pop("runtime")
    assert slow == quick
    assert {pair: hours_of_a_seed(plan)(*pair) for pair in predicted} == predicted


def test_the_teacher_of_companions_runs_once() -> None:
    plan = plan_for()
    names = ("od-layer-12", "hs-layer-12", "minilmv2-layer-12")
    students = [f"udagawa2023-{name}-6l-distilbert-mono" for name in names]
    plan.groups, estimates = {"together": students}, Estimates(plan)
    alone = [estimates.of("distill_students", group=student) for student in students]
    assert alone == [estimates.distill_student(student) for student in students]
    apart = sum((each.work for each in alone), Work())
    nearby = estimates.of("distill_students", group="together")
    # two of three passes of a whole teacher of 12 layers are saved: its forward pass takes as much as two thirds of
    # what a student of 6 layers takes, forward and backward
    assert 0.6 < nearby.work.flops / apart.flops < 0.8
    assert nearby.work.traffic == pytest.approx(apart.traffic)


def test_rules_ask_by_the_wildcards_and_the_attempt_of_a_job(config: dict[str, Any], here: Path) -> None:
    plan = Plan(read_config({**config, "cluster": cluster(here, {"cpus_per_gpu": 6})}))
    asked, job = JobResources(plan), Jobs(plan).at("results/scores/tiny-kd/mood/1-2-3.json")
    assert job
    resources, wildcards = asked.of(job.rule.name), Wildcards(fromdict=vars(job.wildcards))
    assert (resources["nodes"], resources["cpus_per_gpu"]) == (1, 6)
    assert JobResources(plan, are_told=False).of(job.rule.name) == NOTHING
    asks = {name: ask for name, ask in resources.items() if callable(ask)}
    first, second = ({name: ask(wildcards, attempt) for name, ask in asks.items()} for attempt in (1, 2))
    assert second == {**first, "mem_mb": 2 * first["mem_mb"]}
    assert first == {"gpu": 0, "runtime": 20, "mem_mb": first["mem_mb"]}
    one = Estimates(plan).of_seed("tiny-kd", "mood")
    assert job.estimate == dataclasses.replace(one, work=one.work.times(3))  # of three seeds


def companions(plan: Plan) -> list[list[str]]:
    """Return the students that can be distilled side by side, job by job."""
    return jobs_of(plan, plan.task_agnostic, fits_one_job(plan))


@pytest.mark.slow
def test_students_that_share_a_gpu_fit_it_together(here: Path) -> None:
    plan, gigabytes = plan_for(cluster=cluster(here, {"gpu_memory_gb": 24})), 24e9
    jobs, estimates = companions(plan), Estimates(plan)
    assert 0 < sum(map(len, jobs)) < sum(map(len, jobs_of(plan, plan.task_agnostic)))
    for job in jobs:
        shared = estimates.step_together(job)
        assert shared.kept > 0
        assert memory.fits(shared, shared.at_once, gigabytes)
    everywhere = plan_for()  # without a cluster, nothing sets a limit
    assert companions(everywhere) == jobs_of(everywhere, everywhere.task_agnostic)


@pytest.mark.slow
def test_no_job_is_longer_than_the_limit_but_that_of_a_student_or_a_seed_alone() -> None:
    plan = plan_for()
    estimates, hours = Estimates(plan), hours_of_a_seed(plan)
    limited, unlimited = (
        [GUESSED[True].hours(estimates.work_together(job)) for job in companions(plan_for(hours_together=most))]
        for most in (400, None)
    )
    assert 200 < max(limited) <= 400
    assert max(unlimited) > 800
    predicted = {pair: hours(*pair) for pair in plan.pairs if pair[0] in plan.study.students}
    longest = max(predicted, key=lambda pair: predicted[pair])
    assert 1 < predicted[longest] < 100
    divided = divided_seeds(plan_for(hours_of_seeds=predicted[longest]), hours)
    seeds = seeds_of(plan.study, longest[0])
    assert divided["/".join(longest)] == [str(seed) for seed in seeds]
    assert len(seeds) > 1
