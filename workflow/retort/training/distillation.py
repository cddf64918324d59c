"""Distillation as training runs: a student, a teacher with its data, and the stages between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from retort.batch import Batch, Shape
from retort.data.blocks import Blocks
from retort.data.collate import TaskBatches
from retort.data.encoded import Encoded
from retort.data.masking import MaskedBatches
from retort.jobs import Job
from retort.models import build
from retort.models.recorder import Key, Recorder
from retort.objectives import WeightedSum, loss_of
from retort.objectives.base import TrainingRows
from retort.objectives.relation_forms.choice import described
from retort.settings import (
    CorpusDistillationSettings,
    DistillationSettings,
    ModelSettings,
    StageSettings,
    TaskDistillationSettings,
)
from retort.specs.protocol import steps_per_epoch
from retort.training.best import keep_best
from retort.training.checkpoint import Checkpoint
from retort.training.loop import TrainingRun, train
from retort.training.setup import head_of, progress_of

Activations = Callable[[Batch], dict[Key, Tensor]]
Teacher = Callable[[set[Key], bool], Activations]


@dataclass
class TeacherAndData:
    """A teacher with its data: all that differs between task-specific and task-agnostic distillation.

    Args:
        shape: the teacher's sizes.
        activations: takes the (activation, layer) keys that a stage reads, and whether the teacher keeps its
            dropout; returns a function from a batch to those activations of the teacher.
        rows: takes a stage; returns the number of rows or blocks that an epoch of it has.
        batches: takes the number of a stage and the stage; returns its batches by number.
        labels: the labels of all rows; None for a corpus.
        score: scores a model on the task's validation split by a metric; None for a corpus.
    """

    shape: Shape
    activations: Teacher
    rows: Callable[[StageSettings], int]
    batches: Callable[[int, StageSettings], Dataset[Batch]]
    labels: np.ndarray | None = None
    score: Callable[[nn.Module, str], float] | None = None


def run_stages(
    job: Job,
    student: nn.Module,
    settings: DistillationSettings,
    seed: int,
    source: TeacherAndData,
    num_labels: int,
    checkpoint: Checkpoint,
) -> None:
    """Train every stage of a student; a job that was killed resumes from its last checkpoint.

    Args:
        job: the running job.
        student: the initialised student, which is trained in place.
        settings: the settings of the distillation.
        seed: of dropout and of the initial weights of the objectives' parameters.
        source: the teacher and the data.
        num_labels: number of outputs of both models' heads.
        checkpoint: the job's checkpoint.

    Raises:
        Diverged: a loss or gradient is not finite; the error's step is counted over all stages.
    """
    progress = progress_of(job, len(settings.stages))
    steps_before = 0
    for number, stage in enumerate(settings.stages, start=1):
        steps = stage.schedule.steps_on(source.rows(stage))
        if not checkpoint.past(number):
            build.prepare(student, stage.schedule)
            torch.manual_seed(seed * 1000 + 500 + number)  # for initial weights of the objectives' parameters
            rows = TrainingRows(source.rows(stage), source.labels)
            loss = loss_of(stage.terms, build.shape_of(student, num_labels), source.shape, rows).to(job.device)
            run = _training_run(stage, student, loss, source, number, steps)
            run.steps_before = steps_before
            if metric := stage.metric_for_best_model:
                assert source.score is not None  # a schedule on a corpus keeps no best epoch
                every = steps_per_epoch(source.rows(stage), stage.schedule.batch_size)
                keep_best(run, student, partial(source.score, student, metric), every)
            train(run, seed, checkpoint, progress, settings.precision, job.device, job.num_workers)
            run.close()
        steps_before += steps
    for what, form in described().items():
        job.log.write(f"{what} computed by {form}\n")


def _training_run(
    stage: StageSettings, student: nn.Module, loss: WeightedSum, source: TeacherAndData, number: int, steps: int
) -> TrainingRun:
    recorder = Recorder(student, loss.needs("student"))
    keys = loss.needs("teacher")
    teacher = source.activations(keys, stage.teacher_dropout) if keys else lambda _: {}

    def compute(batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        with torch.no_grad():
            teacher_activations = teacher(batch)
        value: tuple[Tensor, dict[str, Tensor]] = loss(recorder(batch), teacher_activations, batch)
        return value

    return TrainingRun(
        modules=[student, loss],
        schedule=stage.schedule,
        steps=steps,
        batches=source.batches(number, stage),
        loss=compute,
        number=number,
        close=recorder.close,
    )


def online(folder: Path | str, head: str, num_labels: int, device: str) -> Teacher:
    """Load a teacher that runs on every batch, up to the last layer read; in eval mode unless it keeps its dropout."""
    model = build.load(folder, head, num_labels).to(device)
    return lambda keys, dropout: Recorder(model.train(dropout), keys)


def task_specific(settings: TaskDistillationSettings, rows: Encoded, seed: int, activations: Teacher) -> TeacherAndData:
    """Return a teacher that was fine-tuned on a task, with batches of the task's training rows."""
    _, outputs = head_of(settings.task)

    def of_stage(number: int, stage: StageSettings) -> TaskBatches:
        schedule = stage.schedule
        cut = rows.cut(schedule.max_length)
        return TaskBatches(cut, schedule.batch_size, seed * 1000 + number, schedule.group_by_length)

    return TeacherAndData(
        shape=_teacher_shape(settings.teacher.model, outputs),
        activations=activations,
        rows=lambda _: len(rows),
        batches=of_stage,
        labels=rows.labels if rows.labelled else None,
    )


def task_agnostic(
    settings: CorpusDistillationSettings, corpus_folders: dict[str, str], activations: Teacher
) -> TeacherAndData:
    """Return a task-agnostic teacher, with batches of masked blocks from the corpus of each stage."""
    return TeacherAndData(
        shape=_teacher_shape(settings.teacher.model, settings.teacher.model.vocabulary),
        activations=activations,
        rows=lambda stage: len(Blocks(corpus_folders[stage.data])),
        batches=lambda number, stage: MaskedBatches(
            corpus_folders[stage.data],
            settings.corpora[stage.data].masking.probability,
            stage.schedule.batch_size,
            settings.seed * 1000 + number,
        ),
    )


def _teacher_shape(model: ModelSettings, num_labels: int) -> Shape:
    architecture = model.architecture
    return Shape(architecture.hidden, architecture.heads, architecture.intermediate, num_labels)
