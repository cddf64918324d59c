"""Fine-tuning of task-agnostic students: a grid scored on the dev split, then the best point with each seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retort.errors import Diverged
from retort.jobs import Job
from retort.models import build
from retort.models.cards import card
from retort.training.evaluate import measure, write_score
from retort.training.finetuning import supervised
from retort.training.grid import choose, part_of, trials_of
from retort.training.loop import train
from retort.training.setup import checkpoint_of, head_of, progress_of, set_seed, training_rows


def _tuned(
    job: Job, settings: dict[str, Any], student: str, encoded: str, point: dict[str, Any], seed: int, **place: Any
) -> Any:
    """Fine-tune the student at a point of the grid with a seed, and return the model."""
    set_seed(job, seed)
    task = settings["task"]
    model = build.load(student, *head_of(task)).to(job.device)
    schedule = {**settings["schedule"], **point}
    build.ready(model, schedule)
    part = supervised(model, training_rows(encoded, task), schedule, task, seed)
    part.number = place["number"]
    train(part, seed, place["checkpoint"], place["progress"], settings["precision"], job.device)
    part.close()
    return model


def run_grid(
    job: Job, settings: dict[str, Any], student: str, encoded: str, part: int, parts: int, trials: str
) -> None:
    """Fine-tune at each point of one part of the grid; write a line for each to `trials`: point, status, dev metric."""
    task, seed = settings["task"], settings["seed"]
    points = part_of(settings["points"], part, parts)
    checkpoint, progress = checkpoint_of(job, settings, seed), progress_of(job, len(points))
    lines = checkpoint.notes()  # of the points that this job finished before it was killed
    for number, point in points[len(lines) :]:
        try:
            model = _tuned(
                job, settings, student, encoded, point, seed, number=number, checkpoint=checkpoint, progress=progress
            )
            found = measure(model, encoded, task["validation_split"], task, settings["precision"], job.device)
            line = {"number": number, **point, "status": "ok", "dev": found.metrics[settings["metric_for_best_model"]]}
        except Diverged as error:
            line = {"number": number, **point, "status": "diverged", "step": error.step}
        checkpoint.note(line)
        lines.append(line)
        job.log.write(f"{json.dumps(line)}\n")
    Path(trials).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    checkpoint.remove()
    job.say(f"{len(points)} grid points  ({job.seconds():.0f} s)")


def finetune_student(
    job: Job,
    settings: dict[str, Any],
    student: str,
    task: str,
    seed: int,
    model: str,
    encoded: str,
    trials: list[str],
    score: str,
    weights: str | None,
) -> None:
    """Fine-tune a student at the best grid point with one seed and write its score.

    A divergence, of this training run or of every grid point, is recorded in the score, not raised. `weights` is the
    folder in which the fine-tuned weights are saved; None discards them.
    """
    point: dict[str, Any] = {}
    checkpoint, network = checkpoint_of(job, [settings, trials_of(trials)], seed), None
    try:
        point = choose(trials)
        network = _tuned(
            job, settings, model, encoded, point, seed, number=1, checkpoint=checkpoint, progress=progress_of(job)
        )
        data = settings["task"]
        result: Any = measure(network, encoded, data["evaluation_split"], data, settings["precision"], job.device)
    except Diverged as error:
        result = error
    if weights:
        kept = network or build.load(model, *head_of(settings["task"]))
        build.save(kept, model, weights, card(f"{student} on {task}, seed {seed}", settings, job.device))
    write_score(job, score, student, task, seed, settings, result, chosen=point)
    checkpoint.remove()
