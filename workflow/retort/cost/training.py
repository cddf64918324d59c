"""The cost of training one student, computed from its settings alone.

Nothing is measured, so the numbers are the same on every machine; they leave out interruptions, other devices and
students side by side.
"""

from __future__ import annotations

from collections.abc import Callable

from retort.cost import work
from retort.cost.data import Volume
from retort.cost.speed import GUESSED
from retort.cost.work import Work
from retort.plan import resolve
from retort.specs.protocol import Schedule
from retort.study.study import Study

DEVICE = GUESSED[True]
COUNTED = (
    "Hours of ours are computed from the settings at the papers' own scale, not measured: matrix products of student, "
    f"teacher and losses, and what losses and the optimiser move, on a GPU with {DEVICE.flops / 1e12:g} TFLOP/s and "
    f"{DEVICE.bandwidth / 1e12:g} TB/s (one of the A100 class at a fifth of its peak). All stages of a student count, "
    "with a pass of the teacher over each batch and rows as long as a task allows; not its start, its teacher's "
    "training, or fine-tuning."
)


def _model(study: Study, student: str) -> str:
    return study.teachers[study.students[student].teacher].model


def work_of(study: Study, student: str, task: str) -> Work:
    """Return the work of training a student, by the files of the study alone.

    Args:
        study: the study.
        student: the name of the student.
        task: the task that it is distilled on; empty for a task-agnostic student.
    """
    volume, model = Volume(study, None), _model(study, student)
    if task:
        settings = resolve.task_distillation(study, student, task)
        return work.task_training(settings, task, volume, model, teacher_runs=True)
    own, taught = work.corpus_distillation(resolve.corpus_distillation(study, student), volume, model)
    return own + taught


def _stages(study: Study, student: str, task: str) -> list[tuple[Schedule, int]]:
    """Return the schedule of each stage, and the rows or blocks that it is trained on."""
    volume, model = Volume(study, None), _model(study, student)
    if task:
        settings = resolve.task_distillation(study, student, task)
        schedules = [stage.schedule for stage in settings.stages]
        return [(each, volume.batches(task, settings.task, model, each).count) for each in schedules]
    stages = resolve.corpus_distillation(study, student).stages
    return [(stage.schedule, volume.blocks(stage.data, stage.schedule, model).count) for stage in stages]


def hours(study: Study, student: str, task: str) -> float:
    """Return the hours that the training takes on one GPU of the A100 class."""
    return DEVICE.hours(work_of(study, student, task), jobs=0)


def batch_size(study: Study, student: str, task: str) -> float:
    """Return the rows of a batch; of the largest one if stages differ."""
    return max(schedule.batch_size for schedule, _ in _stages(study, student, task))


def steps(study: Study, student: str, task: str) -> float:
    """Return the steps of all stages."""
    return sum(schedule.steps_on(rows) for schedule, rows in _stages(study, student, task))


# column of a table of training costs -> its unit, and the function that computes it
COSTS: dict[str, tuple[str, Callable[[Study, str, str], float]]] = {
    "hours": ("h", hours),
    "batch_size": ("rows", batch_size),
    "steps": ("steps", steps),
}
