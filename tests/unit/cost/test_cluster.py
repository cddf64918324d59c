"""Tests of the file of a cluster: its limits, its times, and what every job asks for."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from retort.cost.cluster import Cluster, Partition, read_cluster
from snakemake_executor_plugin_slurm import partitions


def cluster(folder: Path, gpus: dict[str, Any] | None = None, **partitions: Any) -> str:
    """Write the file of a cluster, with what it says of GPUs and of partitions, and return its path."""
    (folder / "cluster.yaml").write_text(yaml.safe_dump({"partitions": partitions, **(gpus or {})}))
    return str(folder / "cluster.yaml")


def test_limits_are_those_of_the_best_partition(tmp_path: Path) -> None:
    limits = {"cpu": {"max_runtime": 9000}, "short": {"max_gpu": 4, "max_runtime": 60}}
    gpu = {"max_gpu": 2, "max_runtime": "10h", "max_mem_mb": 1000}
    read = read_cluster(cluster(tmp_path, **limits, gpu=gpu))
    assert read.limits(0) == (9000, math.inf)
    assert read.limits(1) == read.limits(2, 1000) == (600, 1000)  # the longest
    assert read.limits(2, 1001) == (60, math.inf)  # the only one with that memory
    assert read.limits(3) == (60, math.inf)  # the only one with these GPUs
    assert read.limits(5) == (9000, math.inf)  # none
    assert read_cluster(None).limits(1, 1e9) == (math.inf, math.inf)
    old = {"max_gpu": 2, "max_runtime": 900, "available_gpu_models": ["v100"]}
    new = {"max_gpu": 2, "max_runtime": 300, "available_gpu_models": ["h100"]}
    assert read_cluster(cluster(tmp_path, {"gpu_model": "h100"}, old=old, new=new)).limits(1)[0] == 300
    assert read_cluster(cluster(tmp_path, old=old, new=new)).limits(1)[0] == 900


@pytest.mark.parametrize(
    ("asked", "limits", "fits"),
    [
        ({"constraint": "ib,h100"}, {"available_constraints": ["h100", "ib", "ssd"]}, True),
        ({"constraint": "ib,h100"}, {"available_constraints": ["ib"]}, False),
        ({"constraint": "ib"}, {}, True),
        ({}, {"available_constraints": ["ib"]}, True),
        ({"cpus_per_gpu": 8}, {"max_cpus_per_gpu": 8}, True),
        ({"cpus_per_gpu": 9}, {"max_cpus_per_gpu": 8}, False),
        ({}, {"max_cpus_per_gpu": 1}, True),
        ({}, {"slurm_cluster": "other"}, False),
    ],
)
@pytest.mark.parametrize("gpus", [0, 1])
def test_limits_are_of_partitions_to_which_the_plugin_sends_a_job(
    tmp_path: Path, asked: dict[str, Any], limits: dict[str, Any], fits: bool, gpus: int
) -> None:
    path = cluster(
        tmp_path, asked, long={"max_gpu": 2, "max_runtime": 900, **limits}, short={"max_gpu": 2, "max_runtime": 60}
    )
    read = read_cluster(path)
    (long, _), job = partitions.read_partition_file(Path(path)), {"gpu": gpus, **read.of_every_job(workers=2)}
    is_sent = long.score_job_fit(SimpleNamespace(resources=job, threads=1)) is not None
    assert is_sent == (fits or (not gpus and "cpus_per_gpu" in asked))
    assert read.limits(gpus)[0] == (900 if is_sent else 60)


@pytest.mark.parametrize(
    ("written", "minutes"),
    [("2-00:00:00", 2880), ("1-12:30:00", 2190), ("2-12", 3600), ("1-06:15", 1815), ("48:00:00", 2880), (90, 90)],
)
def test_times_may_be_written_as_slurm_does(tmp_path: Path, written: Any, minutes: float) -> None:
    path = cluster(tmp_path, gpu={"max_runtime": written})
    assert read_cluster(path).limits(0)[0] == minutes
    (read,) = partitions.read_partition_file(Path(path))
    assert read.limits.max_runtime == minutes  # as the plugin reads it


def test_the_keys_of_a_partition_are_among_those_that_the_plugin_reads() -> None:
    limits = {field.name for field in dataclasses.fields(partitions.PartitionLimits)}
    assert set(Partition.model_fields) <= limits | {"slurm_cluster"}  # it reads the cluster next to the limits


@pytest.mark.parametrize(
    ("filled_in", "limit", "workers", "cores"),
    [(None, None, 2, 4), (None, None, 0, 2), (None, 3, 2, 3), (12, None, 6, 12)],
)
def test_a_gpu_has_cores_for_what_prepares_its_batches(
    filled_in: int | None, limit: int | None, workers: int, cores: int
) -> None:
    partitions = {"gpu": Partition(max_gpu=2, max_cpus_per_gpu=limit)} if limit else {}
    assert Cluster(cpus_per_gpu=filled_in, partitions=partitions).of_every_job(workers)["cpus_per_gpu"] == cores
