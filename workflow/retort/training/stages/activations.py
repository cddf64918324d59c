"""The activations of a teacher that its students read on a task, stored by one pass over the training rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from retort.atomic import write_json
from retort.data.encoded import Encoded
from retort.job.context import RunningJob
from retort.models import build
from retort.models.encoders import round_once
from retort.models.recorder import Key, keys_to_record
from retort.models.stored_activations import store_activations
from retort.objectives import loss_of
from retort.settings.trainings import TaskDistillationSettings
from retort.study.addresses import students_of_activations
from retort.training.distillation import sizes_of
from retort.training.setup import head_of, set_seed


def record_activations(
    job: RunningJob,
    students: Mapping[str, TaskDistillationSettings],
    encoded_folder: str,
    teacher_folder: str,
    output: str,
) -> None:
    """Run a teacher over the training rows of a task, and store all that some students read of it.

    Args:
        job: the running job.
        students: student -> settings of its distillation; all with the same teacher and task.
        encoded_folder: the folder of the encoded task.
        teacher_folder: the folder of the teacher that was fine-tuned on the task.
        output: the folder to write to.
    """
    settings = next(iter(students.values()))
    set_seed(job, 0)  # nothing is drawn, for the teacher keeps no dropout
    network = build.load(teacher_folder, *head_of(settings.task)).eval().to(job.device)
    round_once(network, settings.precision)
    rows, folder = Encoded.load(encoded_folder, settings.task.train_split), Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    keys = keys_to_record(keys_read(students.values()))
    count, size = store_activations(network, rows, keys, folder, settings.precision, job.device)
    write_json(students_of_activations(folder), {name: own.as_json() for name, own in students.items()})
    job.say(f"{count} activations for {len(students)} students, {size / 1e6:.0f} MB  ({job.seconds():.0f} s)")


def keys_read(students: Iterable[TaskDistillationSettings]) -> set[Key]:
    """Return the (activation, layer) keys that students read of their teacher: in any stage, at any point of a grid."""
    found = set[Key]()
    for own in students:
        _, outputs = head_of(own.task)
        student, teacher = (sizes_of(size, outputs) for size in (own.architecture, own.teacher.model.architecture))
        for stages in own.grid.stages if own.grid else [own.stages]:
            found |= {key for stage in stages for key in loss_of(stage.terms, student, teacher).reads("teacher")}
    return found
