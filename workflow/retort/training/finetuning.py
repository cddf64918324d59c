"""Training runs without a teacher: fine-tuning on labels, a point of a grid, and fitting of a masked-LM head."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from torch import nn

from retort.data.collate import TaskBatches
from retort.data.encoded import Encoded
from retort.data.masking import MaskedBatches
from retort.engine.job import Job
from retort.models import build, divergence
from retort.models.recorder import Recorder
from retort.objectives import single_loss
from retort.settings import GridSettings, PointSettings, TaskSettings, TeacherHeadSettings, TeacherSettings
from retort.specs.protocol import Schedule
from retort.tasks import task_type_of
from retort.training.best import keep_best
from retort.training.checkpoint import Checkpoint
from retort.training.division import Comparison
from retort.training.evaluate import dev_score
from retort.training.loop import TrainingRun
from retort.training.progress import Progress
from retort.training.setup import LOGITS, head_of, set_seed, train_in, training_rows


def supervised(model: nn.Module, encoded: Encoded, schedule: Schedule, task: TaskSettings, seed: int) -> TrainingRun:
    """Return a training run that fine-tunes a model on the labels of a task."""
    task_type, rows = task_type_of(task), encoded.cut(schedule.max_length)
    loss = single_loss(task_type.loss, build.shape_of(model, task_type.outputs(task)))
    recorder = Recorder(model, {LOGITS})
    return TrainingRun(
        modules=[model],
        schedule=schedule,
        steps=schedule.steps_on(len(rows)),
        batches=TaskBatches(rows, schedule.batch_size, seed, schedule.group_by_length),
        loss=Comparison(loss, recorder),
        close=recorder.close,
    )


def masked_lm_head(model: nn.Module, blocks_folder: Path | str, settings: TeacherHeadSettings) -> TrainingRun:
    """Return a training run that fits the masked-LM head of a model on a corpus; freeze the encoder."""
    build.freeze(model, ["encoder"])
    build.set_dropout(model, 0.0)
    schedule, probability = settings.schedule, settings.corpus.masking.probability
    loss = single_loss("masked-lm", build.shape_of(model, settings.model.vocabulary))
    recorder = Recorder(model, {LOGITS})
    batches = MaskedBatches(blocks_folder, probability, schedule.batch_size, settings.seed)
    return TrainingRun(
        modules=[model],
        schedule=schedule,
        steps=schedule.steps_on(len(batches.blocks)),
        batches=batches,
        loss=Comparison(loss, recorder),
        close=recorder.close,
    )


def fine_tuning(
    job: Job,
    model: nn.Module,
    encoded_folder: str,
    settings: TeacherSettings | GridSettings,
    schedule: Schedule,
    seed: int,
    best: str | None,
) -> TrainingRun:
    """Prepare a model for a schedule, and return a training run that fine-tunes it on an encoded task.

    Args:
        job: the running job.
        model: the model with its head, on the device of the job.
        encoded_folder: the folder of the encoded task.
        settings: the settings that hold the task and the precision.
        schedule: the schedule.
        seed: seed of the order of the batches and of dropout.
        best: the metric on dev that decides which epoch's weights are kept; None to keep the last weights.
    """
    build.prepare(model, schedule)
    rows = training_rows(encoded_folder, settings.task)
    run = supervised(model, rows, schedule, settings.task, seed)
    if best:
        score = partial(dev_score, model, encoded_folder, best, settings.task, settings.precision, job.device)
        keep_best(run, model, score, len(rows))
    return run


def finetune_at(
    job: Job,
    settings: GridSettings,
    point: PointSettings,
    student_folder: str,
    encoded_folder: str,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress,
    number: int = 1,
) -> nn.Module:
    """Fine-tune a student with the hyper-parameters of a grid point, and return the model.

    Args:
        job: the running job.
        settings: the settings of the grid.
        point: the point.
        student_folder: the folder of the distilled student.
        encoded_folder: the folder of the encoded task.
        seed: seed of the head's initial weights, the order of the batches and dropout.
        checkpoint: the job's checkpoint.
        progress: the job's progress.
        number: the position of the training run in its job, from 1.

    Raises:
        Diverged: the fine-tuning diverged, or the distillation of the student had.
    """
    divergence.check(student_folder)
    set_seed(job, seed)
    model = build.load(student_folder, *head_of(settings.task)).to(job.device)
    schedule = point.applied_to(settings.schedule)
    best = settings.metric_for_best_model if schedule.load_best_model_at_end else None
    run = fine_tuning(job, model, encoded_folder, settings, schedule, seed, best)
    run.number = number
    train_in(job, run, seed, settings.precision, checkpoint, progress)
    run.close()
    return model
