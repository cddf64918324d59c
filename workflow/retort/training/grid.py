"""A grid of hyper-parameters: its parts, and the choice of the best point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retort.errors import Diverged


def part_of(points: list[dict[str, Any]], part: int, parts: int) -> list[tuple[int, dict[str, Any]]]:
    """Return the points of one part of a grid that is cut into `parts`, each with its number in the whole grid.

    Parts and points are counted from 1. A part holds every `parts`-th point, so that all parts cost about the same. The
    number of a point seeds its training, so that results do not depend on how the grid is cut.
    """
    return list(enumerate(points, start=1))[part - 1 :: parts]


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


def trials_of(trials: list[str]) -> list[str]:
    """Return the lines in the trials files of all parts of a grid."""
    return [line for path in trials for line in Path(path).read_text().splitlines()]
