"""Fine-tuning of task-agnostic students at the best point of their grid, with each seed."""

from __future__ import annotations

from collections.abc import Mapping

from retort.errors import Diverged
from retort.job.context import RunningJob
from retort.models import build, weights
from retort.models.weights import save_with_card
from retort.settings.trainings import GridSettings, PointSettings
from retort.settings.trials import choose_point, read_lines
from retort.training.evaluate import Measured, ScoreToWrite, evaluate_model, write_score
from retort.training.finetuning import finetune_at
from retort.training.how.launch import on_every_gpu
from retort.training.setup import checkpoint_of, head_of


@on_every_gpu
def finetune_student(
    job: RunningJob,
    settings: GridSettings,
    score: ScoreToWrite,
    student_folder: str,
    encoded_folder: str,
    trials_files: list[str],
    weights_folder: str | None,
    licences: Mapping[str, str],
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
        licences: those that the card of the weights names.
    """
    point = PointSettings()
    seed, network = score.seed, None
    checkpoint = checkpoint_of(job, settings, seed, read_lines(trials_files))
    try:
        point = choose_point(trials_files, settings.points)
        network = finetune_at(job, settings, point, student_folder, encoded_folder, seed, checkpoint)
        result: Measured | Diverged = evaluate_model(job, network, encoded_folder, settings)
    except Diverged as error:
        result = error
    if weights_folder:
        kept = network or build.load(student_folder, *head_of(settings.task), say=job.say)  # diverged: with a new head
        save_with_card(job, settings, kept, student_folder, weights_folder, score.about(result, licences))
        weights.note_result(weights_folder, result)
    write_score(job, score, settings, result, chosen=point)
