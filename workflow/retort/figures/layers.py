"""Draw scores against the teacher layer that was distilled."""

from __future__ import annotations

import itertools

from matplotlib.axes import Axes

from retort.figures.kinds import Inputs, Kind, kinds
from retort.figures.style import SERIES, figure, not_drawn, points, save
from retort.tables.lines import score_lines
from retort.tables.tidy import Line


def collect(inputs: Inputs) -> list[Line]:
    """Return one tidy line per layer, then one per reference."""
    return score_lines(inputs.study, inputs.paper, inputs.name, inputs.scores)


def teacher_layers(inputs: Inputs) -> int:
    """Return the number of layers of the deepest teacher of the drawn students.

    Without drawn students, it is the highest layer of the planned ones, or 1.
    """
    depths = []
    for student in inputs.spec.points.values():
        teacher = inputs.study.students[student].teacher if student in inputs.study.students else student
        depths.append(inputs.study.model_of(teacher).architecture.layers)
    return max(depths, default=max(inputs.spec.planned, default=1))


def spaced(values: list[float], least: float) -> list[float]:
    """Move values apart so that neighbours differ by at least `least`; the order given is kept."""
    order = sorted(range(len(values)), key=values.__getitem__)
    moved = list(values)
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + least)
    # All values were moved up; the mean move is taken off again, so that they stay near where they were.
    shift = sum(a - b for a, b in zip(moved, values, strict=True)) / max(1, len(values))
    return [value - shift for value in moved]


def _references(axes: Axes, lines: list[Line]) -> None:
    drawn = [(line, line.mean) for line in lines if line.mean is not None]
    for (line, mean), color in zip(drawn, SERIES, strict=False):
        axes.axhline(mean, color=color, linewidth=1.5, linestyle=(0, (5, 2)), zorder=2)
        if line.std is not None:
            axes.axhspan(mean - line.std, mean + line.std, color=color, alpha=0.13, linewidth=0, zorder=1)
    low, high = axes.get_ylim()
    heights = spaced([mean for _, mean in drawn], (high - low) * 0.07)
    for (line, _), color, height in zip(drawn, SERIES, heights, strict=False):
        place = (1.015, height)
        axes.annotate(line.row, place, xycoords=axes.get_yaxis_transform(), color=color, va="center")


def draw(inputs: Inputs, lines: list[Line], renders: dict[str, str]) -> None:
    """Draw and save the figure: layers from left to right, references as horizontal lines.

    Error bars and the bands of the references are one standard deviation.
    """
    place = {student: layer for layer, student in inputs.spec.points.items()}
    shown = [line for line in lines if line.student in place]
    good = [line for line in shown if line.mean is not None]
    with figure(5.0, 3.1) as drawn:
        axes: Axes = drawn.subplots()
        x = [place[line.student] for line in good]
        points(
            axes, x, [line.mean or 0.0 for line in good], yerr=[line.std or 0 for line in good], fmt="o-", linewidth=1.6
        )
        _references(axes, [line for line in lines if line.student not in place])
        axes.set(
            xlabel="teacher layer", ylabel=f"{inputs.spec.metric.capitalize()} on {inputs.spec.task}, × 100",
            xlim=(0.6, teacher_layers(inputs) + 0.4), xticks=range(1, teacher_layers(inputs) + 1),
        )  # fmt: skip
        axes.grid(visible=False, axis="x")
        not_drawn(drawn, lines)
        save(drawn, renders)


kinds.register("layers")(Kind(collect, draw))
