"""Fine-tuning of task-agnostic students: a grid scored on the dev split, then the best point with each seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retort.errors import Diverged
from retort.jobs import Job
from retort.models import build
from retort.models.cards import card
from retort.stages.common import (
    checkpoint_of,
    head_of,
    measure,
    prepare,
    progress_of,
    supervised,
    training_rows,
    write_score,
)
from retort.training.loop import train


def part_of(points: list[dict[str, Any]], part: int, parts: int) -> list[tuple[int, dict[str, Any]]]:
    """Return the points of one part of a grid that is cut into `parts`, each with its number in the whole grid.

    Parts and points are counted from 1. A part holds every `parts`-th point, so that all parts cost about the same. The
    number of a point seeds its training, so that results do not depend on how the grid is cut.
    """
    return list(enumerate(points, start=1))[part - 1 :: parts]


def _tuned(
    job: Job, settings: dict[str, Any], student: str, encoded: str, point: dict[str, Any], seed: int, **place: Any
) -> Any:
    """Fine-tune the student at a point of the grid with a seed, and return the model."""
    prepare(job, seed)
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
            found = measure(model, encoded, task["choose_on"], task, settings["precision"], job.device)
            line = {"number": number, **point, "status": "ok", "dev": found.metrics[settings["choose_by"]]}
        except Diverged as error:
            line = {"number": number, **point, "status": "diverged", "step": error.step}
        checkpoint.note(line)
        lines.append(line)
        job.log.write(f"{json.dumps(line)}\n")
    Path(trials).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    checkpoint.remove()
    job.say(f"{len(points)} grid points  ({job.seconds():.0f} s)")


def choose(trials: list[str]) -> dict[str, Any]:
    """Return the grid point with the best dev metric, the first in the grid's order on a tie; empty without a grid.

    Raises:
        Diverged: every point diverged; the error has the step of the first point.
    """
    lines = [json.loads(line) for line in trials_of(trials)]
    if not lines:
        return {}
    lines.sort(key=lambda line: line["number"])
    fine = [line for line in lines if line["status"] == "ok"]
    if not fine:
        raise Diverged(lines[0]["step"])
    best = max(fine, key=lambda line: line["dev"])
    return {key: value for key, value in best.items() if key not in ("number", "status", "dev")}


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
        result: Any = measure(network, encoded, data["evaluate_on"], data, settings["precision"], job.device)
    except Diverged as error:
        result = error
    if weights:
        kept = network or build.load(model, *head_of(settings["task"]))
        build.save(kept, model, weights, card(f"{student} on {task}, seed {seed}", settings, job.device))
    write_score(job, score, student, task, seed, settings, result, chosen=point)
    checkpoint.remove()


def trials_of(trials: list[str]) -> list[str]:
    """Return the lines in the trials files of all parts of a grid."""
    return [line for path in trials for line in Path(path).read_text().splitlines()]
