"""The spec of a cluster: its partitions and GPUs, in a file such as slurm/partitions.yaml."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from retort.errors import StudyError
from retort.specs.base import Real, Settings, Spec, Text, Whole
from retort.specs.load import Problems
from retort.specs.yaml_reader import read_yaml

Rule = Text  # such as run_grid
UNITS = {"d": 24 * 60, "h": 60, "m": 1}  # minutes


class Cluster(Spec):
    """What a job can have on a cluster; no number depends on it but by rounding."""

    partitions: dict[Text, Settings | None] = Field(
        default={},
        description="limits of each, as snakemake-executor-plugin-slurm reads them: max_runtime, max_gpu, ...",
    )
    gpu_model: Text | None = Field(default=None, description="the type of GPU that jobs ask for; null: any")
    gpu_rules: list[Rule] = Field(default=[], description="the rules whose jobs ask for that type")
    gpu_memory_gb: Real | None = Field(
        default=None,
        gt=0,
        description="of one GPU, in 1e9 bytes: larger batches go through it in parts; null: no batch is divided",
    )
    gpus_per_job: Whole = Field(
        default=1, ge=1, description="GPUs that a training may ask for if one would take longer than a job may last"
    )

    in_turn: dict[Rule, Text] = Field(
        default={},
        description="rule -> name with wildcards: its jobs of one name share a Slurm job, and run one after another",
    )

    @field_validator("partitions")
    @classmethod
    def _limits(cls, partitions: dict[str, Any]) -> dict[str, Any]:
        for name, limits in partitions.items():
            for key, read in (("max_runtime", minutes), ("max_mem_mb", float), ("max_gpu", int)):
                try:
                    if not read((limits or {}).get(key, 1)) >= 0:  # .nan is not either
                        raise ValueError(key)
                except (TypeError, ValueError):
                    hint = "minutes, or a text such as 2d or 12h" if key == "max_runtime" else "a number"
                    raise ValueError(f"{name}.{key} is {limits[key]!r}; write {hint}") from None
        return partitions

    def largest(self, key: str, gpu: bool) -> float:
        """Return the largest limit of the partitions where a job can run; infinite where one has no such limit.

        Args:
            key: 'max_runtime', in minutes, or 'max_mem_mb'.
            gpu: whether the job asks for a GPU; without a partition that has some, all are asked.
        """
        every = [limits or {} for limits in self.partitions.values()]
        fitting = [limits for limits in every if not gpu or limits.get("max_gpu", 0)] or every
        read = minutes if key == "max_runtime" else float
        return max((read(limits.get(key, math.inf)) for limits in fitting), default=math.inf)


def minutes(value: Any) -> float:
    """Return a time in minutes, from a number of them or a text such as '2d'.

    Raises:
        ValueError: the text is no time.
    """
    written = re.fullmatch(r"(\d+)([dhm])", str(value))
    return int(written[1]) * UNITS[written[2]] if written else float(value)


def read_cluster(path: str | None) -> Cluster:
    """Read the file of a cluster; without one, nothing is limited.

    Raises:
        RetortError: the file cannot be read, or says what it cannot.
    """
    if path is None:
        return Cluster()
    problems = Problems(Path.cwd())
    content = problems.attempt(path, "", read_yaml, Path(path))
    cluster: Cluster | None = None if problems.lines else problems.validate(path, "", Cluster, content or {})
    if cluster is None:
        raise StudyError(problems.lines)
    return cluster
