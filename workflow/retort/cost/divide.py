"""How work is divided among jobs: how many students one can distil side by side, and how many seeds it can train."""

from __future__ import annotations

import math

from retort.cost import memory
from retort.cost.estimates import Estimates, step_on_corpus, step_together
from retort.cost.memory import Step
from retort.cost.speed import GUESSED
from retort.plan.companions import Fits
from retort.plan.plan import Plan
from retort.plan.seeds import Hours
from retort.specs.cluster import read_cluster


def fits_one_job(plan: Plan) -> Fits:
    """Return a function that tells whether one job can distil some students side by side.

    Raises:
        RetortError: the file of the cluster cannot be read.
    """
    in_time, within_memory = _in_time(plan), _within_memory(plan)
    return lambda names: in_time(names) and within_memory(names)


def hours_of_a_seed(plan: Plan) -> Hours:
    """Return a function that predicts the hours of a student on a task under one seed.

    The speed is the guess, not a measured one, so that a calibration changes no job.
    """
    estimates, speed = Estimates(plan), GUESSED[plan.config.gpus > 0]
    return lambda student, task: speed.hours(estimates.of_seed(student, task).work)


def _in_time(plan: Plan) -> Fits:
    """Return a function that tells whether the predicted hours of students side by side are within `hours_together`.

    Each student makes the job longer, while separate jobs could run at the same time. The speed is the guess, not a
    measured one, so that a calibration changes no job.
    """
    most = plan.config.hours_together
    if most is None:
        return lambda names: True
    estimates, speed = Estimates(plan), GUESSED[plan.config.gpus > 0]
    return lambda names: speed.hours(estimates.work_together(names)) <= most


def _within_memory(plan: Plan) -> Fits:
    """Return a function that tells whether the memory of one job holds students side by side.

    The weights and moments of all students stay in memory while one takes its step, and so does what they read of the
    teacher. On a GPU, a batch may not need more parts than for any of the students alone, since each part draws its own
    masks of dropout. On CPUs, all must fit the RAM of a job. Without a cluster, memory sets no limit.
    """
    cluster, students = read_cluster(plan.config.cluster), plan.settings.students
    gpu_bytes = cluster.gpu_memory
    ram_bytes = cluster.limits(0, math.inf)[1] * 1e6

    def at_once(step: Step) -> int:
        """Return the rows of a batch that go through the GPU at once."""
        return (memory.micro_batch(step, gpu_bytes) if gpu_bytes else None) or step.rows

    def fits(names: list[str]) -> bool:
        steps = [step for name in names if (step := step_on_corpus(students[name]))]
        together = step_together([students[name] for name in names])
        assert together is not None  # students without stages have no companions
        if plan.config.gpus:
            rows = at_once(together)
            return rows >= max(map(at_once, steps)) and (not gpu_bytes or memory.fits(together, rows, gpu_bytes))
        return memory.RAM_MARGIN * (memory.PROCESS[False] + together.bytes(together.rows)) <= ram_bytes

    return fits
