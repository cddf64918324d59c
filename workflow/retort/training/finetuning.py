"""Training runs without a teacher: fine-tuning on labels, the points of a grid, and fitting of a masked-LM head."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch
from retort.data.batches import MaskedBatches, TaskBatches
from retort.data.encoded import Encoded
from retort.job.context import RunningJob
from retort.models import build, weights
from retort.models.recorder import Recorder
from retort.objectives import single_loss
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import (
    GridSettings,
    PointSettings,
    TeacherHeadSettings,
    TeacherSettings,
)
from retort.specs.protocol import Schedule, steps_per_epoch
from retort.tasks import task_type_of
from retort.training.checkpoint import Checkpoint
from retort.training.evaluate import dev_score
from retort.training.how.micro_batches import TrainingLoss
from retort.training.optim import check_decay
from retort.training.setup import LOGITS, head_of, set_seed, train_in
from retort.training.training_run import TrainingRun


class BestWeights(nn.Module):
    """Keep the weights with which a model scored best, as buffers, so that checkpoints hold them.

    Args:
        model: the model that is trained.
        score: scores the model on the validation split; a higher score is better.
        every: the number of steps of an epoch.
        steps: the number of steps of the run; the model is scored after the last one, too.
    """

    best: Tensor

    def __init__(self, model: nn.Module, score: Callable[[], float], every: int, steps: int) -> None:
        super().__init__()
        self.score, self.every, self.steps = score, every, steps
        self.train_model = model.train  # the model itself, as an attribute, would become a submodule
        self.weights = list(model.parameters())
        self.register_buffer("best", torch.tensor(-math.inf, dtype=torch.float64))
        for number, weight in enumerate(self.weights):
            self.register_buffer(f"weight_{number}", torch.empty_like(weight, requires_grad=False))

    @torch.no_grad()
    def after_step(self, step: int) -> float | None:
        """Score the model if a step, counted from 1, ends an epoch, and return the score; else return None.

        After the last step, load the best weights.
        """
        if step % self.every and step < self.steps:
            return None
        score = self.score()
        self.train_model()
        if score > self.best.item():  # False for NaN: an undefined score is never the best
            self.best.fill_(score)
            for number, weight in enumerate(self.weights):
                self.get_buffer(f"weight_{number}").copy_(weight)
        if step == self.steps and self.best.isfinite():
            for number, weight in enumerate(self.weights):
                weight.copy_(self.get_buffer(f"weight_{number}"))
        return score


def keep_best(run: TrainingRun, model: nn.Module, score: Callable[[], float], rows: int) -> None:
    """Make a training run end with the weights of its best epoch.

    Args:
        run: the training run.
        model: the model that it trains.
        score: scores the model on the validation split.
        rows: the number of training rows, from which the steps of an epoch follow.
    """
    best = BestWeights(model, score, steps_per_epoch(rows, run.schedule.batch_size), run.steps)
    run.modules.append(best)  # so that checkpoints hold its buffers
    run.after_step = best.after_step


def supervised(model: nn.Module, encoded: Encoded, schedule: Schedule, task: TaskSettings, seed: int) -> TrainingRun:
    """Return a training run that fine-tunes a model on the labels of a task."""
    task_type, rows = task_type_of(task), encoded.first(schedule.max_train_samples).cut(schedule.max_length)
    length = schedule.padded_to(task.max_length)
    batches = TaskBatches(rows, schedule.batch_size, seed, schedule.group_by_length, length)
    return _on_logits(model, "supervised", task_type.outputs(task), schedule, batches, len(rows))


def masked_lm_head(model: nn.Module, blocks_folder: Path | str, settings: TeacherHeadSettings) -> TrainingRun:
    """Return a training run that fits the masked-LM head of a model on a corpus; freeze the encoder."""
    build.prepare(model, ["encoder"], 0.0)
    schedule, probability = settings.schedule, settings.corpus.masking.probability
    batches = MaskedBatches(blocks_folder, probability, schedule.batch_size, settings.seed)
    return _on_logits(model, "masked-lm", settings.model.vocabulary, schedule, batches, len(batches.blocks))


def _on_logits(
    model: nn.Module, objective: str, outputs: int, schedule: Schedule, batches: Dataset[Batch], rows: int
) -> TrainingRun:
    """Return a training run of a model whose loss compares its logits with the labels of a batch.

    Raises:
        RetortError: the rate would be zero before the last step.
    """
    steps = schedule.steps_on(rows)
    check_decay(schedule, steps)
    recorder = Recorder(model, {LOGITS})
    loss = TrainingLoss(single_loss(objective, build.shape_of(model, outputs)), recorder)
    return TrainingRun([model], schedule, steps, batches, loss, close=recorder.close)


def fine_tuning(
    job: RunningJob,
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
    build.prepare(model, schedule.freeze, schedule.dropout)
    rows = Encoded.load(encoded_folder, settings.task.train_split)
    run = supervised(model, rows, schedule, settings.task, seed)
    if best:
        score = partial(dev_score, model, encoded_folder, best, settings.task, settings.precision, job.device)
        keep_best(run, model, score, len(rows.first(schedule.max_train_samples)))
    return run


def finetune_at(
    job: RunningJob,
    settings: GridSettings,
    point: PointSettings,
    student_folder: str,
    encoded_folder: str,
    seed: int,
    checkpoint: Checkpoint,
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
        number: the number of the training run in its job, from 1: that of the point.

    Raises:
        Diverged: the fine-tuning diverged, or the distillation of the student had.
    """
    weights.check_not_diverged(student_folder)
    set_seed(job, seed)
    model = build.load(student_folder, *head_of(settings.task), labels=settings.task.labels, say=job.say)
    model.to(job.device)
    schedule = point.applied_to(settings.schedule)
    best = settings.metric_for_best_model if schedule.load_best_model_at_end else None
    run = fine_tuning(job, model, encoded_folder, settings, schedule, seed, best)
    run.number = number
    train_in(job, run, seed, settings.precision, checkpoint)
    run.close()
    return model
