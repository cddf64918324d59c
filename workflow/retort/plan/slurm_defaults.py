"""Default resources: what every Slurm job asks for beside its own time and memory.

They are no `default-resources` of a profile, because `--default-resources` on the command line would replace all of
those.
"""

from __future__ import annotations

import sys
from typing import Any

from snakemake.resources import Resource

from retort.specs.cluster import Cluster
from retort.specs.config import Config

FURTHER = 2  # cores: of the training itself, and of the thread that copies batches to the GPU


def of_every_job(config: Config, cluster: Cluster) -> dict[str, int | str]:
    """Return the resources of every job: name -> value.

    A job is on one node, because Slurm may otherwise spread its GPUs over several. The plugin uses `cpus_per_gpu` only
    for jobs with a GPU.
    """
    asked = {
        "nodes": 1,
        "cpus_per_gpu": cluster.cpus_per_gpu
        or min(config.workers(gpu=True) + FURTHER, cluster.most_cpus_per_gpu or sys.maxsize),
        "slurm_account": cluster.account,
        "qos": cluster.qos,
        "constraint": cluster.constraint,
    }
    return {name: value for name, value in asked.items() if value is not None}


def add_defaults(settings: Any, config: Config, cluster: Cluster) -> None:
    """Add what every job asks for to Snakemake's default resources; values that the user gave stay.

    Args:
        settings: Snakemake's resource settings, before the first rule is read.
        config: the configuration.
        cluster: the cluster.
    """
    for name, value in of_every_job(config, cluster).items():
        # quoted, because the jobs' own Snakemake gets it as an expression
        settings._parsed_default_resources.setdefault(name, Resource(name, value, raw=repr(value)))
