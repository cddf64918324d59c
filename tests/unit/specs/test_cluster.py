"""Tests of what every job asks for on a cluster."""

from __future__ import annotations

import pytest
from retort.cost.cluster import Cluster, Partition


@pytest.mark.parametrize(
    ("filled_in", "limit", "workers", "cores"),
    [(None, None, 2, 4), (None, None, 0, 2), (None, 3, 2, 3), (12, None, 6, 12)],
)
def test_a_gpu_has_cores_for_what_prepares_its_batches(
    filled_in: int | None, limit: int | None, workers: int, cores: int
) -> None:
    partitions = {"gpu": Partition(max_gpu=2, max_cpus_per_gpu=limit)} if limit else {}
    assert Cluster(cpus_per_gpu=filled_in, partitions=partitions).of_every_job(workers)["cpus_per_gpu"] == cores


def test_what_is_filled_in_is_asked_for() -> None:
    asked = Cluster(account="all", qos="long", constraint="a&b").of_every_job(0)
    assert (asked["slurm_account"], asked["qos"], asked["constraint"]) == ("all", "long", "a&b")
    assert Cluster().of_every_job(0) == {"nodes": 1, "cpus_per_gpu": 2}
