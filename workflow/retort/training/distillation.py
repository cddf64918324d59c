"""Distillation as training runs: a student, a teacher with its data, and the stages between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from retort.batch import Batch, Shape
from retort.data.collate import batches
from retort.data.encoded import Encoded
from retort.data.masking import masked_batches
from retort.jobs import Job
from retort.models import build
from retort.models.recorder import Key, Recorder
from retort.objectives.compose import Sum, compose
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
        layers: the teacher's number of layers.
        activations: takes the (activation, layer) keys that a stage reads, and whether the teacher keeps its
            dropout; returns a function from a batch to those activations of the teacher.
        batches: takes the number of a stage, the stage and a batch number; yields the batches from that number on.
    """

    shape: Shape
    layers: int
    activations: Teacher
    batches: Callable[[int, dict[str, Any], int], Iterator[Batch]]


def run_stages(
    job: Job,
    student: nn.Module,
    settings: dict[str, Any],
    seed: int,
    taught: TeacherAndData,
    num_labels: int,
    checkpoint: Checkpoint,
) -> None:
    """Train every stage of a student; a job that was killed resumes from its last checkpoint.

    Raises:
        Diverged: a loss or gradient is not finite; the error's step is counted over all stages.
    """
    progress = progress_of(job, len(settings["stages"]))
    before = 0
    for number, stage in enumerate(settings["stages"], start=1):
        schedule = stage["schedule"]
        if not checkpoint.past(number):
            build.ready(student, schedule)
            torch.manual_seed(seed * 1000 + 500 + number)  # for initial weights of the objectives' parameters
            loss = _loss(stage, student, taught, num_labels).to(job.device)
            run = _training_run(stage, student, loss, taught, number, before)
            train(run, seed, checkpoint, progress, settings["precision"], job.device)
            run.close()
        before += schedule["steps"]


def _loss(stage: dict[str, Any], student: Any, taught: TeacherAndData, num_labels: int) -> Sum:
    terms = [
        {
            "objective": term["objective"],
            "mapping": {"listed": {"pairs": term["pairs"]}} if term["pairs"] else None,
            "weight": term["weight"],
            "options": term["options"],
        }
        for term in stage["terms"]
    ]
    own = build.shape_of(student, num_labels)
    return compose(terms, own, taught.shape, student.config.num_hidden_layers, taught.layers)


def _training_run(
    stage: dict[str, Any], student: nn.Module, loss: Sum, taught: TeacherAndData, number: int, before: int
) -> TrainingRun:
    recorder = Recorder(student, loss.needs("student"))
    wanted = loss.needs("teacher")
    teacher = taught.activations(wanted, stage["teacher_dropout"]) if wanted else lambda _: {}

    def compute(batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        with torch.no_grad():
            taught = teacher(batch)
        return loss(recorder(batch), taught, batch)

    return TrainingRun(
        modules=[student, loss],
        schedule=stage["schedule"],
        batches=lambda start: taught.batches(number, stage, start),
        loss=compute,
        number=number,
        before=before,
        close=recorder.close,
    )


def online(folder: Path | str, head: str, num_labels: int, device: str) -> Teacher:
    """Load a teacher that runs on every batch, up to the last layer read; in eval mode unless it keeps its dropout."""
    model = build.load(folder, head, num_labels).to(device)
    return lambda keys, dropout: Recorder(model.train(dropout), keys)


def on_task(settings: dict[str, Any], rows: Encoded, seed: int, activations: Teacher) -> TeacherAndData:
    """Return a teacher that was fine-tuned on a task, with batches of the task's training rows."""
    _, outputs = head_of(settings["teacher"]["data"])
    shape, layers = _teacher_shape(settings, outputs)

    def of_stage(number: int, stage: dict[str, Any], start: int) -> Iterator[Batch]:
        schedule = stage["schedule"]
        return batches(rows.cut(schedule.get("max_length")), schedule["batch_size"], seed * 1000 + number, start)

    return TeacherAndData(shape=shape, layers=layers, activations=activations, batches=of_stage)


def on_corpora(settings: dict[str, Any], corpora: dict[str, str], activations: Teacher) -> TeacherAndData:
    """Return a task-agnostic teacher, with batches of masked blocks from the corpus of each stage."""
    shape, layers = _teacher_shape(settings, settings["teacher"]["model"]["vocabulary"])
    return TeacherAndData(
        shape=shape,
        layers=layers,
        activations=activations,
        batches=lambda number, stage, start: masked_batches(
            corpora[stage["data"]],
            settings["corpora"][stage["data"]]["masking"]["probability"],
            stage["schedule"]["batch_size"],
            settings["seed"] * 1000 + number,
            start,
        ),
    )


def _teacher_shape(settings: dict[str, Any], num_labels: int) -> tuple[Shape, int]:
    shape = settings["teacher"]["model"]["architecture"]
    return Shape(shape["hidden"], shape["heads"], shape["intermediate"], num_labels), shape["layers"]
