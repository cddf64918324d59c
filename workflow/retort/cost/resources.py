"""The resources of jobs, as Snakemake's rules ask for them: GPUs, minutes, RAM and the rows that fit a GPU.

A changed resource re-runs no job, because Snakemake's triggers leave resources out. The GPUs and the micro-batch of a
job depend on the study and the configuration alone; measured speeds and encoded data change only minutes and RAM.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from retort.attempts import TRAINS_FOR, Attempt, checkpoint_folders, file_of, next_attempt
from retort.cost.estimates import Estimate, Estimates
from retort.cost.memory import PROCESS, RAM_MARGIN, micro_batch
from retort.cost.speed import GUESSED, speed_of_device
from retort.job_names import slug
from retort.plan.plan import Plan
from retort.specs.cluster import read_cluster

Wildcards = Any

MARGIN = 1.5  # how much longer than predicted a job may take
SPARE_MINUTES = 15  # to start, to wait for files, to write the last checkpoint
STEP_MINUTES, STEP_MB = 10, 500  # resources are rounded up to multiples of these
MOST_TIMES = 4  # a job that may have run out of memory or time asks for twice as much, then thrice, up to this
PARALLEL = 0.85  # what each further GPU of a job adds, as a fraction of the speed of the first


class JobResources:
    """The resources of the jobs of a plan: each method is a function of wildcards for `resources:` of a rule.

    Args:
        plan: the plan.
        companions: job -> the task-agnostic students that it distils side by side.

    Raises:
        RetortError: the file of the cluster or the calibration cannot be read.
    """

    def __init__(self, plan: Plan, companions: Mapping[str, list[str]] = MappingProxyType({})) -> None:
        self.config, self.cluster = plan.config, read_cluster(plan.config.cluster)
        self.companions = companions
        self.estimates = Estimates(plan, companions)
        self.speeds = {gpu: speed_of_device(None, gpu, plan.config) for gpu in (False, True)}

    def gpu(self, wildcards: Wildcards, rulename: str, attempt: int) -> int:
        """Return the GPUs of a job: several if one GPU would take longer than a job may last."""
        return self._gpus(self._estimate(rulename, wildcards, attempt))

    def gpu_model(self, wildcards: Wildcards, rulename: str, attempt: int) -> str | None:
        """Return the type of the GPUs of a job; None without a GPU, or for any type."""
        return self.cluster.gpu_model if self.gpu(wildcards, rulename, attempt) else None

    def only_saves(self, wildcards: Wildcards, rulename: str, attempt: int) -> int:
        """Return 1 for a first attempt that only has time to save what a job of companions has trained.

        If this attempt has to train after all, it is not queued again at its limit: a new attempt has time to train.
        """
        return int(attempt == 1 and self.estimates.of(rulename, wildcards).trained_before)

    def _estimate(self, rulename: str, wildcards: Wildcards, attempt: int) -> Estimate:
        if self.only_saves(wildcards, rulename, 1) and attempt > 1:
            return self.estimates.alone(wildcards.student)
        return self.estimates.of(rulename, wildcards)

    def _gpus(self, estimate: Estimate) -> int:
        if not (self.config.gpus and estimate.runs_model):
            return 0
        if estimate.step is None:
            return self.config.gpus
        parts = GUESSED[True].hours(estimate.work) * MARGIN * 60 / self.cluster.limits(1)[0]
        return max(self.config.gpus, min(self.cluster.gpus_per_job, math.ceil(parts)))

    def runtime(self, wildcards: Wildcards, rulename: str, attempt: int) -> int:
        """Return the minutes of a job, at most those of its partition: a training that is cut off goes on later.

        A job without checkpoints may have run out of time, so it gets more when it is tried again.
        """
        estimate = self._estimate(rulename, wildcards, attempt)
        gpus = self._gpus(estimate)
        faster = 1 + PARALLEL * (gpus - 1) if gpus else 1
        minutes = MARGIN * 60 * self.speeds[gpus > 0].hours(estimate.work) / faster + SPARE_MINUTES
        times = 1 if estimate.step else min(attempt, MOST_TIMES)
        needed = self._needed_mb(estimate, self._next(wildcards, rulename).ram)
        allowed, _ = self.cluster.limits(gpus, needed)
        return int(min(_round_up(minutes, STEP_MINUTES) * times, allowed))

    def mem_mb(self, wildcards: Wildcards, rulename: str, attempt: int) -> int:
        """Return the megabytes of RAM of a job; more if an attempt may have run out of memory."""
        estimate = self._estimate(rulename, wildcards, attempt)
        needed = self._needed_mb(estimate, self._next(wildcards, rulename).ram)
        _, allowed = self.cluster.limits(self._gpus(estimate), needed)
        return int(min(needed, allowed))

    def _needed_mb(self, estimate: Estimate, short: int) -> int:
        gpus = self._gpus(estimate)
        ram = estimate.ram if gpus < 2 else gpus * estimate.ram + PROCESS[False]  # a process a GPU, and their parent
        return _round_up(RAM_MARGIN * ram / 1e6, STEP_MB) * _times(short)

    def _next(self, wildcards: Wildcards, rulename: str) -> Attempt:
        """Return the attempt at a job that begins now; it knows how earlier attempts ended."""
        name = slug(rulename, wildcards)
        students = self.companions[wildcards.companions] if rulename in TRAINS_FOR else ()
        return next_attempt(file_of(name), checkpoint_folders(rulename, name, students))

    def micro_batch(self, wildcards: Wildcards, rulename: str, attempt: int) -> int:
        """Return how many rows of a batch go through a device at once; 0 for all.

        Only an attempt that ran out of GPU memory makes them fewer: with dropout each part of a batch draws masks of
        its own, so that another division is like another seed.
        """
        if self.config.micro_batch is not None:
            return self.config.micro_batch
        estimate = self._estimate(rulename, wildcards, attempt)
        gpus = self._gpus(estimate)
        if not gpus or estimate.step is None:
            return 0
        step = replace(estimate.step, rows=math.ceil(estimate.step.rows / gpus))
        memory = self.cluster.gpu_memory_of(rulename)
        fitting = None if memory is None else micro_batch(step, memory)
        short = self._next(wildcards, rulename).gpu_memory
        return math.ceil((fitting or step.rows) / _times(short)) if short else fitting or 0


def _times(short: int) -> int:
    """Return the factor by which a job asks for more memory after `short` attempts that ran out of it."""
    return min(1 + short, MOST_TIMES)


def _round_up(value: float, multiple: int) -> int:
    """Round up to a multiple."""
    return math.ceil(value / multiple) * multiple
