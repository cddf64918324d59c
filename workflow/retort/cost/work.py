"""FLOPs of each kind of job, from the settings that the job has."""

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
    """Rows that a training sees: steps times batch; an epoch is as many whole batches as the rows make."""
    batch = schedule["batch_size"]
    if "epochs" not in schedule:
        return int(schedule["steps"] * batch)
    batch = min(batch, rows)
    return max(1, round(schedule["epochs"] * (rows // batch))) * int(batch)


def task_head(architecture: Architecture, task: Settings, length: float) -> float:
    """FLOPs of one row through the head that a task's kind has."""
    if catalogue.kinds()[task["kind"]].facts["windowed"]:
        return flops.span(architecture, length)
    return flops.classifier(architecture, len(task.get("labels") or [1]))


def _reach(terms: list[Settings], side: int, layers: int) -> tuple[int, bool]:
    """How many layers the terms read on one side (0: student, 1: teacher), and whether they read the logits."""
    objectives, reached = catalogue.objectives(), 0
    for term in terms:
        entry = objectives[term["objective"]]
        taps = entry.teacher_taps if side else entry.taps
        if "logits" in taps:
            return layers, True
        reached = max([reached, *(pair[side] for pair in term["pairs"] if taps)])
    return reached, False


def stage(
    stage: Settings, rows: Rows, student: Architecture, teacher: Architecture, heads: tuple[float, float], live: bool
) -> float:
    """FLOPs of one stage: the student forward and backward, and the teacher forward beside it.

    Args:
        stage: its terms and schedule.
        rows: what it is trained on.
        student: its sizes.
        teacher: those of the teacher.
        heads: FLOPs of one row through the student's and the teacher's head.
        live: whether the teacher runs beside the student; else its taps are read from disk.
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
    """FLOPs of fine-tuning once by each of the schedules, each followed by a pass over the rows that are scored."""
    once = _pass(architecture, task, train.length)
    after = scored.count * _pass(architecture, task, scored.length)
    return sum(examples(schedule, train.count) * TRAINED * once + after for schedule in schedules)


def _pass(architecture: Architecture, task: Settings, length: float) -> float:
    return flops.forward(architecture, length) + task_head(architecture, task, length)


def teacher(settings: Settings, task: str, volume: Volume, model: str) -> float:
    """FLOPs of a teacher that is fine-tuned on a task."""
    data = settings["data"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_on", "evaluate_on"))
    return tuned(settings["model"]["architecture"], data, [settings["schedule"]], train, scored)


def head(settings: Settings, corpus: str, volume: Volume, vocabulary: str) -> float:
    """FLOPs of a masked-LM head that is fitted over a frozen teacher."""
    model, blocks = settings["model"], volume.blocks(corpus, settings["schedule"], vocabulary)
    positions = settings["data"]["masking"]["probability"] * blocks.length
    fitted = flops.masked_lm(model["architecture"], model["vocabulary"], positions)
    once = flops.forward(model["architecture"], blocks.length) + TRAINED * fitted
    return examples(settings["schedule"], blocks.count) * once


def taps(settings: Settings, task: str, volume: Volume, model: str) -> float:
    """FLOPs of one pass of a teacher over a task's training rows."""
    data = settings["teacher"]["data"]
    rows = volume.split(task, data, data["train_on"], model)
    return rows.count * _pass(settings["teacher"]["model"]["architecture"], data, rows.length)


def on_task(settings: Settings, task: str, volume: Volume, model: str, live: bool) -> float:
    """FLOPs of a student that is distilled on a task and scored."""
    data, student = settings["teacher"]["data"], settings["architecture"]
    whole = settings["teacher"]["model"]["architecture"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_on", "evaluate_on"))
    heads = (task_head(student, data, train.length), task_head(whole, data, train.length))
    trained = sum(stage(one, train, student, whole, heads, live) for one in settings["stages"])
    return trained + scored.count * _pass(student, data, scored.length)


def on_corpus(settings: Settings, volume: Volume, model: str) -> float:
    """FLOPs of a task-agnostic student."""
    student, whole = settings["architecture"], settings["teacher"]["model"]
    total = 0.0
    for one in settings["stages"]:
        blocks = volume.blocks(one["data"], one["schedule"], model)
        masked = settings["corpora"][one["data"]]["masking"]["probability"] * blocks.length
        heads = [flops.masked_lm(size, whole["vocabulary"], masked) for size in (student, whole["architecture"])]
        total += stage(one, blocks, student, whole["architecture"], (heads[0], heads[1]), live=True)
    return total


def grid(settings: Settings, part: int, parts: int, task: str, volume: Volume, model: str) -> float:
    """FLOPs of one part of a grid: each of its points, scored on dev."""
    data = settings["task"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_on", "choose_on"))
    schedules = [_at(settings, point) for point in settings["points"][part - 1 :: parts]]
    return tuned(settings["student"]["architecture"], data, schedules, train, scored)


def finetuned(settings: Settings, task: str, volume: Volume, model: str) -> float:
    """FLOPs of one seed of a fine-tuned student: the mean over the grid, for the chosen point is not known before."""
    data = settings["task"]
    train, scored = (volume.split(task, data, data[use], model) for use in ("train_on", "evaluate_on"))
    architecture = settings["student"]["architecture"]
    return statistics.mean(
        tuned(architecture, data, [_at(settings, point)], train, scored) for point in settings["points"]
    )


def _at(settings: Settings, point: Settings) -> Settings:
    return {**settings["schedule"], **point}


def profile(settings: Settings) -> float:
    """FLOPs of the passes that are timed, and of those that warm up."""
    passes = (settings["runs"] + 1) * settings["passes"] * settings["batch"]
    return passes * flops.forward(settings["architecture"], settings["length"])
