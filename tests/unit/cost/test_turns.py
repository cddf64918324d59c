"""Tests of groups of jobs that share a Slurm job: the sum of their minutes is one that a partition allows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from retort.cost.turns import check_minutes
from retort.errors import RetortError
from retort.specs.cluster import Cluster, Partition

CLUSTER = Cluster(partitions={"cpu": Partition(max_runtime=300), "gpu": Partition(max_gpu=1, max_runtime=120)})


class Group:
    """A group of three jobs, as Snakemake has it."""

    groupid = "finetune.a.rte"

    def __init__(self, **resources: int) -> None:
        self.resources = resources

    def __len__(self) -> int:
        return 3


def dag(group: Group | None) -> Any:
    """Return a stand-in for the jobs of a run, of which two are in a group."""
    return SimpleNamespace(
        needrun_jobs=lambda: ["a", "b", "alone"], get_job_group=lambda job: None if job == "alone" else group
    )


@pytest.mark.parametrize("group", [None, Group(runtime=60, gpu=0), Group(runtime=120, gpu=1)])
def test_groups_that_fit_a_partition_may_begin(group: Group | None) -> None:
    check_minutes(dag(group), CLUSTER)


def test_a_group_that_no_partition_takes_ends_the_run_with_a_line() -> None:
    with pytest.raises(RetortError, match=r"the 3 jobs of finetune\.a\.rte would take 130 minutes .* more than 120;"):
        check_minutes(dag(Group(runtime=130, gpu=1)), CLUSTER)
