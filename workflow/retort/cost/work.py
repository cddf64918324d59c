"""FLOPs of each type of job, computed from the settings of the job."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from retort.cost import flops
from retort.cost.data import Rows, Volume
from retort.cost.flops import TRAINED, Architecture
from retort.specs import catalogue

Settings = dict[str, Any]


def examples(schedule: Settings, rows: int) -> int:
    """Count the rows that a training run sees: steps times batch; an epoch is the whole batches that the rows fill."""
    batch = schedule["batch_size"]
    if "epochs" not in schedule:
        return int(schedule["steps"] * batch)
    batch = min(batch, rows)
    return max(1, round(schedule["epochs"] * (rows // batch))) * int(batch)


def task_head(architecture: Architecture, task: Settings, length: float) -> float:
    """Return the FLOPs of one row through the head of the task type."""
    if catalogue.task_types()[task["task_type"]].facts["windowed"]:
        return flops.span(architecture, length)
    return flops.classifier(architecture, len(task.get("labels") or [1]))


def _reach(terms: list[Settings], side: int, layers: int) -> tuple[int, bool]:
    """Return how many layers the terms read on one side (0: student, 1: teacher), and whether they read the logits."""
    objectives, reached = catalogue.objectives(), 0
    for term in terms:
        entry = objectives[term["objective"]]
        activations = entry.teacher_activations if side else entry.activations
        if "logits" in activations:
            return layers, True
        reached = max([reached, *(pair[side] for pair in term["pairs"] if activations)])
    return reached, False


def stage(
    stage: Settings, rows: Rows, student: Architecture, teacher: Architecture, heads: tuple[float, float], live: bool
) -> float:
    """Return the FLOPs of one stage: the student's forward and backward passes, and the teacher's forward passes.

    Both models run only up to the last layer that a term reads, and to the head only if a term reads the logits.

    Args:
        stage: the stage's terms and schedule.
        rows: the rows or blocks that it is trained on.
        student: the student's architecture.
        teacher: the teacher's architecture.
        heads: FLOPs of one row through the student's and the teacher's head.
        live: whether the teacher runs on every batch; if not, its stored activations are read.
    """
    passes = (TRAINED, int(live))
    once = 0.0
    for side, (model, head) in enumerate(zip((student, teacher), heads, strict=True)):
        layers, logits = _reach(stage["terms"], side, model["layers"])
        if layers or logits:
            once += passes[side] * (flops.forward(model, rows.length, layers) + (head if logits else 0))
    return examples(stage["schedule"], rows.count) * once


def tuned(
    architecture: Architecture, task: Settings, schedules: Iterable[Settings], train: Rows, scored: Rows
) -> float:
    """Return the FLOPs of fine-tuning once with each schedule, each followed by one pass over the scored rows."""
    once = _pass(architecture, task, train.length)
    after = scored.count * _pass(architecture, task, scored.length)
    return sum(examples(schedule, train.count) * TRAINED * once + after for schedule in schedules)


def _pass(architecture: Architecture, task: Settings, length: float) -> float:
    return flops.forward(architecture, length) + task_head(architecture, task, length)


def teacher(settings: Settings, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of fine-tuning and scoring a teacher on a task."""
    data = settings["data"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_split", "evaluation_split"))
    return tuned(settings["model"]["architecture"], data, [settings["schedule"]], train, scored)


def head(settings: Settings, corpus: str, volume: Volume, vocabulary: str) -> float:
    """Return the FLOPs of fitting a masked-LM head on top of a frozen teacher."""
    model, blocks = settings["model"], volume.blocks(corpus, settings["schedule"], vocabulary)
    positions = settings["data"]["masking"]["probability"] * blocks.length
    fitted = flops.masked_lm(model["architecture"], model["vocabulary"], positions)
    once = flops.forward(model["architecture"], blocks.length) + TRAINED * fitted
    return examples(settings["schedule"], blocks.count) * once


def activations(settings: Settings, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of storing a teacher's activations: one forward pass over the task's training rows."""
    data = settings["teacher"]["data"]
    rows = volume.split(task, data, data["train_split"], model)
    return rows.count * _pass(settings["teacher"]["model"]["architecture"], data, rows.length)


def on_task(settings: Settings, task: str, volume: Volume, model: str, live: bool) -> float:
    """Return the FLOPs of distilling a student on a task and scoring it; `live` is as in `stage`."""
    data, student = settings["teacher"]["data"], settings["architecture"]
    whole = settings["teacher"]["model"]["architecture"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_split", "evaluation_split"))
    heads = (task_head(student, data, train.length), task_head(whole, data, train.length))
    trained = sum(stage(one, train, student, whole, heads, live) for one in settings["stages"])
    return trained + scored.count * _pass(student, data, scored.length)


def on_corpus(settings: Settings, volume: Volume, model: str) -> float:
    """Return the FLOPs of distilling a task-agnostic student, whose teacher runs on every batch."""
    student, whole = settings["architecture"], settings["teacher"]["model"]
    total = 0.0
    for one in settings["stages"]:
        blocks = volume.blocks(one["data"], one["schedule"], model)
        masked = settings["corpora"][one["data"]]["masking"]["probability"] * blocks.length
        heads = [flops.masked_lm(size, whole["vocabulary"], masked) for size in (student, whole["architecture"])]
        total += stage(one, blocks, student, whole["architecture"], (heads[0], heads[1]), live=True)
    return total


def grid(settings: Settings, part: int, parts: int, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of one part (from 1) of a grid: each of its points, scored on the validation split."""
    data = settings["task"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_split", "validation_split"))
    schedules = [_at(settings, point) for point in settings["points"][part - 1 :: parts]]
    return tuned(settings["student"]["architecture"], data, schedules, train, scored)


def finetuned(settings: Settings, task: str, volume: Volume, model: str) -> float:
    """Return the FLOPs of one seed of a fine-tuned student: the mean over the grid, as its best point is unknown."""
    data = settings["task"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_split", "evaluation_split"))
    architecture = settings["student"]["architecture"]
    return statistics.mean(
        tuned(architecture, data, [_at(settings, point)], train, scored) for point in settings["points"]
    )


def _at(settings: Settings, point: Settings) -> Settings:
    return {**settings["schedule"], **point}


def profile(settings: Settings) -> float:
    """Return the FLOPs of a profile: the passes that are timed and those that warm up."""
    passes = (settings["runs"] + 1) * settings["passes"] * settings["batch"]
    return passes * flops.forward(settings["architecture"], settings["length"])
