"""A grid of hyper-parameters: its parts, its trials, and the choice of the best point."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.errors import Diverged
from retort.settings import PointSettings


@dataclass(frozen=True)
class Trial:
    """A point of a grid that was tried.

    Args:
        number: its number in the whole grid, from 1.
        point: the point.
        dev: its metric on the validation split; None if its training diverged.
        step: the step at which its training diverged; None if it did not.
    """

    number: int
    point: PointSettings
    dev: float | None = None
    step: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the trial as a line of a trials file: number, point, status, and the metric or the step."""
        outcome = {"status": "ok", "dev": self.dev} if self.step is None else {"status": "diverged", "step": self.step}
        return {"number": self.number, **self.point.as_json(), **outcome}

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> Trial:
        """Return the trial that a line of a trials file describes."""
        point = {key: value for key, value in line.items() if key in PointSettings.model_fields}
        return cls(line["number"], PointSettings(**point), line.get("dev"), line.get("step"))


def part_of(points: list[PointSettings], part: int, parts: int) -> list[tuple[int, PointSettings]]:
    """Return the points of one part of a grid that is cut into `parts`, each with its number in the whole grid.

    Parts and points are counted from 1. A part holds every `parts`-th point, so that all parts cost about the same. The
    number of a point seeds its training, so that results do not depend on how the grid is cut.
    """
    return list(enumerate(points, start=1))[part - 1 :: parts]


def choose(trials_files: list[str]) -> PointSettings:
    """Return the grid point with the best dev metric, the first in the grid's order on a tie.

    Without a grid, the point changes nothing.

    Raises:
        Diverged: every point diverged; the error has the step of the first point.
    """
    trials = sorted(
        (Trial.from_json(json.loads(line)) for line in lines_of(trials_files)), key=lambda trial: trial.number
    )
    if not trials:
        return PointSettings()
    scored = [(trial.dev, trial.point) for trial in trials if trial.dev is not None]
    if not scored:
        raise Diverged(trials[0].step or 0)
    return max(scored, key=lambda pair: pair[0])[1]


def lines_of(trials_files: list[str]) -> list[str]:
    """Return the lines in the trials files of all parts of a grid."""
    return [line for path in trials_files for line in Path(path).read_text().splitlines()]
