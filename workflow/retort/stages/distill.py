"""Distillation: train the stages of a student one after another, on a task or on corpora."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from retort.data.collate import batches
from retort.data.masking import masked_batches
from retort.data.shards import Blocks
from retort.data.tasks import Encoded
from retort.errors import Diverged, RetortError
from retort.jobs import Job
from retort.models import build
from retort.models.cards import card
from retort.models.initialise import initialise, with_pooler
from retort.models.recorded import Recorded
from retort.models.taps import Key, Reader
from retort.objectives.base import Batch, Shape
from retort.objectives.compose import Sum, compose
from retort.stages.common import (
    checkpoint_of,
    head_of,
    measure,
    prepare,
    progress_of,
    stepped,
    training_rows,
    write_score,
)
from retort.training.checkpoint import Checkpoint
from retort.training.loop import Part, train

Taps = Callable[[Batch], dict[Key, Tensor]]
Teacher = Callable[[set[Key], bool], Taps]


@dataclass
class Lesson:
    """A teacher with its data: all that differs between task-specific and task-agnostic distillation.

    Args:
        shape: the teacher's sizes.
        layers: the teacher's number of layers.
        taps: takes the (activation, layer) keys that a stage reads, and whether the teacher keeps its dropout; returns
            a function from a batch to those activations of the teacher.
        batches: takes the number of a stage, the stage and a batch number; yields the batches from that number on.
    """

    shape: Shape
    layers: int
    taps: Teacher
    batches: Callable[[int, dict[str, Any], int], Iterator[Batch]]


def run_stages(
    job: Job,
    student: nn.Module,
    settings: dict[str, Any],
    seed: int,
    lesson: Lesson,
    classes: int,
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
            loss = _loss(stage, student, lesson, classes).to(job.device)
            part = _part(stage, student, loss, lesson, number, before)
            train(part, seed, checkpoint, progress, settings["precision"], job.device)
            part.close()
        before += schedule["steps"]


def _loss(stage: dict[str, Any], student: Any, lesson: Lesson, classes: int) -> Sum:
    terms = [
        {
            "objective": term["objective"],
            "mapping": {"listed": {"pairs": term["pairs"]}} if term["pairs"] else None,
            "weight": term["weight"],
            "options": term["options"],
        }
        for term in stage["terms"]
    ]
    own = build.shape_of(student, classes)
    return compose(terms, own, lesson.shape, student.config.num_hidden_layers, lesson.layers)


def _part(stage: dict[str, Any], student: nn.Module, loss: Sum, lesson: Lesson, number: int, before: int) -> Part:
    reader = Reader(student, loss.needs("student"))
    wanted = loss.needs("teacher")
    teacher = lesson.taps(wanted, stage["teacher_dropout"]) if wanted else lambda _: {}

    def compute(batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        with torch.no_grad():
            taught = teacher(batch)
        return loss(reader(batch), taught, batch)

    return Part(
        modules=[student, loss],
        schedule=stage["schedule"],
        batches=lambda start: lesson.batches(number, stage, start),
        loss=compute,
        number=number,
        before=before,
        close=reader.close,
    )


def online(folder: Path | str, head: str, classes: int, device: str) -> Teacher:
    """Load a teacher that runs on every batch, up to the last layer read; in eval mode unless it keeps its dropout."""
    model = build.load(folder, head, classes).to(device)
    return lambda keys, dropout: Reader(model.train(dropout), keys)


def on_task(settings: dict[str, Any], rows: Encoded, seed: int, taps: Teacher) -> Lesson:
    """Return a teacher that was fine-tuned on a task, with batches of the task's training rows."""
    _, outputs = head_of(settings["teacher"]["data"])
    shape, layers = _teacher_shape(settings, outputs)

    def of_stage(number: int, stage: dict[str, Any], start: int) -> Iterator[Batch]:
        schedule = stage["schedule"]
        return batches(rows.cut(schedule.get("max_length")), schedule["batch_size"], seed * 1000 + number, start)

    return Lesson(shape=shape, layers=layers, taps=taps, batches=of_stage)


def on_corpora(settings: dict[str, Any], corpora: dict[str, str], taps: Teacher) -> Lesson:
    """Return a task-agnostic teacher, with batches of masked blocks from the corpus of each stage."""
    shape, layers = _teacher_shape(settings, settings["teacher"]["model"]["vocabulary"])
    return Lesson(
        shape=shape,
        layers=layers,
        taps=taps,
        batches=lambda number, stage, start: masked_batches(
            corpora[stage["data"]],
            settings["corpora"][stage["data"]]["masking"]["probability"],
            stage["schedule"]["batch_size"],
            settings["seed"] * 1000 + number,
            start,
        ),
    )


def _teacher_shape(settings: dict[str, Any], classes: int) -> tuple[Shape, int]:
    shape = settings["teacher"]["model"]["architecture"]
    return Shape(shape["hidden"], shape["heads"], shape["intermediate"], classes), shape["layers"]


def distill_on_task(
    job: Job,
    settings: dict[str, Any],
    student: str,
    task: str,
    seed: int,
    encoded: str,
    teacher: str | None,
    model: str,
    parent: str | None,
    taps: str | None,
    score: str,
    weights: str | None,
) -> None:
    """Distil a student on a task and write its score; a divergence is recorded in the score, not raised.

    Args:
        job: the running job.
        settings: the settings of the distillation.
        student: the student's name.
        task: the task's name.
        seed: of the initial weights, the order of the batches and dropout.
        encoded: the folder of the encoded task.
        teacher: the folder of the fine-tuned teacher; None if the student reads nothing of it.
        model: the folder of the published model behind the teacher, which gives the tokenizer.
        parent: the folder of the student or the published model that this student starts from; None if there is none.
        taps: the folder of the teacher's stored activations; None to run the teacher on every batch.
        score: the score file to write.
        weights: the folder in which the weights are saved; None to discard them.
    """
    prepare(job, seed)
    data = settings["teacher"]["data"]
    (head, classes), rows = head_of(data), training_rows(encoded, data)
    stages = [{**stage, "schedule": stepped(stage["schedule"], len(rows))} for stage in settings["stages"]]
    network = initialise(settings, teacher, model, parent, head, classes).to(job.device)
    heads = settings["teacher"]["model"]["architecture"]["heads"]
    live = online(teacher, head, classes, job.device) if teacher and not taps else None
    lesson = on_task(settings, rows, seed, live or (lambda keys, _: Recorded(str(taps), rows, keys, heads)))
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        run_stages(job, network, {**settings, "stages": stages}, seed, lesson, classes, checkpoint)
        result: Any = measure(network, encoded, data["evaluate_on"], data, settings["precision"], job.device)
    except Diverged as error:
        result = error
    if weights:
        build.save(network, model, weights, card(f"{student} on {task}, seed {seed}", settings, job.device))
    write_score(job, score, student, task, seed, settings, result)
    checkpoint.remove()


def distill_student(
    job: Job,
    settings: dict[str, Any],
    student: str,
    corpora: dict[str, str],
    teacher: str,
    model: str,
    parent: str | None,
    to: str,
) -> None:
    """Distil a task-agnostic student and save it in the folder `to`, ready to be fine-tuned.

    Args:
        job: the running job.
        settings: the settings of the distillation, with its seed.
        student: the student's name.
        corpora: corpus name -> folder of its blocks, for every corpus that a stage reads.
        teacher: the folder of the teacher, with a masked-LM head if a stage reads its logits.
        model: the folder of the published model behind the teacher, which gives the tokenizer.
        parent: the folder of the student or the published model that this student starts from; None if there is none.
        to: the folder to write.

    Raises:
        RetortError: the training diverged, so that there is no student to fine-tune; or the teacher needs a masked-LM
            head and has none.
    """
    seed, known = settings["seed"], settings["teacher"]["model"]["vocabulary"]
    prepare(job, seed)
    head = "masked-lm" if {"data", "head"} & set(settings["teacher"]) else "none"
    if head != "none" and not build.has_masked_lm(teacher):
        raise RetortError(f"{teacher} has no masked-LM head", "leave 'masked_lm' out of the model's file")
    blocks = {name: len(Blocks(folder)) for name, folder in corpora.items()}
    stages = [{**stage, "schedule": stepped(stage["schedule"], blocks[stage["data"]])} for stage in settings["stages"]]
    network = initialise(settings, teacher, model, parent, head, known).to(job.device)
    lesson = on_corpora(settings, corpora, online(teacher, head, known, job.device))
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        run_stages(job, network, {**settings, "stages": stages}, seed, lesson, known, checkpoint)
    except Diverged as error:
        raise RetortError(f"student '{student}' diverged at step {error.step}", "lower its learning rate") from error
    encoder = with_pooler(network, settings["architecture"], parent or model)
    build.save(encoder, model, to, card(student, settings, job.device))
    checkpoint.remove()
    job.say(f"done  ({job.seconds():.0f} s)")
