"""Tests of jobs that share a Slurm job: what they ask for together, and that a partition allows it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from retort.errors import RetortError
from retort.plan import slurm_turns
from retort.plan.slurm_turns import check_groups, share_gpu
from retort.specs.cluster import Cluster, Partition
from snakemake.resources import GroupResources, Resources
from snakemake.settings.types import ResourceSettings

CPU, GPU = Partition(max_runtime=300, max_mem_mb=9_000), Partition(max_gpu=1, max_runtime=120)
CLUSTER = Cluster(partitions={"cpu": CPU, "gpu": GPU})
ONE = {"_cores": 1, "gpu": 1, "nodes": 1, "cpus_per_gpu": 4, "runtime": 20, "mem_mb": 1500, "in_turn": 1}


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


@pytest.mark.parametrize(
    "group",
    [None, Group(runtime=60, gpu=0), Group(runtime=120, gpu=1), Group(mem_mb=9_000), Group(mem_mb=9_001, gpu=1)],
)
def test_groups_that_fit_a_partition_may_begin(group: Group | None) -> None:
    check_groups(dag(group), CLUSTER)


@pytest.mark.parametrize(
    ("group", "line"),
    [
        (Group(runtime=130, gpu=1), "take 130 minutes together, and no partition allows more than 120; see in_turn"),
        (Group(mem_mb=9_001), "need 9001 MB together, and no partition allows more than 9000; see at_once"),
    ],
)
def test_a_group_that_no_partition_takes_ends_the_run_with_a_line(group: Group, line: str) -> None:
    partitions = {"cpu": CPU} if "gpu" not in group.resources else CLUSTER.partitions
    with pytest.raises(RetortError, match=f"the 3 jobs of finetune.a.rte would {line} in slurm/partitions.yaml"):
        check_groups(dag(group), Cluster(partitions=partitions))


def asked(at_once: int, jobs: list[dict[str, int]], cluster: Cluster = CLUSTER, attempt: int = 1) -> dict[str, Any]:
    """Return what jobs that share a Slurm job ask for, `at_once` of them at the same time."""
    shared = share_gpu(GroupResources.basic_layered, cluster.model_copy(update={"at_once": at_once}))
    siblings = [SimpleNamespace(resources=job, pipe_group=None, attempt=attempt) for job in jobs]
    return dict(shared(toposorted_jobs=[siblings], constraints=Resources(), run_local=False, sortby=["runtime"]))


def test_jobs_in_turn_ask_for_what_one_needs_and_for_the_minutes_of_all() -> None:
    assert asked(1, [ONE] * 3).items() >= (ONE | {"runtime": 60}).items()


@pytest.mark.parametrize(("at_once", "largest"), [(2, 5_500), (3, 7_000), (8, 7_000)])
def test_jobs_at_the_same_time_share_a_gpu_and_have_memory_and_cores_of_their_own(at_once: int, largest: int) -> None:
    jobs = [ONE, ONE | {"mem_mb": 4_000}, ONE]
    together = min(at_once, 3)
    own = {"_cores": together, "cpus_per_gpu": 4 * together, "mem_mb": largest}
    assert asked(at_once, jobs).items() >= (ONE | {"runtime": 60} | own).items()


def test_there_is_memory_for_the_largest_that_may_run_at_the_same_time() -> None:
    jobs = [ONE | {"runtime": minutes, "mem_mb": memory} for minutes, memory in ((30, 1_000), (20, 4_000), (10, 4_000))]
    assert asked(2, jobs).items() >= {"mem_mb": 8_000, "runtime": 60}.items()


def test_a_group_that_is_tried_again_asks_for_no_more_than_a_partition_allows() -> None:
    jobs = [{"gpu": 0, "runtime": 200, "mem_mb": 6_000, "in_turn": 1}] * 2
    assert asked(2, jobs).items() >= {"runtime": 400, "mem_mb": 12_000}.items()
    cluster = Cluster(partitions={"cpu": CPU})
    assert asked(2, jobs, cluster, attempt=2).items() >= {"runtime": 300, "mem_mb": 9_000}.items()


def test_they_have_no_more_cores_of_a_gpu_than_a_partition_allows() -> None:
    limited = Cluster(partitions={"gpu": Partition(max_gpu=1, max_cpus_per_gpu=6)})
    assert asked(2, [ONE] * 3, limited)["cpus_per_gpu"] == 6


def test_groups_of_the_user_are_left_to_snakemake() -> None:
    jobs = [{name: value for name, value in ONE.items() if name != "in_turn"}] * 3
    assert asked(1, jobs).items() >= {"gpu": 3, "runtime": 20, "mem_mb": 4_500}.items()


def workflow(is_main_process: bool) -> Any:
    """Return a stand-in for Snakemake's workflow; the user has asked for memory of a rule."""
    return SimpleNamespace(
        is_main_process=is_main_process,
        resource_settings=ResourceSettings(overwrite_resources={"encode_task": {"mem_mb": 7}}),
        global_resources=Resources(),
    )


def test_the_users_resources_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupResources, "basic_layered", GroupResources.basic_layered)
    given = workflow(True)
    slurm_turns.limit_jobs(given, Cluster(in_turn={"encode_task": "a", "predict_test": "b"}))
    asked = given.resource_settings._parsed_overwrite_resources
    assert (asked["encode_task"]["mem_mb"].value, asked["encode_task"]["in_turn"].value) == (7, 1)
    assert asked["predict_test"].args == ["in_turn=1"]  # as Snakemake passes it on
    assert not given.global_resources
    assert GroupResources.basic_layered.__module__ == slurm_turns.__name__


def test_a_slurm_job_runs_so_many_of_its_jobs_at_the_same_time() -> None:
    given = workflow(False)
    slurm_turns.limit_jobs(given, Cluster(at_once=2))
    assert given.global_resources["in_turn"].value == 2
