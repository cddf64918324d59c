"""Distillation as training runs: a student, a teacher with its data, and a training run for each stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from torch.utils.weak import WeakIdKeyDictionary

from retort.batch import Batch, Shape
from retort.data.batches import MaskedBatches, TaskBatches
from retort.data.blocks import Blocks
from retort.data.encoded import Encoded
from retort.errors import Diverged, NotWhole
from retort.job.context import RunningJob
from retort.models import build
from retort.models.encoders import round_once
from retort.models.recorder import Key, Recorder
from retort.objectives import WeightedSum, loss_of
from retort.objectives.base import TrainingRows
from retort.settings.trainings import (
    CorpusDistillationSettings,
    DistillationSettings,
    StageSettings,
    TaskDistillationSettings,
)
from retort.specs.model import Architecture
from retort.specs.student import is_joint
from retort.training.checkpoint import Checkpoint
from retort.training.evaluate import dev_score
from retort.training.finetuning import keep_best
from retort.training.how.micro_batches import TrainingLoss, no_teacher
from retort.training.loop import train
from retort.training.optim import check_decay
from retort.training.setup import begin_training, division_of, head_of, training_of
from retort.training.training_run import Progress, TrainingRun

Activations = Callable[[Batch], dict[Key, Tensor]]
Teacher = Callable[[set[Key], bool], Activations]


@dataclass
class TeacherAndData:
    """A teacher with its data: all that differs between task-specific and task-agnostic distillation.

    Args:
        shape: the teacher's sizes.
        activations: (keys, dropout) -> function from a batch to the teacher's activations. `keys` are the (activation,
            layer) pairs that a stage reads; `dropout` says whether the teacher keeps its dropout.
        rows: stage -> number of rows or blocks in an epoch.
        batches: (number of the stage, stage) -> its batches by number.
        labels: stage -> the labels of its rows; None for a corpus, or where rows have none.
        score: (model, metric) -> the metric on the task's validation split; None for a corpus.
    """

    shape: Shape
    activations: Teacher
    rows: Callable[[StageSettings], int]
    batches: Callable[[int, StageSettings], Dataset[Batch]]
    labels: Callable[[StageSettings], np.ndarray | None] = lambda _: None
    score: Callable[[nn.Module, str], float] | None = None


@dataclass
class StudentInTraining:
    """A student that is distilled, alone or with companions.

    Args:
        job: the job that it belongs to, with its log.
        network: the initialised student, which is trained in place.
        settings: the settings of the distillation.
        seed: of dropout and of the initial weights of the objectives' parameters.
        num_labels: number of outputs of both models' heads.
        checkpoint: where its state is read from and written to.

    Attributes:
        diverged: the error with which the student diverged; None if it did not. Steps count over all stages.
    """

    job: RunningJob
    network: nn.Module
    settings: DistillationSettings
    seed: int
    num_labels: int
    checkpoint: Checkpoint
    diverged: Diverged | None = field(default=None, init=False)

    @cached_property
    def progress(self) -> Progress:
        """The progress of its stages."""
        return Progress.of(self.job, self.seed, len(self.settings.stages))

    def trains(self, number: int) -> bool:
        """Return whether the stage with this number, from 1, is still to be trained."""
        return number <= len(self.settings.stages) and not (self.diverged or self.checkpoint.past(number))

    def loss(self, number: int, teacher_and_data: TeacherAndData) -> WeightedSum:
        """Prepare the student for the stage with this number, and return the loss of the stage."""
        stage = self.settings.stages[number - 1]
        build.prepare(self.network, stage.schedule.freeze, stage.schedule.dropout)
        torch.manual_seed(self.seed * 1000 + 500 + number)  # for initial weights of the objectives' parameters
        rows = TrainingRows(teacher_and_data.rows(stage), teacher_and_data.labels(stage))
        own = build.shape_of(self.network, self.num_labels)
        return loss_of(stage.terms, own, teacher_and_data.shape, rows).to(self.job.device)


def run_stages(students: Sequence[StudentInTraining], teacher_and_data: TeacherAndData) -> None:
    """Train every stage of students that see the same batches; resume from their checkpoints.

    The teacher makes one pass over a batch for all students. A student that diverges is not trained any further.

    Args:
        students: the students; their stages have the same data, batch sizes and seed.
        teacher_and_data: the teacher and the data.

    Raises:
        NotWhole: a stage has a joint objective, and its batches would be computed in parts.
        RetortError: the rate of a stage would be zero before its last step.
    """
    for student in students:
        _check_whole(student)
        for number, stage in enumerate(student.settings.stages, start=1):
            check_decay(stage.schedule, stage.schedule.steps_on(teacher_and_data.rows(stage)), f"stage {number}: ")
    for number in range(1, max(len(student.settings.stages) for student in students) + 1):
        left = [student for student in students if student.trains(number)]
        if left:
            _train_stage(number, left, teacher_and_data)


def _check_whole(student: StudentInTraining) -> None:
    """Check that no stage with a joint objective computes its batches in parts."""
    for stage in student.settings.stages:
        division = division_of(student.job, stage.schedule)
        rows = stage.schedule.batch_size
        joint = [term.objective for term in stage.terms if is_joint(term.objective, term.options)]
        if joint and division.at_once(rows) < rows:
            raise NotWhole(student.job.name, joint[0], rows, division.at_once(rows))


def _train_stage(number: int, students: Sequence[StudentInTraining], teacher_and_data: TeacherAndData) -> None:
    """Train the stage with this number, from 1, of companions."""
    job, stage = students[0].job, students[0].settings.stages[number - 1]
    losses = [student.loss(number, teacher_and_data) for student in students]
    teacher, trainings = _teacher_of(losses, teacher_and_data, stage.teacher_dropout), []
    for student, loss in zip(students, losses, strict=True):
        run = _training_run(student, number, loss, teacher, teacher_and_data)
        training = training_of(
            student.job, run, student.seed, student.settings.precision, student.checkpoint, student.progress
        )
        if training.left:
            begin_training(student.job, student.checkpoint, loss, next(student.network.parameters()).device)
        trainings.append(training)
    train(trainings, job.device, job.num_workers, job.clock)
    for student, training in zip(students, trainings, strict=True):
        training.run.close()
        student.diverged = training.diverged


def _teacher_of(losses: list[WeightedSum], teacher_and_data: TeacherAndData, dropout: bool) -> Activations:
    """Return the teacher's activations that any of the losses reads; the teacher runs once on a batch."""
    keys = set[Key]().union(*(loss.reads("teacher") for loss in losses))
    if not keys:
        return no_teacher
    activations = teacher_and_data.activations(keys, dropout)
    return TeacherOfCompanions(activations) if len(losses) > 1 else activations


def _training_run(
    student: StudentInTraining, number: int, loss: WeightedSum, teacher: Activations, teacher_and_data: TeacherAndData
) -> TrainingRun:
    """Return the training run of the stage with this number, from 1."""
    recorder = Recorder(student.network, loss.reads("student"))
    stages = student.settings.stages
    *before, steps = (stage.schedule.steps_on(teacher_and_data.rows(stage)) for stage in stages[:number])
    run = TrainingRun(
        modules=[student.network, loss],
        schedule=stages[number - 1].schedule,
        steps=steps,
        batches=teacher_and_data.batches(number, stages[number - 1]),
        loss=TrainingLoss(loss, recorder, teacher),
        number=number,
        steps_before=sum(before),
        close=recorder.close,
    )
    if metric := stages[number - 1].metric_for_best_model:
        assert teacher_and_data.score is not None  # a schedule on a corpus keeps no best epoch
        score = partial(teacher_and_data.score, student.network, metric)
        keep_best(run, student.network, score, teacher_and_data.rows(stages[number - 1]))
    return run


def online_teacher(
    folder: Path | str, head: str, num_labels: int, device: str, precision: str, pooler_relu: bool = False
) -> Teacher:
    """Return a teacher that runs on every batch, up to the last layer that is read; the first stage that asks loads it.

    The alternative is to read its stored activations. The teacher is in eval mode unless it keeps its dropout;
    `pooler_relu` says whether its classifier reads the pooler through a ReLU.
    """

    @cache
    def model() -> nn.Module:
        loaded = build.load(folder, head, num_labels).to(device)
        round_once(loaded, precision)
        if pooler_relu:
            build.add_pooler_relu(loaded)
        return loaded

    return lambda keys, dropout: Recorder(model().train(dropout), keys)


def task_specific(
    job: RunningJob,
    settings: TaskDistillationSettings,
    encoded_folder: str,
    rows: Encoded,
    seed: int,
    activations: Teacher,
) -> TeacherAndData:
    """Return a teacher that was fine-tuned on a task, with batches of its training rows."""
    _, outputs = head_of(settings.task)

    def rows_of(stage: StageSettings) -> Encoded:
        return rows.first(stage.schedule.max_train_samples)

    def batches_of(number: int, stage: StageSettings) -> TaskBatches:
        schedule = stage.schedule
        cut, length = rows_of(stage).cut(schedule.max_length), schedule.padded_to(settings.task.max_length)
        return TaskBatches(cut, schedule.batch_size, seed * 1000 + number, schedule.group_by_length, length)

    def score(model: nn.Module, metric: str) -> float:
        return dev_score(model, encoded_folder, metric, settings.task, settings.precision, job.device)

    return TeacherAndData(
        shape=sizes_of(settings.teacher.model.architecture, outputs),
        activations=activations,
        rows=lambda stage: len(rows_of(stage)),
        batches=batches_of,
        labels=lambda stage: rows_of(stage).labels if rows.labelled else None,
        score=score,
    )


def task_agnostic(
    settings: CorpusDistillationSettings, corpus_folders: dict[str, str], activations: Teacher
) -> TeacherAndData:
    """Return a task-agnostic teacher, with batches of masked blocks from the corpus of each stage."""

    def at_all_positions(keys: set[Key], dropout: bool) -> Activations:
        # a layer of which a student reads [CLS] alone runs at all positions, as where companions read more of it: the
        # products of one position a row are rounded otherwise
        return activations(keys | {("hidden", layer) for name, layer in keys if name == "cls"}, dropout)

    return TeacherAndData(
        shape=sizes_of(settings.teacher.model.architecture, settings.teacher.model.vocabulary),
        activations=at_all_positions,
        rows=lambda stage: len(Blocks(corpus_folders[stage.data])),
        batches=lambda number, stage: MaskedBatches(
            corpus_folders[stage.data],
            settings.corpora[stage.data].masking.probability,
            stage.schedule.batch_size,
            settings.seed * 1000 + number,
        ),
    )


def sizes_of(architecture: Architecture, num_labels: int) -> Shape:
    """Return the sizes of a model for its losses."""
    return Shape(architecture.hidden, architecture.heads, architecture.intermediate, num_labels)


class TeacherOfCompanions:
    """The activations of a teacher, computed once for each batch, and kept as long as the batch exists.

    Every student gets the same tensors, so no loss may change them in place.

    Args:
        activations: batch -> all activations of the teacher that any of the students reads.
    """

    def __init__(self, activations: Activations) -> None:
        self.activations = activations
        self.kept: WeakIdKeyDictionary = WeakIdKeyDictionary()  # Batch -> activations

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Return the teacher's activations on a batch."""
        if batch not in self.kept:
            self.kept[batch] = self.activations(batch)
        kept: dict[Key, Tensor] = self.kept[batch]
        return kept
