"""What jobs that share a Slurm job ask for together, and how many of them run at the same time.

Each of them needs a unit of the resource `in_turn`, and a Slurm job has as many units as `at_once` of
slurm/partitions.yaml says. Jobs that run at the same time share a GPU, and each has memory and cores of its own. They
are given the time that they take one after another, as each may need all of the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from snakemake.resources import GroupResources, Resource, Resources

from retort.errors import RetortError
from retort.jobs import IN_TURN
from retort.specs.cluster import Cluster

Asked = Mapping[str, str | int]
CORES = "cpus_per_gpu"
OWN = ("_cores", CORES, "mem", "mem_mb", "mem_mib", "disk", "disk_mb", "disk_mib")  # not shared with other jobs


def limit_jobs(workflow: Any, cluster: Cluster) -> None:
    """Let `at_once` jobs of a Slurm job run at the same time, and ask for one GPU and one node together.

    This is no part of the profile, because `--set-resources` on the command line would replace it, and a `--resources`
    is not passed on to the Snakemake of a Slurm job.

    Args:
        workflow: Snakemake's workflow, before the first rule is read.
        cluster: the cluster.
    """
    asked = workflow.resource_settings._parsed_overwrite_resources
    for rule in cluster.in_turn:
        asked.setdefault(rule, Resources())[IN_TURN] = _units(1)
    if workflow.is_main_process:
        GroupResources.basic_layered = share_gpu(GroupResources.basic_layered, cluster)
    else:  # in a Slurm job; without a limit, as many run as it has cores
        workflow.global_resources[IN_TURN] = _units(cluster.at_once)


def _units(number: int) -> Resource:
    """Return a number of units of the resource; the number is also how Snakemake passes it on to a Slurm job."""
    return Resource(IN_TURN, number, raw=str(number))


def share_gpu(add_up: Callable[..., Asked], cluster: Cluster) -> Callable[..., Asked]:
    """Wrap the function that adds up what the jobs of a group ask for.

    Args:
        add_up: Snakemake's function. Of jobs at the same time, it adds up everything but the minutes.
        cluster: the cluster.
    """

    def shared(*, constraints: Resources, **settings: Any) -> Asked:
        in_turn = add_up(constraints=_limited(constraints, 1), **settings)
        if IN_TURN not in in_turn:  # a group of the user's
            return add_up(constraints=constraints, **settings)
        # sorted, since those with the most memory may run at the same time
        largest = {**settings, "sortby": ["mem_mb"]}
        at_once = add_up(constraints=_limited(constraints, cluster.at_once), **largest)
        asked = {**in_turn, **{name: at_once[name] for name in OWN if name in at_once}}
        if CORES in asked and cluster.most_cpus_per_gpu:
            asked[CORES] = min(int(asked[CORES]), cluster.most_cpus_per_gpu)
        is_retry = any(job.attempt > 1 for level in settings["toposorted_jobs"] for job in level)
        return _fitting(asked, cluster) if is_retry else asked

    return shared


def _limited(constraints: Resources, number: int) -> Resources:
    """Return constraints by which so many jobs run at the same time."""
    return Resources({**constraints, IN_TURN: _units(number)})


def _fitting(asked: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
    """Return what a group asks for, at most what a partition allows.

    A job that is tried again may ask for more, and Slurm would never start its group. Jobs of the group that have
    finished keep their results, so that each try gets further.
    """
    minutes, memory = cluster.limits(asked.get("gpu", 0), asked.get("mem_mb", 0))
    limits = {"runtime": minutes, "mem_mb": memory}
    return asked | {name: int(min(asked[name], limit)) for name, limit in limits.items() if name in asked}


def check_groups(dag: Any, cluster: Cluster) -> None:
    """Check that no group of jobs asks for more than a partition allows: Slurm would never start it.

    Args:
        dag: the jobs of a run that is about to begin.
        cluster: the cluster, with what its partitions allow.

    Raises:
        RetortError: a group asks for more minutes or memory.
    """
    groups = {id(group): group for job in dag.needrun_jobs() if (group := dag.get_job_group(job))}
    for group in groups.values():
        minutes, memory = group.resources.get("runtime", 0), group.resources.get("mem_mb", 0)
        most_minutes, most_memory = cluster.limits(group.resources.get("gpu", 0), memory)
        hint = "in_turn in slurm/partitions.yaml: fewer jobs a group"
        _check(group, f"take {minutes} minutes", minutes, most_minutes, hint)
        hint = "at_once in slurm/partitions.yaml: fewer jobs at the same time"
        _check(group, f"need {memory} MB", memory, most_memory, hint)


def _check(group: Any, words: str, asked: int, most: float, hint: str) -> None:
    """Raise an error if a group of jobs asks for more than `most`."""
    if asked > most:
        raise RetortError(
            f"the {len(group)} jobs of {group.groupid} would {words} together, and no partition allows more than "
            f"{most:g}",
            f"see {hint}, or none of this rule",
        )
