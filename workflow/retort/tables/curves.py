"""Curves of the loss behind a cell, as lines of an SVG: one for each training, from the steps next to its log."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence

from retort.job.steps import read_steps, steps_file

POINTS = 24  # of a curve: the means over parts of equal length of the training, whatever its number of steps
WIDTH, HEIGHT = 240, 60  # of the drawing, in its own units

Curve = tuple[float, ...]  # logarithms of the loss


def losses_of(log: str) -> dict[int, list[float]]:
    """Return seed -> the logarithm of the loss at the steps of a job's log, stage after stage; empty without steps."""
    found: dict[int, list[float]] = {}
    for line in read_steps(steps_file(log)) if log else ():
        loss = line.get("loss")
        if isinstance(loss, int | float) and math.isfinite(loss) and loss > 0 and isinstance(line.get("seed"), int):
            found.setdefault(line["seed"], []).append(math.log(loss))
    return found


def loss_curve(losses: Sequence[float]) -> Curve:
    """Return the curve of a training with these losses, step after step."""
    ends = [round(len(losses) * part / POINTS) for part in range(POINTS + 1)]
    return tuple(statistics.fmean(losses[start:end]) for start, end in itertools.pairwise(ends) if end > start)


def drawn_curves(curves: Iterable[Curve]) -> list[str]:
    """Return the points of each curve that has any, as an SVG polyline takes them; all share their axes."""
    shown = [curve for curve in curves if len(curve) > 1]
    if not shown:
        return []
    low, high = min(map(min, shown)), max(map(max, shown))
    return [" ".join(_points(curve, low, high - low or 1.0)) for curve in shown]


def _points(curve: Sequence[float], low: float, reach: float) -> Iterable[str]:
    for at, loss in enumerate(curve):
        yield f"{WIDTH * at / (len(curve) - 1):.0f},{HEIGHT * (1 - (loss - low) / reach):.0f}"
