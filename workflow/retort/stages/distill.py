"""Distillation: a student's stages one after another, on a task or on a corpus."""

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
    """Who teaches and from what data: all that differs between the two roads.

    Args:
        shape: the teacher's sizes.
        layers: the teacher's depth.
        taps: for the keys that a stage needs, and whether the teacher keeps its dropout, a function from a batch to
            the teacher's taps.
        batches: for the number of a stage, the stage and a start, its batches from there on.
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
    """Nothing; every stage is trained; a killed job goes on where its checkpoint was written.

    Raises:
        Diverged: at the step, counted over all stages.
    """
    progress = progress_of(job, len(settings["stages"]))
    before = 0
    for number, stage in enumerate(settings["stages"], start=1):
        schedule = stage["schedule"]
        if not checkpoint.past(number):
            build.ready(student, schedule)
            torch.manual_seed(seed * 1000 + 500 + number)  # first weights of the learnable maps
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
    """A teacher that is run for every batch, in eval mode unless it is to drop out, up to the last layer read."""
    model = build.load(folder, head, classes).to(device)
    return lambda keys, dropout: Reader(model.train(dropout), keys)


def on_task(settings: dict[str, Any], rows: Encoded, seed: int, taps: Teacher) -> Lesson:
    """The lesson of a task: batches of its training rows, a teacher fine-tuned on it."""
    _, outputs = head_of(settings["teacher"]["data"])
    shape, layers = _teacher_shape(settings, outputs)

    def of_stage(number: int, stage: dict[str, Any], start: int) -> Iterator[Batch]:
        schedule = stage["schedule"]
        return batches(rows.cut(schedule.get("max_length")), schedule["batch_size"], seed * 1000 + number, start)

    return Lesson(shape=shape, layers=layers, taps=taps, batches=of_stage)


def on_corpora(settings: dict[str, Any], corpora: dict[str, str], taps: Teacher) -> Lesson:
    """The lesson of a student's corpora: masked blocks of the stage's corpus, a teacher that knows no task."""
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
    """Nothing; the student is distilled on the task, its score stands at its address, its weights in `weights`.

    Args:
        teacher: the folder of the fine-tuned teacher; None where the student reads nothing of it.
        parent: the folder of the student or of the published model that this one starts from, where it does.
        taps: the folder of recorded taps; None has the teacher run for every batch.
        weights: where the weights are kept; None where they are not.
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
    """Nothing; the task-agnostic student stands in `to`, ready to be fine-tuned.

    Args:
        corpora: name of a corpus to its folder, for every corpus that a stage reads.
        teacher: the folder of the teacher, with a masked-LM head where a stage reads its output.
        parent: the folder of the student or of the published model that this one starts from, where it does.

    Raises:
        RetortError: the training diverged; there is no student to fine-tune.
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
