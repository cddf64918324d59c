"""Fine-tuning of task-agnostic students: a grid on the dev split, then the chosen point under each seed."""

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
    """The points of one part (from 1) of a grid that is cut into `parts`, with their numbers in the whole grid.

    Every parts-th point, so that parts cost alike. The number seeds a point's training: how the grid is cut does not
    change what comes out.
    """
    return list(enumerate(points, start=1))[part - 1 :: parts]


def _tuned(
    job: Job, settings: dict[str, Any], student: str, encoded: str, point: dict[str, Any], seed: int, **place: Any
) -> Any:
    """The model, trained at a point of the grid under a seed."""
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
    """Nothing; a line for every point of this part of the grid stands in `trials`: point, metric on dev, status."""
    task, seed = settings["task"], settings["seed"]
    points = part_of(settings["points"], part, parts)
    checkpoint, progress = checkpoint_of(job, settings, seed), progress_of(job, len(points))
    lines = checkpoint.notes()  # points that a killed job had finished
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
    """The grid point with the best metric on dev; the first of equals, in the grid's order; empty without a grid.

    Raises:
        Diverged: every point did; with the step of the first.
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
    """Nothing; the chosen grid point is trained once more under one seed, its score stands at its address."""
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
    """The lines of all parts of a grid."""
    return [line for path in trials for line in Path(path).read_text().splitlines()]
