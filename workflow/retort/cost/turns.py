"""Check jobs that run one after another in a Slurm job: the sum of their minutes must fit a partition."""

from __future__ import annotations

from typing import Any

from retort.errors import RetortError
from retort.specs.cluster import Cluster


def check_minutes(dag: Any, cluster: Cluster) -> None:
    """Check that no group of jobs asks for more minutes than a partition allows: Slurm would never start it.

    Args:
        dag: the jobs of a run that is about to begin.
        cluster: the cluster, with what its partitions allow.

    Raises:
        RetortError: a group asks for more.
    """
    groups = {id(group): group for job in dag.needrun_jobs() if (group := dag.get_job_group(job))}
    for group in groups.values():
        asked = group.resources.get("runtime", 0)
        allowed, _ = cluster.limits(group.resources.get("gpu", 0), group.resources.get("mem_mb", 0))
        if asked > allowed:
            raise RetortError(
                f"the {len(group)} jobs of {group.groupid} would take {asked} minutes one after another, and no "
                f"partition allows more than {allowed:g}",
                "see in_turn in slurm/partitions.yaml: fewer jobs a group, or none of this rule",
            )
