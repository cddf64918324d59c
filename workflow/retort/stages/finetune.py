"""Fine-tuning of task-agnostic students: a grid scored on the validation split, then the best point with each seed."""

from __future__ import annotations

import json

from retort.atomic import write_text
from retort.engine.job import Job
from retort.errors import Diverged
from retort.models import build, weights
from retort.models.weights import save_with_card
from retort.settings.trainings import FinetuneSettings, GridSettings, PointSettings
from retort.training.evaluate import Measured, ScoreToWrite, evaluate, measure, write_score
from retort.training.finetuning import Trial, choose, finetune_at, part_of, read_lines
from retort.training.how.launch import on_every_gpu
from retort.training.setup import checkpoint_of, head_of
from retort.training.training_run import Progress


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
    """Fine-tune a student at each point of one part of the grid, and write a line for each to the trials file.

    Args:
        job: the running job.
        settings: the settings of the grid.
        student_folder: the folder of the distilled student.
        encoded_folder: the folder of the encoded task.
        part: the number of the part, from 1.
        parts: the number of parts of the grid.
        trials_file: the file to write: a line for each point, with its status and its metric.
    """
    task, seed = settings.task, settings.seed
    points = part_of(settings.points, part, parts)
    checkpoint, progress = checkpoint_of(job, settings, seed), Progress(job.log, len(points))
    lines = checkpoint.notes()  # trials that this job finished before it was killed
    for number, point in points[len(lines) :]:
        try:
            model = finetune_at(
                job, settings, point, student_folder, encoded_folder, seed, checkpoint, progress, number
            )
            measured = measure(model, encoded_folder, task.validation_split, task, settings.precision, job.device)
            trial = Trial(number, point, dev=measured.metrics[settings.metric_for_best_model])
        except Diverged as error:
            trial = Trial(number, point, step=error.step)
        checkpoint.note(trial.as_json())
        lines.append(trial.as_json())
        job.log.write(f"{json.dumps(trial.as_json())}\n")
    if job.writes:
        write_text(trials_file, "".join(f"{json.dumps(line)}\n" for line in lines))
    job.say(f"{len(points)} grid points  ({job.seconds():.0f} s)")


@on_every_gpu
def finetune_student(
    job: Job,
    settings: FinetuneSettings,
    score: ScoreToWrite,
    student_folder: str,
    encoded_folder: str,
    trials_files: list[str],
    weights_folder: str | None,
) -> None:
    """Fine-tune a student at the best grid point with one seed and write its score.

    A divergence, of this training run or of every grid point, is recorded in the score, not raised.

    Args:
        job: the running job.
        settings: the settings of the fine-tuning.
        score: the score to write; its seed is for the head's initial weights, the order of the batches and dropout.
        student_folder: the folder of the distilled student.
        encoded_folder: the folder of the encoded task.
        trials_files: the trials of all parts of the grid; empty without a grid.
        weights_folder: the folder in which the fine-tuned weights are saved; None to discard them.
    """
    point = PointSettings()
    seed, network = score.seed, None
    checkpoint = checkpoint_of(job, settings, seed, read_lines(trials_files))
    try:
        point = choose(trials_files, settings.points)
        network = finetune_at(job, settings, point, student_folder, encoded_folder, seed, checkpoint)
        result: Measured | Diverged = evaluate(job, network, encoded_folder, settings)
    except Diverged as error:
        result = error
    if weights_folder:
        kept = network or build.load(student_folder, *head_of(settings.task))  # diverged: with a new head
        save_with_card(job, settings, kept, student_folder, weights_folder, score.title)
        weights.note_result(weights_folder, result)
    write_score(job, score, settings, result, chosen=point)
