"""The best trials of our grids, which verdicts compare with published numbers that are the best of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from retort.plan.sharing import grid_parts
from retort.settings.trainings import points_of
from retort.settings.trials import best_trial, read_trials
from retort.study.questions import grid_of
from retort.study.study import Study


@dataclass(frozen=True)
class BestTrial:
    """The best point of a student's grid on a task.

    Args:
        score: its metric on dev, times 100.
        point: its number, its settings and the seed, as text.
        path: the file that holds the trial.
    """

    score: float
    point: str
    path: str


BestTrials = Mapping[tuple[str, str], BestTrial]  # (student, task) -> the best point of its grid


def read_best(study: Study, pairs: Iterable[tuple[str, str]]) -> BestTrials:
    """Return the best trial of each (student, task) whose grid is finished and has a point that did not diverge.

    Raises:
        RetortError: a file holds other trials than those of the grid's points.
    """
    found = {}
    for student, task in pairs:
        files, grid = grid_parts(study, student, task), grid_of(study, student, task)
        if grid is None or not all(Path(path).is_file() for path in files):
            continue
        points = points_of(grid)
        if best := best_trial(read_trials(files, points)):
            changed = ", ".join(f"{name} {value}" for name, value in best.point.as_json().items())
            point = f"point {best.number} of {len(points)} ({changed}, seed {grid.seed})"
            path = files[(best.number - 1) % len(files)]  # as `places_of` divides the points
            found[student, task] = BestTrial(100 * (best.dev or 0.0), point, path)
    return found
