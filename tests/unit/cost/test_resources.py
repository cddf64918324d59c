"""Tests of the resources that rules ask for."""

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
from retort import attempts
from retort.cli import main
from retort.cost import memory
from retort.cost.estimates import Estimates
from retort.cost.resources import JobResources
from retort.cost.rules import Rules
from retort.cost.work import Work
from retort.plan.companions import Companions
from retort.plan.plan import Plan
from retort.specs.cluster import Partition, read_cluster
from retort.specs.config import read_config
from retort.specs.rules import rules
from snakemake.iocontainers import Wildcards
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


def test_the_rules_are_those_of_the_cost_model() -> None:
    plan = Plan(read_config({}))
    known = {rule.name for held in Rules(plan, Companions(plan)).by_folder.values() for rule, _ in held}
    assert known <= rules().keys()


# --- jobs


def needs(folder: Path, monkeypatch: pytest.MonkeyPatch, scale: str, **config: Any) -> JobResources:
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


STUDENT = Wildcards(fromdict={"student": "udagawa2023-od-layer-12-6l-distilbert-mono"})  # 960 rows of 256 tokens: 82 GB
LONG = Wildcards(fromdict={"student": "minilmv2-6x384-xlm-r-large-layer-24"}), "distill_student"


@pytest.mark.parametrize(("gigabytes", "rows"), [(None, 0), (141, 0), (80, 480), (40, 320), (24, 192)])
def test_the_papers_largest_step_fits_any_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gigabytes: float | None, rows: int
) -> None:
    asked = needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path, {"gpu_memory_gb": gigabytes}))
    assert asked.micro_batch(STUDENT, "distill_student", 1) == rows


@pytest.mark.parametrize(
    ("gigabytes", "rows"),
    [(141, [0, 480, 320, 240, 240]), (80, [480, 240, 160, 120, 120]), (None, [0, 480, 320, 240, 240])],
)
def test_a_job_for_which_a_gpu_was_too_small_takes_fewer_rows_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gigabytes: float | None, rows: list[int]
) -> None:
    asked = needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path, {"gpu_memory_gb": gigabytes}))
    found = [asked.micro_batch(STUDENT, "distill_student", 1)]
    for before in range(4):
        ended("CUDA out of memory. Tried to allocate 2.00 GiB.", monkeypatch, gpu_memory=before)
        found.append(asked.micro_batch(STUDENT, "distill_student", before + 2))
    assert found == rows


@pytest.mark.parametrize(
    ("reason", "ram", "rows"),
    [
        ("", 2, 1),  # it was killed
        ("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory", 2, 1),
        ("process 1: Signal 9 (SIGKILL) received by PID 7", 2, 1),
        ("MemoryError", 2, 1),
        ("process 1: OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", 1, 2),
        ("CUDA error: out of memory", 1, 2),
        ("SIGURG ended it after step 9; its state is kept: run again and it goes on", 1, 1),
        ("SIGTERM ended it after step 9; its state is kept: run again and it goes on", 1, 1),
        ("[Errno 28] No space left on device: 'results/x'", 1, 1),
    ],
)
def test_a_job_asks_for_more_only_of_what_was_too_small(
    reason: str, ram: int, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path, {"gpu_memory_gb": 80}))
    job = STUDENT, "distill_student"
    first = asked.mem_mb(*job, 1), asked.micro_batch(*job, 1)
    ended(reason, monkeypatch)
    assert (asked.mem_mb(*job, 2), asked.micro_batch(*job, 2)) == (ram * first[0], first[1] / rows)


def ended(reason: str, monkeypatch: pytest.MonkeyPatch, job: Wildcards = STUDENT, **before: int) -> None:
    """Leave the note of an attempt of this run that ended with a reason."""
    monkeypatch.setenv(attempts.RUN, "run-1")
    attempt = attempts.Attempt("run-1", "17", "0.0.0", reason=reason, **before)
    attempt.write(attempts.file_of(f"distill_student.{job.student}"))


def test_a_job_without_checkpoints_gets_more_time_when_it_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path, cpu={"max_runtime": 80}))
    encoded = Wildcards(fromdict={"task": "mnli", "tokenizer": "bert-base-uncased"}), "encode_task"
    minutes = [asked.runtime(*encoded, attempt) for attempt in range(1, 7)]
    assert minutes[:2] == [minutes[0], 2 * minutes[0]]
    assert max(minutes) == minutes[-1] == min(4 * minutes[0], 80)
    assert asked.runtime(STUDENT, "distill_student", 1) == asked.runtime(STUDENT, "distill_student", 2)


def test_no_job_asks_for_a_gpu_where_the_device_is_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [needs(tmp_path, monkeypatch, "paper", device=device) for device in ("auto", "cpu")]
    assert [each.gpu(STUDENT, "distill_student", 1) for each in asked] == [1, 0]


@pytest.mark.parametrize(("device", "models"), [("auto", ["h100", None]), ("cpu", [None, None])])
def test_a_type_of_gpu_is_asked_for_where_a_gpu_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, models: list[str | None]
) -> None:
    asked = needs(tmp_path, monkeypatch, "paper", device=device, cluster=cluster(tmp_path, {"gpu_model": "h100"}))
    jobs = [(STUDENT, "distill_student"), (SimpleNamespace(source="cc100"), "fetch_source")]
    assert [asked.gpu_model(*job, 1) for job in jobs] == models
    assert needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path)).gpu_model(*jobs[0], 1) is None


def test_what_a_long_job_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"gpu": {"max_gpu": 8, "max_runtime": 600, "max_mem_mb": 15_000}}
    alone = needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path, **limits))
    several = needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path, {"gpus_per_job": 4}, **limits))
    # as long as the partition allows; it goes on then
    assert (alone.gpu(*LONG, 1), alone.runtime(*LONG, attempt=1)) == (1, 600)
    assert several.gpu(*LONG, 1) == 4
    mem_mb = alone.mem_mb(*LONG, attempt=1)
    ended("", monkeypatch, LONG[0])
    assert mem_mb * 2 > 15_000 == alone.mem_mb(*LONG, attempt=2)
    assert alone.gpu(SimpleNamespace(source="cc100"), "fetch_source", 1) == 0


@pytest.mark.parametrize(("attempt", "minutes"), [(1, 7 * 1440), (2, 240)])
def test_a_job_fits_one_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int, minutes: int) -> None:
    limits: dict[str, Any] = {
        "short": {"max_gpu": 2, "max_runtime": "4h", "max_mem_mb": 500_000},
        "long": {"max_gpu": 2, "max_runtime": "7d", "max_mem_mb": 12_000},
    }
    path = cluster(tmp_path, **limits)
    asked = needs(tmp_path, monkeypatch, "paper", cluster=path)
    if attempt > 1:
        ended("", monkeypatch, LONG[0])
    resources = {name: getattr(asked, name)(*LONG, attempt) for name in ("runtime", "mem_mb")}
    assert resources["runtime"] == minutes
    sent = SimpleNamespace(resources=resources | {"gpu": asked.gpu(*LONG, 1)}, threads=1)
    assert [read.score_job_fit(sent) is not None for read in partitions.read_partition_file(Path(path))].count(True)


def test_each_gpu_has_a_process_with_ram_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"gpu": {"max_gpu": 8, "max_runtime": 600}}
    one, four = (
        needs(tmp_path, monkeypatch, "paper", cluster=cluster(tmp_path, {"gpus_per_job": gpus}, **limits))
        for gpus in (1, 4)
    )
    each, parent = one.estimates.of(LONG[1], LONG[0]).ram, memory.PROCESS[False]
    asked = four.mem_mb(*LONG, attempt=1)
    assert asked - 500 < memory.RAM_MARGIN * (4 * each + parent) / 1e6 <= asked
    assert one.mem_mb(*LONG, attempt=1) < asked / 4


@pytest.mark.parametrize(("device", "by_default"), [("auto", 2), ("cpu", 0)])
def test_a_job_asks_for_the_ram_of_what_prepares_its_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, by_default: int
) -> None:
    default, same, many = (
        needs(tmp_path, monkeypatch, "paper", device=device, dataloader_num_workers=workers).estimates.of(
            LONG[1], LONG[0]
        )
        for workers in (None, by_default, 16)
    )
    assert default == same
    assert many.ram >= default.ram + (16 - by_default) * memory.WORKER_BYTES


def test_a_measured_speed_changes_minutes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cluster(tmp_path, {"gpu_memory_gb": 40, "gpus_per_job": 4}, gpu={"max_gpu": 4, "max_runtime": "1d"})
    before = needs(tmp_path, monkeypatch, "paper", cluster=path)
    kept = {"flops": 1e13, "bandwidth": 1e12, "relations": 1, "start": 9, "fork": 1, "device": "cuda: a GPU"}
    Path("results").mkdir()
    Path("results/calibration.json").write_text(
        json.dumps({**kept, "threads": 1, "precision": "bfloat16", "at": "2026-11-22"})
    )
    after = needs(tmp_path, monkeypatch, "paper", cluster=path)
    job = STUDENT, "distill_student"
    assert after.runtime(*job, attempt=1) > before.runtime(*job, attempt=1)
    assert after.gpu(*job, 1) == before.gpu(*job, 1)
    assert after.micro_batch(*job, 1) == before.micro_batch(*job, 1)


def test_a_cpu_divides_only_if_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = SimpleNamespace(student="pocket-kd", task="movies", seed="1"), "distill_on_task"
    small = cluster(tmp_path, {"gpu_memory_gb": 24})
    on_cpu = needs(tmp_path, monkeypatch, "paper", cluster=small, device="cpu")
    assert on_cpu.micro_batch(STUDENT, "distill_student", 2) == 0  # with a GPU 192, see above
    assert needs(tmp_path, monkeypatch, "pocket", micro_batch=4).micro_batch(*job, 2) == 4
    assert needs(tmp_path, monkeypatch, "pocket").gpu(*job, 1) == 0


STUDENTS = [f"udagawa2023-{name}-6l-distilbert-mono" for name in ("od-layer-12", "hs-layer-12", "minilmv2-layer-12")]


def test_the_teacher_of_companions_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = Plan(read_config({"scale": "paper", "precision": "bfloat16"}))
    alone = Estimates(plan)
    beside = Estimates(plan, {"teacher.1": STUDENTS})
    apart = sum((alone.alone(student).work for student in STUDENTS), Work())
    shared = beside.of("distill_together", SimpleNamespace(companions="teacher.1"))
    # two of three passes of a whole teacher of 12 layers are saved: its forward pass takes as much as two thirds of
    # what a student of 6 layers takes, forward and backward
    assert 0.6 < shared.work.flops / apart.flops < 0.8
    assert shared.work.traffic == pytest.approx(apart.traffic)
    own = SimpleNamespace(student=STUDENTS[0])
    assert beside.of("distill_student", own).work == Work()  # its checkpoint is finished


def test_a_student_that_its_companions_job_trained_asks_for_the_time_to_save_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = cluster(tmp_path, {"gpus_per_job": 2}, gpu={"max_gpu": 2, "max_runtime": "1d"})
    plan = Plan(read_config({"scale": "paper", "precision": "bfloat16", "cluster": path}))
    beside, alone = JobResources(plan, {"teacher.1": STUDENTS}), JobResources(plan)
    own = Wildcards(fromdict={"student": STUDENTS[0]}), "distill_student"
    assert (beside.runtime(*own, 1), beside.gpu(*own, 1), beside.only_saves(*own, 1)) == (20, 1, 1)
    for name in ("runtime", "gpu", "micro_batch"):  # tried again, it may have to train
        assert getattr(beside, name)(*own, 2) == getattr(alone, name)(*own, 2)
    assert (beside.only_saves(*own, 2), alone.only_saves(*own, 1)) == (0, 0)
    assert alone.runtime(*own, 1) == alone.runtime(*own, 2) > 20
