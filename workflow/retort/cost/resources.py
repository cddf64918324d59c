"""The resources of jobs, as Snakemake's rules ask for them, and which work fits one job.

A changed resource re-runs no job, because Snakemake's triggers leave resources out. The GPUs of a job depend on the
study and the configuration alone; measured speeds and encoded data change only minutes and RAM.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from retort.cost import memory
from retort.cost.cluster import read_cluster
from retort.cost.estimates import Estimate, Estimates
from retort.cost.memory import PROCESS, RAM_MARGIN, Step, fits, micro_batch
from retort.cost.speed import GUESSED, speed_of_device
from retort.errors import NotWhole, RetortError
from retort.plan.plan import Plan
from retort.plan.sharing import Fits, Hours

Wildcards = Any

MARGIN = 1.5  # how much longer than predicted a job may take
SPARE_MINUTES = 15  # to start, to wait for files, to write the last checkpoint
STEP_MINUTES, STEP_MB = 10, 500  # resources are rounded up to multiples of these
MOST_TIMES = 4  # a job that is tried again asks for twice as much, then thrice, up to this
# the GPUs and their type, minutes, MB of RAM
ASKED = ("gpu", "gpu_model", "runtime", "mem_mb")
PIECES = {"seeds", "part", "parts"}  # wildcards that tell how work is cut
PARALLEL = 0.85  # what each further GPU of a job adds, as a fraction of the speed of the first
# What a dry run without a list of jobs asks for: it need not be computed, and Snakemake's defaults are not either
NOTHING = {"mem_mb": 0, "disk_mb": 0}


def hours_of_a_seed(plan: Plan, estimates: Estimates | None = None) -> Hours:
    """Return a function that predicts the hours of a student on a task under one seed.

    The speed is the guess, not a measured one, so that a calibration changes no job.
    """
    estimates, speed = estimates or Estimates(plan), GUESSED[plan.config.gpus > 0]
    return lambda student, task: speed.hours(estimates.of_seed(student, task).work)


def fits_one_job(plan: Plan, estimates: Estimates | None = None) -> Fits:
    """Return a function that tells whether one job can distil some students as companions: in time, and in memory.

    Each student makes the job longer, while separate jobs could run at the same time; the predicted hours may be
    `hours_together` at most. The speed is the guess, not a measured one, so that a calibration changes no job.

    The weights and moments of all students stay in memory while one takes its step, and so does what they read of the
    teacher. All must fit a GPU or, on CPUs, the RAM of a job. Without a cluster, memory sets no limit.

    Raises:
        RetortError: the file of the cluster cannot be read.
    """
    config, cluster = plan.config, read_cluster(plan.config.cluster)
    gpu_bytes, ram_bytes = cluster.gpu_memory, cluster.limits(0, math.inf)[1] * 1e6
    estimates, speed = estimates or Estimates(plan), GUESSED[config.gpus > 0]

    def fits(names: list[str]) -> bool:
        most = config.hours_together
        if most is not None and speed.hours(estimates.work_together(names)) > most:
            return False
        together = estimates.step_together(names)
        if not config.gpus:
            return RAM_MARGIN * (PROCESS[False] + together.peak) <= ram_bytes
        return not gpu_bytes or memory.fits(together, together.at_once, gpu_bytes)

    return fits


class JobResources:
    """The resources of the jobs of a plan.

    Args:
        plan: the plan.
        estimates: its estimates, if there are some already.
        are_told: whether anyone reads them; a dry run that lists no job does not.

    Raises:
        RetortError: the file of the cluster or the calibration cannot be read.
    """

    def __init__(self, plan: Plan, estimates: Estimates | None = None, are_told: bool = True) -> None:
        self.are_told = are_told
        self.config, self.cluster = plan.config, read_cluster(plan.config.cluster)
        self.estimates = estimates or Estimates(plan)
        self.speeds = {gpu: speed_of_device(None, gpu, plan.config) for gpu in (False, True)}
        self.common = self.cluster.of_every_job(self.config.workers(gpu=True))

    def of(self, rule: str) -> dict[str, Any]:
        """Return name -> value, or function of wildcards and attempt, of what the jobs of a rule ask for."""
        if not self.are_told:
            return NOTHING

        @functools.cache  # Snakemake asks for one name after another
        def asked(attempt: int, *wildcards: tuple[str, str]) -> dict[str, Any]:
            estimate = self.estimates.of(rule, **dict(wildcards))
            resources = self.of_job(estimate, attempt)
            names = [value for name, value in wildcards if name not in PIECES]
            self._check_memory(", ".join(names), estimate.step, resources["gpu"])
            return resources

        def ask(name: str) -> Callable[..., Any]:
            return lambda wildcards, attempt: asked(attempt, *wildcards.items())[name]

        names = [name for name in ASKED if name != "gpu_model" or self.cluster.gpu_model]
        return self.common | {name: ask(name) for name in names}

    def of_job(self, estimate: Estimate, attempt: int = 1) -> dict[str, Any]:
        """Return what an attempt (from 1) at a job asks for: a value for each name of `ASKED`.

        A training that is cut off at the time limit of its partition goes on later. A job without checkpoints may have
        run out of time, and any job out of memory, so they get more when they are tried again.
        """
        times = min(attempt, MOST_TIMES)
        gpus = self._gpus(estimate)
        faster = 1 + PARALLEL * (gpus - 1) if gpus else 1
        minutes = MARGIN * 60 * self.speeds[gpus > 0].hours(estimate.work) / faster + SPARE_MINUTES
        ram = estimate.ram if gpus < 2 else gpus * estimate.ram + PROCESS[False]  # a process a GPU, and their parent
        mem_mb = _round_up(RAM_MARGIN * ram / 1e6, STEP_MB) * times
        most_minutes, most_mb = self.cluster.limits(gpus, mem_mb)
        return {
            "gpu": gpus,
            "gpu_model": self.cluster.gpu_model if gpus else None,
            "runtime": int(min(_round_up(minutes, STEP_MINUTES) * (1 if estimate.step else times), most_minutes)),
            "mem_mb": int(min(mem_mb, most_mb)),
        }

    def seconds(self, estimate: Estimate) -> float:
        """Return how long a job is expected to take on one device."""
        return 3600 * self.speeds[self.config.gpus > 0 and estimate.runs_model].hours(estimate.work)

    def _check_memory(self, job: str, step: Step | None, gpus: int) -> None:
        """Check that a training fits its GPUs, and that a joint objective gets its batches whole.

        Raises:
            RetortError: it does not fit; the hint is the largest micro-batch that does.
            NotWhole: a batch would be computed in parts, and an objective needs all of it.
        """
        if step and step.joint and step.at_once < step.rows:
            raise NotWhole(job, step.joint[0], step.rows, step.at_once)
        if not (step and gpus and self.cluster.gpu_memory):
            return
        own = replace(step, rows=math.ceil(step.rows / gpus))
        if fits(own, own.at_once, self.cluster.gpu_memory):
            return
        most = micro_batch(own, self.cluster.gpu_memory) or own.at_once
        if step.joint:
            raise NotWhole(job, step.joint[0], step.rows, most)
        raise RetortError(
            f"{job}: {own.at_once} rows at once do not fit the {self.cluster.gpu_memory / 1e9:g} GB of a GPU",
            f"set micro_batch: {most}, or less, in the configuration or in its schedule; each part of a batch draws "
            "dropout masks of its own, so that the numbers depend on it",
        )

    def _gpus(self, estimate: Estimate) -> int:
        """Return the GPUs of a job: several if one GPU would take longer than a job may last.

        A training with a joint objective has one, since its batches are not divided; it goes on after a time limit.
        """
        if not (self.config.gpus and estimate.runs_model):
            return 0
        if estimate.step and estimate.step.joint:
            return 1
        if estimate.step is None:
            return self.config.gpus
        parts = GUESSED[True].hours(estimate.work) * MARGIN * 60 / self.cluster.limits(1)[0]
        return max(self.config.gpus, min(self.cluster.gpus_per_job, math.ceil(parts)))


def _round_up(value: float, multiple: int) -> int:
    """Round up to a multiple."""
    return math.ceil(value / multiple) * multiple
