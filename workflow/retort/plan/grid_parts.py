"""The number of jobs that share the points of a grid; no result depends on it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from retort.settings import PointSettings
from retort.specs.protocol import Grid
from retort.specs.task_files import UNKNOWN
from retort.study.study import Study

WORK = 1e18  # FLOPs of a job, at most: a few hours of a GPU. A job takes a whole point, even if that is more
# FLOPs of a training step for each weight and token: two in the forward pass, four in the backward pass
FLOPS_PER_WEIGHT = 6
PART = re.compile(r"\d+-of-(\d+)\.jsonl")


def number_of_parts(study: Study, student: str, task: str, folder: Path) -> int:
    """Return the number of jobs of a grid, at most one for each point; 0 without a grid.

    The task's `grid_parts` decides, else the number of a finished grid, else the work. A finished grid keeps its number
    because the files' names hold it: with another number, the grid would be made again.

    Args:
        study: the study.
        student: the student that is fine-tuned.
        task: the task.
        folder: where the results of the parts are.
    """
    grid = study.protocols[study.students[student].protocol].grid_of(task)
    if grid is None:
        return 0
    parts = study.tasks[task].jobs.grid_parts or finished_parts(folder) or parts_by_work(study, student, task, grid)
    return min(parts, len(grid.points()))


def finished_parts(folder: Path) -> int | None:
    """Return the number of parts of a grid whose results are all in a folder; None if there is no such grid."""
    if not folder.is_dir():
        return None
    names = (path.name for path in folder.iterdir())
    parts = Counter(int(found[1]) for name in names if (found := PART.fullmatch(name)))
    return min((number for number, count in parts.items() if number == count), default=None)


def parts_by_work(study: Study, student: str, task: str, grid: Grid) -> int:
    """Return the number of parts that keeps each within WORK if every row has the task's maximum length."""
    spec, size = study.tasks[task], study.students[student].architecture
    schedule = study.protocols[study.students[student].protocol].for_task(task)
    schedules = [PointSettings(**point).applied_to(schedule) for point in grid.points()]
    rows = _training_rows(study, task)
    tokens = sum(each.steps_on(rows) * each.batch_size for each in schedules) * spec.max_length
    return max(1, -(-FLOPS_PER_WEIGHT * size.layers * size.layer_weights * tokens // int(WORK)))


def _training_rows(study: Study, task: str) -> int:
    """Return the number of training rows of a task; UNKNOWN if the study's files do not tell."""
    spec = study.tasks[task]
    if spec.train_split not in spec.splits:
        return UNKNOWN
    return spec.splits[spec.train_split].most(spec.subsets)
