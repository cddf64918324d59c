"""FLOPs of each type of job, computed from the settings of the job."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from retort.cost import flops
from retort.cost.data import Rows, Volume
from retort.cost.flops import TRAINED
from retort.settings import (
    ActivationSettings,
    CorpusDistillationSettings,
    FinetuneSettings,
    GridSettings,
    ProfileSettings,
    StageSettings,
    TaskDistillationSettings,
    TaskSettings,
    TeacherHeadSettings,
    TeacherSettings,
    TermSettings,
)
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule, steps_per_epoch


def examples(schedule: Schedule, rows: int) -> float:
    """Return how many rows a training run sees: its steps times the mean number of rows a step."""
    return schedule.steps_on(rows) * rows / steps_per_epoch(rows, schedule.batch_size)


def task_head(architecture: Architecture, task: TaskSettings, length: float) -> float:
    """Return the FLOPs of one row through the head of the task type."""
    if catalogue.task_types()[task.task_type].facts["has_windows"]:
        return flops.span(architecture, length)
    return flops.classifier(architecture, len(task.labels) or 1)


def _last_layer(terms: list[TermSettings], side: int, layers: int) -> tuple[int, bool]:
    """Return how many layers the terms read on one side (0: student, 1: teacher), and whether they read the logits."""
    objectives, last = catalogue.objectives(), 0
    for term in terms:
        entry = objectives[term.objective]
        activations = entry.teacher_activations if side else entry.activations
        if "logits" in activations:
            return layers, True
        last = max([last, *(pair[side] for pair in term.pairs if activations)])
    return last, False


def stage(
    stage: StageSettings,
    rows: Rows,
    student: Architecture,
    teacher: Architecture,
    heads: tuple[float, float],
    teacher_runs: bool,
) -> float:
    """Return the FLOPs of one stage: the student's forward and backward passes, and the teacher's forward passes.

    Both models run only up to the last layer that a term reads, and to the head only if a term reads the logits.

    Args:
        stage: the stage's terms and schedule.
        rows: the rows or blocks that it is trained on.
        student: the student's architecture.
        teacher: the teacher's architecture.
        heads: FLOPs of one row through the student's and the teacher's head.
        teacher_runs: whether the teacher runs on every batch; if not, its stored activations are read.
    """
    passes = (TRAINED, int(teacher_runs))
    once = 0.0
    for side, (model, head) in enumerate(zip((student, teacher), heads, strict=True)):
        layers, logits = _last_layer(stage.terms, side, model.layers)
        if layers or logits:
            once += passes[side] * (flops.forward(model, rows.length, layers) + (head if logits else 0))
    return examples(stage.schedule, rows.count) * once


def tuned(
    architecture: Architecture, task: TaskSettings, schedules: Iterable[Schedule], train: Rows, scored: Rows
) -> float:
    """Return the FLOPs of fine-tuning once with each schedule, each followed by one pass over the scored rows."""
    once = _pass(architecture, task, train.length)
    after = scored.count * _pass(architecture, task, scored.length)
    return sum(examples(schedule, train.count) * TRAINED * once + after for schedule in schedules)


def _pass(architecture: Architecture, task: TaskSettings, length: float) -> float:
    return flops.forward(architecture, length) + task_head(architecture, task, length)


def _train_and_scored(task: str, settings: TaskSettings, scored: str, volume: Volume, model: str) -> tuple[Rows, Rows]:
    train = volume.split(task, settings, settings.train_split, model)
    return train, volume.split(task, settings, scored, model)


def teacher(settings: TeacherSettings, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of fine-tuning and scoring a teacher on a task."""
    train, scored = _train_and_scored(task, settings.task, settings.task.evaluation_split, volume, model)
    return tuned(settings.model.architecture, settings.task, [settings.schedule], train, scored)


def head(settings: TeacherHeadSettings, corpus: str, volume: Volume, vocabulary: str) -> float:
    """Return the FLOPs of fitting a masked-LM head on top of a frozen teacher."""
    model, blocks = settings.model, volume.blocks(corpus, settings.schedule, vocabulary)
    positions = settings.corpus.masking.probability * blocks.length
    fitted = flops.masked_lm(model.architecture, model.vocabulary, positions)
    once = flops.forward(model.architecture, blocks.length) + TRAINED * fitted
    return examples(settings.schedule, blocks.count) * once


def activations(settings: ActivationSettings, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of storing a teacher's activations: one forward pass over the task's training rows."""
    data = settings.teacher.task
    rows = volume.split(task, data, data.train_split, model)
    return rows.count * _pass(settings.teacher.model.architecture, data, rows.length)


def task_distillation(
    settings: TaskDistillationSettings, task: str, volume: Volume, model: str, teacher_runs: bool
) -> float:
    """Return the FLOPs of distilling a student on a task and scoring it; `teacher_runs` is as in `stage`."""
    data, student, teacher_size = settings.task, settings.architecture, settings.teacher.model.architecture
    train, scored = _train_and_scored(task, data, data.evaluation_split, volume, model)
    heads = (task_head(student, data, train.length), task_head(teacher_size, data, train.length))
    trained = sum(stage(each, train, student, teacher_size, heads, teacher_runs) for each in settings.stages)
    return trained + scored.count * _pass(student, data, scored.length)


def corpus_distillation(settings: CorpusDistillationSettings, volume: Volume, model: str) -> float:
    """Return the FLOPs of distilling a task-agnostic student, whose teacher runs on every batch."""
    student, teacher_model = settings.architecture, settings.teacher.model
    total = 0.0
    for each in settings.stages:
        blocks = volume.blocks(each.data, each.schedule, model)
        masked = settings.corpora[each.data].masking.probability * blocks.length
        heads = [
            flops.masked_lm(size, teacher_model.vocabulary, masked) for size in (student, teacher_model.architecture)
        ]
        total += stage(each, blocks, student, teacher_model.architecture, (heads[0], heads[1]), teacher_runs=True)
    return total


def grid(settings: GridSettings, part: int, parts: int, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of one part (from 1) of a grid: each of its points, scored on the validation split."""
    train, scored = _train_and_scored(task, settings.task, settings.task.validation_split, volume, model)
    schedules = [point.applied_to(settings.schedule) for point in settings.points[part - 1 :: parts]]
    return tuned(settings.student.architecture, settings.task, schedules, train, scored)


def finetuning(settings: FinetuneSettings, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of one seed of a fine-tuned student: the mean over the grid, as its best point is unknown."""
    train, scored = _train_and_scored(task, settings.task, settings.task.evaluation_split, volume, model)
    schedules = [point.applied_to(settings.schedule) for point in settings.points]
    return statistics.mean(
        tuned(settings.student.architecture, settings.task, [schedule], train, scored) for schedule in schedules
    )


def profile(settings: ProfileSettings) -> float:
    """Return the FLOPs of a profile: the passes that are timed and those that warm up."""
    passes = (settings.runs + 1) * settings.passes * settings.batch
    return passes * flops.forward(settings.architecture, settings.length)
