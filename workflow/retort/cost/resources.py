"""The resources of jobs, as Snakemake's rules ask for them, and which work fits one job.

A changed resource re-runs no job, because Snakemake's triggers leave resources out. The GPUs and the micro-batch of a
job depend on the study and the configuration alone; measured speeds and encoded data change only minutes and RAM.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from retort.cost import memory
from retort.cost.cluster import read_cluster
from retort.cost.estimates import Estimate, Estimates
from retort.cost.memory import PROCESS, RAM_MARGIN, Step, micro_batch
from retort.cost.speed import GUESSED, speed_of_device
from retort.errors import NotWhole
from retort.plan.plan import Plan
from retort.plan.sharing import Fits, Hours

Wildcards = Any

MARGIN = 1.5  # how much longer than predicted a job may take
SPARE_MINUTES = 15  # to start, to wait for files, to write the last checkpoint
STEP_MINUTES, STEP_MB = 10, 500  # resources are rounded up to multiples of these
MOST_TIMES = 4  # a job that is tried again asks for twice as much, then thrice, up to this
# the GPUs and their type, minutes, MB of RAM, the rows of a batch that go through a GPU at once (0 for all), and those
# that a GPU has of each batch (0 without a GPU or a training)
ASKED = ("gpu", "gpu_model", "runtime", "mem_mb", "micro_batch", "rows")
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
    teacher. On a GPU, a batch may not need more parts than for any of the students alone, since each part draws its own
    masks of dropout. On CPUs, all must fit the RAM of a job. Without a cluster, memory sets no limit.

    Raises:
        RetortError: the file of the cluster cannot be read.
    """
    config, cluster = plan.config, read_cluster(plan.config.cluster)
    gpu_bytes, ram_bytes = cluster.gpu_memory, cluster.limits(0, math.inf)[1] * 1e6
    estimates, speed = estimates or Estimates(plan), GUESSED[config.gpus > 0]

    def at_once(step: Step) -> int:
        """Return the rows of a batch that go through the GPU at once."""
        return (micro_batch(step, gpu_bytes) if gpu_bytes else None) or step.rows

    def fits(names: list[str]) -> bool:
        most = config.hours_together
        if most is not None and speed.hours(estimates.work_together(names)) > most:
            return False
        together = estimates.step_together(names)
        if not config.gpus:
            return RAM_MARGIN * (PROCESS[False] + together.bytes(together.rows)) <= ram_bytes
        rows, steps = at_once(together), map(estimates.step_of, names)
        return rows >= max(map(at_once, steps)) and (not gpu_bytes or memory.fits(together, rows, gpu_bytes))

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
            _check_whole(names, estimate.step, resources["micro_batch"])
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
        step = replace(estimate.step, rows=math.ceil(estimate.step.rows / gpus)) if gpus and estimate.step else None
        at_once = micro_batch(step, self.cluster.gpu_memory) if step and self.cluster.gpu_memory else None
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
            "micro_batch": (at_once or 0) if self.config.micro_batch is None else self.config.micro_batch,
            "rows": step.rows if step else 0,
        }

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


def _check_whole(names: Sequence[str], step: Step | None, micro_batch: int) -> None:
    """Check that no training with a joint objective computes its batches in parts; `names` are those of the job.

    Raises:
        NotWhole: one does.
    """
    if step and step.joint and 0 < micro_batch < step.rows:
        raise NotWhole(", ".join(names), step.joint[0], step.rows, micro_batch)


def _round_up(value: float, multiple: int) -> int:
    """Round up to a multiple."""
    return math.ceil(value / multiple) * multiple
