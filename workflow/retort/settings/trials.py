"""The trials of a grid of settings: tried in parts, noted in files, the best chosen on the validation split."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.checksums import REMEDY
from retort.errors import Diverged, RetortError
from retort.settings.trainings import PointSettings, SearchSettings


@dataclass(frozen=True)
class Trial:
    """A point of a grid that was tried.

    Args:
        number: the number of the point in the whole grid, from 1.
        point: the point.
        dev: the metric on the validation split; None if the training diverged.
        step: the step at which the training diverged; None if it did not.
    """

    number: int
    point: PointSettings
    dev: float | None = None
    step: int | None = None

    def as_json(self) -> dict[str, object]:
        """Return the trial as a line of a trials file: number, point, status, and the metric or the step."""
        outcome = {"status": "ok", "dev": self.dev} if self.step is None else {"status": "diverged", "step": self.step}
        return {"number": self.number, **self.point.as_json(), **outcome}

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> Trial:
        """Return the trial of a line of a trials file.

        Raises:
            ValueError: a key is missing or unknown, or the metric is no number.
        """
        point = {key: value for key, value in line.items() if key not in {"number", "status", "dev", "step"}}
        outcome = {key: value for key, value in line.items() if key in {"dev", "step"}}
        needed = {"ok": "dev", "diverged": "step"}[line["status"]]
        if list(outcome) != [needed] or not isinstance(outcome[needed], (int, float)):
            raise ValueError(f"status {line['status']} with {outcome}")
        return cls(int(line["number"]), PointSettings(**point), **outcome)


def places_of(part: int, parts: int) -> slice:
    """Return where the points of one of the `parts` parts of a grid, from 1, stand in the list of all its points.

    A part holds every `parts`-th point, so that all parts cost about the same.
    """
    return slice(part - 1, None, parts)


def choose_point(trials_files: list[str], points: list[PointSettings]) -> PointSettings:
    """Return the grid point with the best dev metric; on a tie, the first in the grid's order.

    Without a grid, return a point that changes nothing.

    Args:
        trials_files: the trials of all parts of the grid; empty without a grid.
        points: the points of the whole grid.

    Raises:
        Diverged: every point diverged; the error has the step of the first point.
        RetortError: the files do not hold exactly one trial of each point.
    """
    if not trials_files:
        return PointSettings()
    trials = read_trials(trials_files, points)
    best = best_trial(trials)
    if best is None:
        raise Diverged(trials[0].step or 0)
    return best.point


def best_trial(trials: list[Trial]) -> Trial | None:
    """Return the trial with the best dev metric, on a tie the first; None if none has a metric."""
    scored = [trial for trial in trials if trial.dev is not None and math.isfinite(trial.dev)]
    return max(scored, key=lambda trial: trial.dev or 0.0, default=None)


def best_of(trials_files: list[str], grid: SearchSettings | None) -> tuple[PointSettings, Diverged | None]:
    """Return the best point of a grid; or the first one, with its divergence, if every point diverged.

    Raises:
        RetortError: the files do not hold exactly one trial of each point.
    """
    points = grid.points if grid else [PointSettings()]
    try:
        return choose_point(trials_files, points), None
    except Diverged as error:
        return points[0], error


def read_trials(trials_files: list[str], points: list[PointSettings]) -> list[Trial]:
    """Return the trials of all parts of a grid, in the order of its points.

    Raises:
        RetortError: a line is no trial, or the files do not hold exactly one trial of each point of the grid.
    """
    unsorted = (trial for path in trials_files for trial in _read_file(Path(path)))
    trials = sorted(unsorted, key=lambda trial: trial.number)
    folder = Path(trials_files[0]).parent
    numbers = [trial.number for trial in trials]
    if numbers != list(range(1, len(points) + 1)):
        listed = ", ".join(map(str, numbers)) or "none"
        raise RetortError(f"{folder} holds trials of points {listed}, not of each of {len(points)}", REMEDY)
    for trial, point in zip(trials, points, strict=True):
        if trial.point != point:
            raise RetortError(f"{folder}: trial {trial.number} is of another point than the study's", REMEDY)
    return trials


def _read_file(path: Path) -> list[Trial]:
    """Return the trials of one file."""
    trials = []
    for number, line in enumerate(_read_lines(path), start=1):
        try:
            trials.append(Trial.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RetortError(f"{path}:{number} is no trial of a grid", REMEDY) from None
    return trials


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RetortError(f"{path} cannot be read ({error})", REMEDY) from None


def read_lines(trials_files: list[str]) -> list[str]:
    """Return the lines in the trials files of all parts of a grid."""
    return [line for path in trials_files for line in _read_lines(Path(path))]
