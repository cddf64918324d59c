"""Grids: train at each point of a part of a grid, score it on the validation split, and write a line for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from torch import nn

from retort.atomic import write_text
from retort.engine.job import Job
from retort.errors import Diverged
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import (
    GridSettings,
    PointSettings,
    SearchSettings,
    TaskDistillationSettings,
    TeacherSettings,
)
from retort.settings.trials import Trial, part_of
from retort.stages.distill import TaskFolders, distil
from retort.stages.teacher import finetune
from retort.training.checkpoint import Checkpoint
from retort.training.evaluate import dev_score
from retort.training.finetuning import finetune_at
from retort.training.how.launch import on_every_gpu
from retort.training.setup import checkpoint_of
from retort.training.training_run import Progress

Train = Callable[[int, PointSettings], nn.Module]  # (number, point) -> the model that is trained at the point


@on_every_gpu
def run_grid(
    job: Job,
    settings: GridSettings,
    student_folder: str,
    encoded_folder: str,
    part: int,
    parts: int,
    trials_file: str,
) -> None:
    """Fine-tune a task-agnostic student at each point of one part of its grid.

    Args:
        job: the running job.
        settings: the settings of the grid.
        student_folder: the folder of the distilled student.
        encoded_folder: the folder of the encoded task.
        part: the number of the part, from 1.
        parts: the number of parts of the grid.
        trials_file: the file to write: a line for each point, with its status and its metric.
    """
    points, seed = part_of(settings.points, part, parts), settings.seed
    checkpoint, progress = checkpoint_of(job, settings, seed), Progress(job.log, len(points))

    def train(number: int, point: PointSettings) -> nn.Module:
        return finetune_at(job, settings, point, student_folder, encoded_folder, seed, checkpoint, progress, number)

    metric, task = settings.metric_for_best_model, settings.task
    _try(job, points, train, checkpoint, metric, encoded_folder, task, settings.precision, trials_file)


@on_every_gpu
def run_grid_on_task(
    job: Job,
    settings: TaskDistillationSettings,
    folders: TaskFolders,
    part: int,
    parts: int,
    trials_file: str,
) -> None:
    """Distil a task-specific student at each point of one part of its grid.

    Args:
        job: the running job.
        settings: the settings of the distillation, with its grid.
        folders: the folders that the job reads.
        part: the number of the part, from 1.
        parts: the number of parts of the grid.
        trials_file: the file to write: a line for each point, with its status and its metric.
    """
    search = _grid_of(settings)

    def train(number: int, point: PointSettings) -> nn.Module:
        student = distil(job, settings.at(point), search.seed, folders)
        if student.diverged:
            raise student.diverged
        return student.network

    points, checkpoint = part_of(search.points, part, parts), checkpoint_of(job, settings, search.seed)
    metric, task = search.metric_for_best_model, settings.task
    _try(job, points, train, checkpoint, metric, folders.encoded, task, settings.precision, trials_file)


@on_every_gpu
def run_grid_of_teacher(
    job: Job,
    settings: TeacherSettings,
    encoded_folder: str,
    model_folder: str,
    tokenizer_folder: str,
    part: int,
    parts: int,
    trials_file: str,
) -> None:
    """Fine-tune a teacher at each point of one part of its grid.

    Args:
        job: the running job.
        settings: the settings of the teacher on the task, with its grid.
        encoded_folder: the folder of the encoded task.
        model_folder: the folder of the published model that is fine-tuned.
        tokenizer_folder: the folder with the files of its tokenizer.
        part: the number of the part, from 1.
        parts: the number of parts of the grid.
        trials_file: the file to write: a line for each point, with its status and its metric.
    """
    search = _grid_of(settings)

    def train(number: int, point: PointSettings) -> nn.Module:
        return finetune(job, settings.at(point), search.seed, encoded_folder, model_folder, tokenizer_folder)

    points, checkpoint = part_of(search.points, part, parts), checkpoint_of(job, settings, search.seed)
    metric, task = search.metric_for_best_model, settings.task
    _try(job, points, train, checkpoint, metric, encoded_folder, task, settings.precision, trials_file)


def _grid_of(settings: TaskDistillationSettings | TeacherSettings) -> SearchSettings:
    assert settings.grid is not None  # a job of a grid is planned only where there is one
    return settings.grid


def _try(
    job: Job,
    points: Sequence[tuple[int, PointSettings]],
    train: Train,
    checkpoint: Checkpoint,
    metric: str,
    encoded_folder: str,
    task: TaskSettings,
    precision: str,
    trials_file: str,
) -> None:
    """Train at each of some points, and write its metric on the validation split, or the step at which it diverged.

    A job that was killed goes on after the trials that it had finished.
    """
    lines = checkpoint.notes()
    for number, point in points[len(lines) :]:
        try:
            dev = dev_score(train(number, point), encoded_folder, metric, task, precision, job.device)
            trial = Trial(number, point, dev=dev)
        except Diverged as error:
            trial = Trial(number, point, step=error.step)
        checkpoint.note(trial.as_json())
        lines.append(trial.as_json())
        job.log.write(f"{json.dumps(trial.as_json())}\n")
    if job.writes:
        write_text(trials_file, "".join(f"{json.dumps(line)}\n" for line in lines))
    job.say(f"{len(points)} grid points  ({job.seconds():.0f} s)")
