"""The spec of a cluster: its partitions and GPUs, in a file such as slurm/partitions.yaml."""

from __future__ import annotations

import math
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator

from retort.errors import StudyError
from retort.specs.base import Distinct, Real, Spec, Whole
from retort.specs.loading import Problems
from retort.specs.yaml_reader import read_yaml

# As Slurm writes times, or with a unit. Not minutes:seconds, nor 0 days: the plugin reads both as other times.
TIMES = (
    r"(?P<days>\d+)d",
    r"(?P<hours>\d+)h",
    r"(?P<minutes>\d+)m",
    r"(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)",
    r"(?P<days>[1-9]\d*)-(?P<hours>\d+)(:(?P<minutes>\d\d)(:(?P<seconds>\d\d))?)?",
)


def minutes(value: Any) -> float:
    """Return a time in minutes; the value is a number of minutes or a text such as '2d' or '2-00:00:00'.

    Raises:
        ValueError: it is no time, or not above 0.
    """
    written = str(value)
    found = next(filter(None, (re.fullmatch(form, written) for form in TIMES)), None)
    try:
        units = {name: int(digits) for name, digits in found.groupdict().items() if digits} if found else {}
        time = timedelta(**units).total_seconds() / 60 if units else float(value)
    except (TypeError, ValueError, OverflowError):
        time = math.nan
    # float() and int() read the digits of any script
    if isinstance(value, bool) or not written.isascii() or not 0 < time < math.inf:
        forms = "minutes, or a text such as 2d, 12h or 2-00:00:00"
        raise ValueError(f"{value!r} is no time; write {forms}; leave the key out if there is no limit")
    return time


Minutes = Annotated[float, BeforeValidator(minutes)]
Megabytes = Annotated[Real, Field(gt=0)]
Count = Annotated[Whole, Field(gt=0)]
FURTHER = 2  # cores: of the training itself, and of the thread that copies batches to the GPU
LEAST_GPU_MEMORY = 2  # 1e9 bytes, of a process that uses CUDA
# names of Slurm: parts of its command line, some of them of names of files
SlurmName = Annotated[str, StringConstraints(pattern=r"^[\w.@-]+$")]
OneWord = Annotated[str, StringConstraints(pattern=r"^\S+$")]  # it becomes a part of Slurm's command line


class Partition(Spec):
    """What a partition allows; what is left out has no limit, but for GPUs.

    The keys are those that snakemake-executor-plugin-slurm reads, without those that say nothing of jobs of one task on
    one node. The plugin fails at others, and at most that have no value.
    """

    max_runtime: Minutes = Field(default=math.inf, description="minutes of a job, or a text such as 2d or 12h")
    max_mem_mb: Megabytes = Field(default=math.inf, description="of a job on a node")
    max_mem_mb_per_cpu: Megabytes = Field(default=math.inf, description="of a core")
    max_cpus_per_task: Count | None = Field(default=None, description="cores of a task")
    max_threads: Count | None = Field(default=None, description="threads of a job")
    max_gpu: Whole = Field(default=0, ge=0, description="GPUs of a job")
    available_gpu_models: Distinct[SlurmName] | None = Field(default=None, description="types of GPU; null: any")
    max_cpus_per_gpu: Count | None = Field(default=None, description="cores of a GPU")
    available_constraints: Distinct[OneWord] | None = Field(default=None, description="features of nodes; null: any")
    slurm_cluster: SlurmName | None = Field(default=None, description="the cluster, where there are several")

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None and not str(info.field_name).startswith("available_"):
            raise ValueError("it has no value; leave the key out if there is no limit")
        return value


class Cluster(Spec):
    """What a job can have on a cluster.

    Numbers depend on it as on the processor: by rounding, and, where a batch goes through a GPU in parts, by the masks
    of dropout that each part draws.
    """

    partitions: dict[SlurmName, Partition] = Field(
        default={}, description="limits of each, as snakemake-executor-plugin-slurm reads them; {} for none"
    )
    account: SlurmName | None = Field(default=None, description="the account that jobs are booked on; null: the user's")
    qos: SlurmName | None = Field(default=None, description="the quality of service of all jobs; null: the account's")
    constraint: OneWord | None = Field(default=None, description="features of the nodes of all jobs; null: any")
    gpu_model: SlurmName | None = Field(default=None, description="the type of GPU that jobs ask for; null: any")
    cpus_per_gpu: Count | None = Field(
        default=None,
        description="cores that a job asks for with each GPU; null: those that prepare its batches, and two",
    )
    gpu_memory_gb: Real | None = Field(
        default=None,
        ge=LEAST_GPU_MEMORY,
        le=10_000,
        description="of one GPU, in 1e9 bytes: larger batches go through it in parts; null: only those that have been "
        f"too large for a GPU. At least {LEAST_GPU_MEMORY}, because CUDA and its libraries take more than 1",
    )
    gpus_per_job: Whole = Field(
        default=1,
        ge=1,
        le=64,
        description="GPUs that a training may ask for if one would take longer than a job may last; at most 64, more "
        "than a node has",
    )

    @field_validator("gpu_model")
    @classmethod
    def _of_a_partition(cls, model: str | None, info: ValidationInfo) -> str | None:
        partitions = info.data.get("partitions", {}).values()
        with_gpus = [each.available_gpu_models for each in partitions if each.max_gpu]
        if model and with_gpus and all(known and model not in known for known in with_gpus):
            there = ", ".join(sorted({each for known in with_gpus for each in known or ()}))
            raise ValueError(f"no partition has GPUs of type {model!r}; there are {there}")
        return model

    @field_validator("gpus_per_job")
    @classmethod
    def _on_a_node(cls, gpus: int, info: ValidationInfo) -> int:
        most = max((partition.max_gpu for partition in info.data.get("partitions", {}).values()), default=0)
        if gpus > most > 0:
            raise ValueError(f"no partition takes jobs with {gpus} GPUs; the largest max_gpu is {most}")
        return gpus

    @property
    def gpu_memory(self) -> float | None:
        """The bytes of memory of a GPU; None if unknown."""
        return None if self.gpu_memory_gb is None else self.gpu_memory_gb * 1e9

    def of_every_job(self, workers: int) -> dict[str, int | str]:
        """Return what every job asks for next to its own time and memory: name of the resource -> value.

        A job is on one node, because Slurm may otherwise spread its GPUs over several. The plugin uses `cpus_per_gpu`
        only for jobs with a GPU.

        Args:
            workers: the processes that prepare the batches of a training.
        """
        most = [each.max_cpus_per_gpu for each in self.partitions.values() if each.max_cpus_per_gpu]
        cores = self.cpus_per_gpu or min([workers + FURTHER, *most])
        asked = {
            "nodes": 1,
            "cpus_per_gpu": cores,
            "slurm_account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def limits(self, gpus: int, mem_mb: float = 0) -> tuple[float, float]:
        """Return the (minutes, megabytes) that a job may take at most on its best partition; inf without a limit.

        The best partition takes the job, has its memory, and has the longest time limit. If none has enough memory, it
        is the one with the most.

        Args:
            gpus: the GPUs that the job asks for; if no partition takes it, all partitions are considered.
            mem_mb: the megabytes that it needs.
        """
        every = list(self.partitions.values()) or [Partition()]
        taking = [partition for partition in every if self._is_sent_to(partition, gpus)] or every
        with_memory = [partition for partition in taking if partition.max_mem_mb >= mem_mb]
        if with_memory:
            best = max(with_memory, key=lambda partition: partition.max_runtime)
        else:
            best = max(taking, key=lambda partition: (partition.max_mem_mb, partition.max_runtime))
        return best.max_runtime, best.max_mem_mb

    def _is_sent_to(self, partition: Partition, gpus: int) -> bool:
        """Return whether the plugin sends a job to a partition that has its memory and time; jobs name no cluster."""
        features, there = set(filter(None, (self.constraint or "").split(","))), partition.available_constraints
        if partition.slurm_cluster or (there and not features <= set(there)):
            return False
        models, cores = partition.available_gpu_models, partition.max_cpus_per_gpu or sys.maxsize
        of_type = not models or self.gpu_model in (None, *models)
        return not gpus or (gpus <= partition.max_gpu and of_type and (self.cpus_per_gpu or 0) <= cores)


def read_cluster(path: str | None) -> Cluster:
    """Read the file of a cluster; without one, nothing is limited.

    Raises:
        RetortError: the file cannot be read, or has a wrong key or value.
    """
    if path is None:
        return Cluster()
    problems = Problems(Path.cwd())
    content = problems.attempt(path, "", read_yaml, Path(path))
    cluster: Cluster | None = None if problems.lines else problems.validate(path, "", Cluster, content or {})
    if cluster is None:
        raise StudyError(problems.lines)
    return cluster
