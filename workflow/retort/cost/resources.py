"""The resources of jobs, as Snakemake's rules ask for them, and which work fits one job.

A changed resource re-runs no job, because Snakemake's triggers leave resources out. The GPUs and the micro-batch of a
job depend on the study and the configuration alone; measured speeds and encoded data change only minutes and RAM.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from retort.cost import memory
from retort.cost.cluster import read_cluster
from retort.cost.estimates import Estimate, Estimates, step_on_corpus, step_together
from retort.cost.memory import PROCESS, RAM_MARGIN, Step, micro_batch
from retort.cost.speed import GUESSED, speed_of_device
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.plan.sharing import Fits, Hours

Wildcards = Any

MARGIN = 1.5  # how much longer than predicted a job may take
SPARE_MINUTES = 15  # to start, to wait for files, to write the last checkpoint
STEP_MINUTES, STEP_MB = 10, 500  # resources are rounded up to multiples of these
MOST_TIMES = 4  # a job that is tried again asks for twice as much, then thrice, up to this
PARALLEL = 0.85  # what each further GPU of a job adds, as a fraction of the speed of the first


def hours_of_a_seed(plan: Plan) -> Hours:
    """Return a function that predicts the hours of a student on a task under one seed.

    The speed is the guess, not a measured one, so that a calibration changes no job.
    """
    estimates, speed = Estimates(plan), GUESSED[plan.config.gpus > 0]
    return lambda student, task: speed.hours(estimates.of_seed(student, task).work)


def fits_one_job(plan: Plan) -> Fits:
    """Return a function that tells whether one job can distil some students as companions: in time, and in memory.

    Each student makes the job longer, while separate jobs could run at the same time; the predicted hours may be
    `hours_together` at most. The speed is the guess, not a measured one, so that a calibration changes no job.

    The weights and moments of all students stay in memory while one takes its step, and so does what they read of the
    teacher. On a GPU, a batch may not need more parts than for any of the students alone, since each part draws its own
    masks of dropout. On CPUs, all must fit the RAM of a job. Without a cluster, memory sets no limit.

    Raises:
        RetortError: the file of the cluster cannot be read.
    """
    config, students, cluster = plan.config, plan.settings.students, read_cluster(plan.config.cluster)
    gpu_bytes, ram_bytes = cluster.gpu_memory, cluster.limits(0, math.inf)[1] * 1e6
    estimates, speed = Estimates(plan), GUESSED[config.gpus > 0]

    def at_once(step: Step) -> int:
        """Return the rows of a batch that go through the GPU at once."""
        return (micro_batch(step, gpu_bytes) if gpu_bytes else None) or step.rows

    def fits(names: list[str]) -> bool:
        most = config.hours_together
        if most is not None and speed.hours(estimates.work_together(names)) > most:
            return False
        together = step_together([students[name] for name in names])
        assert together is not None  # students without stages have no companions
        if not config.gpus:
            return RAM_MARGIN * (PROCESS[False] + together.bytes(together.rows)) <= ram_bytes
        rows, steps = at_once(together), [step for name in names if (step := step_on_corpus(students[name]))]
        return rows >= max(map(at_once, steps)) and (not gpu_bytes or memory.fits(together, rows, gpu_bytes))

    return fits


class JobResources:
    """The resources of the jobs of a plan.

    Args:
        plan: the plan.

    Raises:
        RetortError: the file of the cluster or the calibration cannot be read.
    """

    def __init__(self, plan: Plan) -> None:
        self.config, self.cluster = plan.config, read_cluster(plan.config.cluster)
        self.estimates = Estimates(plan)
        self.speeds = {gpu: speed_of_device(None, gpu, plan.config) for gpu in (False, True)}
        self.common = self.cluster.of_every_job(self.config.workers(gpu=True))

    def of(self, rule: Rule) -> dict[str, Any]:
        """Return name -> value, or function of wildcards, of the resources that the jobs of a rule ask for."""

        def ask(give: Callable[..., Any]) -> Callable[..., Any]:
            return lambda wildcards, attempt: give(self.estimates.of(rule, wildcards), attempt)

        resources: dict[str, Callable[[Estimate, int], Any]] = {
            "gpu": self.gpu,
            "gpu_model": self.gpu_model,
            "runtime": self.runtime,
            "mem_mb": self.mem_mb,
            "micro_batch": self.micro_batch,
            "rows": self.rows,
        }
        return {**self.common, **{name: ask(give) for name, give in resources.items()}}

    def gpu(self, estimate: Estimate, attempt: int = 1) -> int:
        """Return the GPUs of a job: several if one GPU would take longer than a job may last."""
        if not (self.config.gpus and estimate.runs_model):
            return 0
        if estimate.step is None:
            return self.config.gpus
        parts = GUESSED[True].hours(estimate.work) * MARGIN * 60 / self.cluster.limits(1)[0]
        return max(self.config.gpus, min(self.cluster.gpus_per_job, math.ceil(parts)))

    def gpu_model(self, estimate: Estimate, attempt: int = 1) -> str | None:
        """Return the type of the GPUs of a job; None without a GPU, or for any type."""
        return self.cluster.gpu_model if self.gpu(estimate) else None

    def runtime(self, estimate: Estimate, attempt: int) -> int:
        """Return the minutes of a job, at most those of its partition: a training that is cut off goes on later.

        A job without checkpoints may have run out of time, so it gets more when it is tried again.
        """
        gpus = self.gpu(estimate)
        faster = 1 + PARALLEL * (gpus - 1) if gpus else 1
        minutes = MARGIN * 60 * self.speeds[gpus > 0].hours(estimate.work) / faster + SPARE_MINUTES
        times = 1 if estimate.step else min(attempt, MOST_TIMES)
        allowed, _ = self.cluster.limits(gpus, self._needed_mb(estimate, attempt))
        return int(min(_round_up(minutes, STEP_MINUTES) * times, allowed))

    def mem_mb(self, estimate: Estimate, attempt: int) -> int:
        """Return the megabytes of RAM of a job; more if it is tried again, as it may have run out of memory."""
        needed = self._needed_mb(estimate, attempt)
        _, allowed = self.cluster.limits(self.gpu(estimate), needed)
        return int(min(needed, allowed))

    def _needed_mb(self, estimate: Estimate, attempt: int) -> int:
        gpus = self.gpu(estimate)
        ram = estimate.ram if gpus < 2 else gpus * estimate.ram + PROCESS[False]  # a process a GPU, and their parent
        return _round_up(RAM_MARGIN * ram / 1e6, STEP_MB) * min(attempt, MOST_TIMES)

    def micro_batch(self, estimate: Estimate, attempt: int = 1) -> int:
        """Return how many rows of a batch go through a device at once; 0 for all."""
        if self.config.micro_batch is not None:
            return self.config.micro_batch
        step, memory = self._step(estimate), self.cluster.gpu_memory
        return (micro_batch(step, memory) if step and memory else None) or 0

    def rows(self, estimate: Estimate, attempt: int = 1) -> int:
        """Return the rows of a batch on each GPU of a job; 0 without a GPU or a training."""
        step = self._step(estimate)
        return step.rows if step else 0

    def _step(self, estimate: Estimate) -> Step | None:
        """Return the memory of a training step on each GPU of a job; None without a GPU or a training."""
        gpus = self.gpu(estimate)
        if not gpus or estimate.step is None:
            return None
        return replace(estimate.step, rows=math.ceil(estimate.step.rows / gpus))


def _round_up(value: float, multiple: int) -> int:
    """Round up to a multiple."""
    return math.ceil(value / multiple) * multiple
