"""Grids: train at each point of a part of a grid, score it on the validation split, and write a line for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from retort.atomic import write_text
from retort.errors import Diverged
from retort.job.context import RunningJob
from retort.settings.trainings import (
    GridSettings,
    PointSettings,
    TaskDistillationSettings,
    TeacherSettings,
)
from retort.settings.trials import Trial, places_of
from retort.training.checkpoint import Checkpoint
from retort.training.evaluate import dev_score
from retort.training.finetuning import finetune_at
from retort.training.how.launch import on_every_gpu
from retort.training.setup import checkpoint_of
from retort.training.stages.distill import TaskFolders, distil
from retort.training.stages.teacher import finetune

# (the job at the point, the point, its seed, the checkpoint of the grid) -> the model that is trained at the point
Train = Callable[[RunningJob, PointSettings, int, Checkpoint], nn.Module]


@dataclass(frozen=True)
class Part:
    """One part of a grid.

    Args:
        number: its number, from 1.
        parts: the number of parts of the grid.
        trials_file: the file to write: a line for each point, with its status and its metric.
    """

    number: int
    parts: int
    trials_file: str

    @classmethod
    def of(cls, snakemake: Any) -> Part:
        """Return the part that a Snakemake job is about."""
        return cls(int(snakemake.wildcards.part), int(snakemake.wildcards.parts), snakemake.output[0])

    def of_points(self, points: list[PointSettings]) -> list[tuple[int, PointSettings]]:
        """Return (number, point) for the points of the part among those of the whole grid; numbers are from 1.

        The number of a point seeds its training, so results do not depend on the number of parts.
        """
        return list(enumerate(points, start=1))[places_of(self.number, self.parts)]


@on_every_gpu
def run_grid(
    job: RunningJob,
    settings: GridSettings,
    student_folder: str,
    encoded_folder: str,
    part: Part,
) -> None:
    """Fine-tune a task-agnostic student at each point of one part of its grid.

    Args:
        job: the running job.
        settings: the settings of the grid.
        student_folder: the folder of the distilled student.
        encoded_folder: the folder of the encoded task.
        part: the part, and the file of its trials.
    """

    def train(own: RunningJob, point: PointSettings, seed: int, checkpoint: Checkpoint) -> nn.Module:
        return finetune_at(own, settings, point, student_folder, encoded_folder, seed, checkpoint, own.point)

    _try(job, settings, part, train, encoded_folder)


@on_every_gpu
def run_grid_on_task(
    job: RunningJob,
    settings: TaskDistillationSettings,
    folders: TaskFolders,
    part: Part,
) -> None:
    """Distil a task-specific student at each point of one part of its grid.

    Args:
        job: the running job.
        settings: the settings of the distillation, with its grid.
        folders: the folders that the job reads.
        part: the part, and the file of its trials.
    """

    def train(own: RunningJob, point: PointSettings, seed: int, _: Checkpoint) -> nn.Module:
        student = distil(own, settings.at(point), seed, folders)
        if student.diverged:
            raise student.diverged
        return student.network

    _try(job, settings, part, train, folders.encoded)


@on_every_gpu
def run_grid_of_teacher(
    job: RunningJob,
    settings: TeacherSettings,
    encoded_folder: str,
    model_folder: str,
    tokenizer_folder: str,
    part: Part,
) -> None:
    """Fine-tune a teacher at each point of one part of its grid.

    Args:
        job: the running job.
        settings: the settings of the teacher on the task, with its grid.
        encoded_folder: the folder of the encoded task.
        model_folder: the folder of the released model that is fine-tuned.
        tokenizer_folder: the folder with the files of its tokenizer.
        part: the part, and the file of its trials.
    """

    def train(own: RunningJob, point: PointSettings, seed: int, _: Checkpoint) -> nn.Module:
        return finetune(own, settings.at(point), seed, encoded_folder, model_folder, tokenizer_folder)

    _try(job, settings, part, train, encoded_folder)


def _try(
    job: RunningJob,
    settings: GridSettings | TaskDistillationSettings | TeacherSettings,
    part: Part,
    train: Train,
    encoded_folder: str,
) -> None:
    """Train at each point of a part, and write its metric on the validation split, or the step at which it diverged.

    A job that was killed goes on after the trials that it had finished.

    Args:
        job: the running job.
        settings: the settings of the job.
        part: the part of the grid.
        train: trains at one point.
        encoded_folder: the folder of the encoded task.
    """
    search = settings if isinstance(settings, GridSettings) else settings.grid
    assert search is not None  # a job of a grid is planned only where there is one
    checkpoint = checkpoint_of(job, settings, search.seed)  # it notes the finished trials
    points, lines, metric = part.of_points(search.points), checkpoint.notes(), search.metric_for_best_model
    for number, point in points[len(lines) :]:
        job.log.write(f"point {number} of {len(search.points)}\n")
        try:
            dev = dev_score(  # no name keeps the model while the next point is trained
                train(replace(job, point=number), point, search.seed, checkpoint),
                encoded_folder, metric, settings.task, settings.precision, job.device,
            )  # fmt: skip
            trial = Trial(number, point, dev=dev)
        except Diverged as error:
            trial = Trial(number, point, step=error.step)
        checkpoint.note(trial.as_json())
        lines.append(trial.as_json())
        job.log.write(f"{json.dumps(trial.as_json())}\n")
    if job.writes:
        write_text(part.trials_file, "".join(f"{json.dumps(line)}\n" for line in lines))
    job.say(f"{len(points)} grid points  ({job.seconds():.0f} s)")
