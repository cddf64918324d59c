"""What every Slurm job asks for beside its own time and memory: default resources that the command line cannot lose.

Those of a profile would be replaced, all of them, by a `--default-resources` on the command line.
"""

from __future__ import annotations

from typing import Any

from snakemake.resources import Resource

from retort.specs.cluster import Cluster


def of_every_job(cluster: Cluster) -> dict[str, int | str]:
    """Return the resources of every job: name -> value; one node, as Slurm may spread GPUs over several."""
    asked = {"nodes": 1, "slurm_account": cluster.account, "qos": cluster.qos, "constraint": cluster.constraint}
    return {name: value for name, value in asked.items() if value is not None}


def add_defaults(settings: Any, cluster: Cluster) -> None:
    """Add what every job asks for to the default resources, of which those that the user gave stay.

    Args:
        settings: Snakemake's resource settings, before the first rule is read.
        cluster: the cluster.
    """
    for name, value in of_every_job(cluster).items():
        # quoted, because the jobs' own Snakemake gets it as an expression
        settings._parsed_default_resources.setdefault(name, Resource(name, value, raw=repr(value)))
