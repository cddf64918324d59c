"""Tests of the resources that jobs ask for."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from retort.cli import main
from retort.cost import memory
from retort.cost.cluster import Partition, read_cluster
from retort.cost.estimates import Estimate, Estimates
from retort.cost.jobs import Jobs
from retort.cost.resources import JobResources
from retort.cost.speed import Work
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.specs.config import read_config
from snakemake_executor_plugin_slurm import partitions


def cluster(folder: Path, gpus: dict[str, Any] | None = None, **partitions: Any) -> str:
    """Write the file of a cluster, with what it says of GPUs and of partitions, and return its path."""
    (folder / "cluster.yaml").write_text(yaml.safe_dump({"partitions": partitions, **(gpus or {})}))
    return str(folder / "cluster.yaml")


def test_limits_are_those_of_the_best_partition(tmp_path: Path) -> None:
    read = read_cluster(cluster(tmp_path, cpu={"max_runtime": 9000}, short={"max_gpu": 4, "max_runtime": 60},
                                gpu={"max_gpu": 2, "max_runtime": "10h", "max_mem_mb": 1000}))  # fmt: skip
    assert read.limits(0) == (9000, math.inf)
    assert read.limits(1) == read.limits(2, 1000) == (600, 1000)  # the longest
    assert read.limits(2, 1001) == (60, math.inf)  # the only one with that memory
    assert read.limits(3) == (60, math.inf)  # the only one with these GPUs
    assert read.limits(5) == (9000, math.inf)  # none
    assert read_cluster(None).limits(1, 1e9) == (math.inf, math.inf)


def test_limits_are_those_of_a_partition_with_the_type_of_gpu(tmp_path: Path) -> None:
    old = {"max_gpu": 2, "max_runtime": 900, "available_gpu_models": ["v100"]}
    new = {"max_gpu": 2, "max_runtime": 300, "available_gpu_models": ["h100"]}
    assert read_cluster(cluster(tmp_path, {"gpu_model": "h100"}, old=old, new=new)).limits(1)[0] == 300
    assert read_cluster(cluster(tmp_path, old=old, new=new)).limits(1)[0] == 900


@pytest.mark.parametrize(
    ("written", "minutes"),
    [("2-00:00:00", 2880), ("1-12:30:00", 2190), ("2-12", 3600), ("1-06:15", 1815), ("48:00:00", 2880), (90, 90)],
)
def test_times_may_be_written_as_slurm_does(tmp_path: Path, written: Any, minutes: float) -> None:
    path = cluster(tmp_path, gpu={"max_runtime": written})
    assert read_cluster(path).limits(0)[0] == minutes
    (read,) = partitions.read_partition_file(Path(path))
    assert read.limits.max_runtime == minutes  # as the plugin reads it


def test_a_file_of_a_cluster_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text(f"cluster: {tmp_path}/nowhere.yaml\n")
    assert main(["check", "--config", str(tmp_path / "mine.yaml")]) == 2
    assert f"{tmp_path}/nowhere.yaml: cannot be read (No such file or directory)" in capsys.readouterr().err


def test_the_limits_of_a_partition_are_those_that_the_plugin_reads(tmp_path: Path) -> None:
    names_of_the_cluster = {"slurm_cluster", "cluster", "clusters"}  # read beside the limits
    limits = dataclasses.fields(partitions.PartitionLimits)
    assert set(Partition.model_fields) == {field.name for field in limits} | names_of_the_cluster
    path = cluster(tmp_path, gpu={"max_runtime": "2d", "max_gpu": 2, "available_gpu_models": None}, cpu={})
    assert read_cluster(path).partitions.keys() == {read.name for read in partitions.read_partition_file(Path(path))}


# --- jobs


def needs(folder: Path, monkeypatch: pytest.MonkeyPatch, scale: str = "paper", **config: Any) -> JobResources:
    """Return the resources of the papers' jobs at a scale, in an empty folder."""
    monkeypatch.chdir(folder)
    asked = read_config({"scale": scale, "precision": "bfloat16", **config})
    plan = copy.copy(plan_at(asked.scale, asked.device))
    plan.config = asked
    return JobResources(plan)


@functools.cache
def plan_at(scale: str, device: str) -> Plan:
    """Return the plan of the papers at a scale; no cluster changes it."""
    return Plan(read_config({"scale": scale, "precision": "bfloat16", "device": device}))


def large(asked: JobResources) -> Estimate:
    """Return the estimate of a student with batches of 960 rows of 256 tokens: 82 GB on one GPU."""
    return asked.estimates.alone("udagawa2023-od-layer-12-6l-distilbert-mono")


def long(asked: JobResources) -> Estimate:
    """Return the estimate of the student that takes longest."""
    return asked.estimates.alone("minilmv2-6x384-xlm-r-large-layer-24")


FETCHED = Rule("fetch_source", {"folder": "results/sources/{source}"})


@pytest.mark.parametrize(("gigabytes", "rows"), [(None, 0), (141, 0), (80, 480), (40, 320), (24, 192)])
def test_the_papers_largest_step_fits_any_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gigabytes: float | None, rows: int
) -> None:
    asked = needs(tmp_path, monkeypatch, cluster=cluster(tmp_path, {"gpu_memory_gb": gigabytes}))
    assert asked.micro_batch(large(asked)) == rows
    assert asked.rows(large(asked)) == 960  # of which a job takes fewer at once after a GPU was too small


def test_a_job_that_is_tried_again_asks_for_more_ram_and_for_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = needs(tmp_path, monkeypatch, cluster=cluster(tmp_path, {"gpu_memory_gb": 80}))
    job = large(asked)
    first = asked.mem_mb(job, 1)
    assert [asked.mem_mb(job, attempt) for attempt in range(1, 7)] == [first * times for times in (1, 2, 3, 4, 4, 4)]
    for ask in (asked.gpu, asked.micro_batch, asked.rows, asked.runtime):
        assert ask(job, 1) == ask(job, 5)


def test_a_job_without_checkpoints_gets_more_time_when_it_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = needs(tmp_path, monkeypatch, cluster=cluster(tmp_path, cpu={"max_runtime": 80}))
    rule = Rule("encode_task", {"folder": "results/encoded/{task}/{tokenizer}"})
    encoded = asked.estimates.of(rule, SimpleNamespace(task="mnli", tokenizer="bert-base-uncased"))
    minutes = [asked.runtime(encoded, attempt) for attempt in range(1, 7)]
    assert minutes[:2] == [minutes[0], 2 * minutes[0]]
    assert max(minutes) == minutes[-1] == min(4 * minutes[0], 80)


@pytest.mark.parametrize(("device", "gpus", "model"), [("auto", 1, "h100"), ("cpu", 0, None)])
def test_a_gpu_and_its_type_are_asked_for_where_the_device_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, gpus: int, model: str | None
) -> None:
    asked = needs(tmp_path, monkeypatch, device=device, cluster=cluster(tmp_path, {"gpu_model": "h100"}))
    assert (asked.gpu(large(asked)), asked.gpu_model(large(asked))) == (gpus, model)
    fetched = asked.estimates.of(FETCHED, SimpleNamespace(source="cc100"))
    assert (asked.gpu(fetched), asked.gpu_model(fetched)) == (0, None)
    assert needs(tmp_path, monkeypatch, cluster=cluster(tmp_path)).gpu_model(large(asked)) is None


def test_what_a_long_job_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"gpu": {"max_gpu": 8, "max_runtime": 600, "max_mem_mb": 15_000}}
    alone = needs(tmp_path, monkeypatch, cluster=cluster(tmp_path, **limits))
    several = needs(tmp_path, monkeypatch, cluster=cluster(tmp_path, {"gpus_per_job": 4}, **limits))
    # as long as the partition allows; it goes on then
    assert (alone.gpu(long(alone)), alone.runtime(long(alone), 1)) == (1, 600)
    assert (several.gpu(long(several)), several.rows(long(several))) == (4, alone.rows(long(alone)) / 4)
    assert alone.mem_mb(long(alone), 1) * 2 > 15_000 == alone.mem_mb(long(alone), 2)


@pytest.mark.parametrize(("attempt", "minutes"), [(1, 7 * 1440), (2, 240)])
def test_a_job_fits_one_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int, minutes: int) -> None:
    limits: dict[str, Any] = {
        "short": {"max_gpu": 2, "max_runtime": "4h", "max_mem_mb": 500_000},
        "long": {"max_gpu": 2, "max_runtime": "7d", "max_mem_mb": 12_000},
    }
    path = cluster(tmp_path, **limits)
    asked = needs(tmp_path, monkeypatch, cluster=path)
    resources = {name: getattr(asked, name)(long(asked), attempt) for name in ("runtime", "mem_mb", "gpu")}
    assert resources["runtime"] == minutes
    sent = SimpleNamespace(resources=resources, threads=1)
    assert [read.score_job_fit(sent) is not None for read in partitions.read_partition_file(Path(path))].count(True)


def test_each_gpu_has_a_process_with_ram_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"gpu": {"max_gpu": 8, "max_runtime": 600}}
    one, four = (
        needs(tmp_path, monkeypatch, cluster=cluster(tmp_path, {"gpus_per_job": gpus}, **limits)) for gpus in (1, 4)
    )
    each, parent = long(one).ram, memory.PROCESS[False]
    asked = four.mem_mb(long(four), 1)
    assert asked - 500 < memory.RAM_MARGIN * (4 * each + parent) / 1e6 <= asked
    assert one.mem_mb(long(one), 1) < asked / 4


@pytest.mark.parametrize(("device", "by_default"), [("auto", 2), ("cpu", 0)])
def test_a_job_asks_for_the_ram_of_what_prepares_its_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, by_default: int
) -> None:
    default, same, many = (
        long(needs(tmp_path, monkeypatch, device=device, dataloader_num_workers=workers))
        for workers in (None, by_default, 16)
    )
    assert default == same
    assert many.ram >= default.ram + (16 - by_default) * memory.WORKER_BYTES


def test_a_measured_speed_changes_minutes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cluster(tmp_path, {"gpu_memory_gb": 40, "gpus_per_job": 4}, gpu={"max_gpu": 4, "max_runtime": "1d"})
    before = needs(tmp_path, monkeypatch, cluster=path)
    kept = {"flops": 1e13, "bandwidth": 1e12, "relations": 1, "start": 9, "fork": 1, "device": "cuda: a GPU"}
    Path("results").mkdir()
    Path("results/calibration.json").write_text(
        json.dumps({**kept, "threads": 1, "precision": "bfloat16", "at": "2026-11-22"})
    )
    after = needs(tmp_path, monkeypatch, cluster=path)
    job = large(before)
    assert after.runtime(job, 1) > before.runtime(job, 1)
    for name in ("gpu", "micro_batch", "rows"):
        assert getattr(after, name)(job) == getattr(before, name)(job)


def test_a_cpu_divides_only_if_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu = needs(tmp_path, monkeypatch, cluster=cluster(tmp_path, {"gpu_memory_gb": 24}), device="cpu")
    assert (on_cpu.micro_batch(large(on_cpu)), on_cpu.rows(large(on_cpu))) == (0, 0)
    told = needs(tmp_path, monkeypatch, "pocket", micro_batch=4)
    job = told.estimates.of_seed("pocket-kd", "movies")
    assert (told.micro_batch(job), told.gpu(job)) == (4, 0)


def test_the_teacher_of_companions_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = needs(tmp_path, monkeypatch)
    names = ("od-layer-12", "hs-layer-12", "minilmv2-layer-12")
    students = tuple(f"udagawa2023-{name}-6l-distilbert-mono" for name in names)
    apart = sum((asked.estimates.alone(student).work for student in students), Work())
    rule = Rule("distill_together", {"folders": list(students)}, students=students)
    beside = asked.estimates.of(rule, SimpleNamespace())
    # two of three passes of a whole teacher of 12 layers are saved: its forward pass takes as much as two thirds of
    # what a student of 6 layers takes, forward and backward
    assert 0.6 < beside.work.flops / apart.flops < 0.8
    assert beside.work.traffic == pytest.approx(apart.traffic)


def test_rules_ask_by_the_wildcards_and_the_attempt_of_a_job(config: dict[str, Any], tmp_path: Path) -> None:
    plan = Plan(read_config({**config, "cluster": cluster(tmp_path, {"cpus_per_gpu": 6})}))
    asked, jobs = JobResources(plan), Jobs(plan)
    job = jobs.at("results/scores/tiny-kd/mood/seed-1.json")
    assert job
    resources = asked.of(job.rule)
    assert (resources["nodes"], resources["cpus_per_gpu"]) == (1, 6)
    first, second = ({name: ask(job.wildcards, attempt) for name, ask in resources.items() if callable(ask)}
                     for attempt in (1, 2))  # fmt: skip
    assert second == {**first, "mem_mb": 2 * first["mem_mb"]}
    assert first == {"gpu": 0, "gpu_model": None, "runtime": 20, "mem_mb": first["mem_mb"], "micro_batch": 0, "rows": 0}
    one = Estimates(plan).of_seed("tiny-kd", "mood")
    assert job.estimate == dataclasses.replace(one, work=one.work.times(3))  # of three seeds
