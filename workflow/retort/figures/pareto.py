"""Figures of scores against latency, one point per architecture, with the Pareto front."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from retort.figures.base import Figure, Point, TaskMetric, point_cell
from retort.figures.style import MUTED, PAPER, figure, points, save, write_notes
from retort.results.tidy import Line
from retort.specs.base import Name
from retort.specs.exhibit import figure_kind
from retort.specs.printed import check_no_repeats
from retort.specs.rows import CellSpec, Column
from retort.tables.base import Inputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

LATENCY = Column(label="Latency (ms)", metric="latency")
# positions of a label beside its point: offsets to the right and up (in 1/72 inch), horizontal and vertical alignment
LABELS = [
    (9, 7, "left", "bottom"), (9, -7, "left", "top"), (-9, 7, "right", "bottom"), (-9, -7, "right", "top"),
    (0, 16, "center", "bottom"), (0, -16, "center", "top"),
]  # fmt: skip


@figure_kind
class ParetoFigure(Figure):
    """A figure of the score (y) against the latency (x), one point per student or teacher."""

    kind: Literal["pareto"] = Field(description="which kind of figure this is")
    task: Name = Field(description="an entry of workflow/tasks")
    metric: TaskMetric = Field(description="one of the task's metrics")
    points: list[Point] = Field(min_length=2, description="the students and teachers that are drawn")

    @model_validator(mode="after")
    def _labels(self) -> ParetoFigure:
        check_no_repeats("point", [point.label for point in self.points])
        check_no_repeats("the point of student", [point.student for point in self.points])
        return self

    def cells(self) -> list[CellSpec]:
        """Return two cells per point: first all scores, then all latencies."""
        score = Column(label=self.metric, task=self.task, metric=self.metric)
        return [point_cell(point.label, point.student, column) for column in (score, LATENCY) for point in self.points]

    def draw(self, inputs: Inputs, lines: list[Line], renders: dict[str, str]) -> None:
        """Draw and save the figure: error bars are one standard deviation in both directions."""
        latency = {line.student: line for line in lines if line.metric == "latency"}
        both = [(line, latency[line.student]) for line in lines if line.metric != "latency"]
        whole = [(s, t) for s, t in both if s.mean is not None and t.mean is not None]
        with figure(5.0, 3.3) as drawn:
            axes = drawn.subplots()
            if whole:
                x, y = [t.mean or 0.0 for _, t in whole], [s.mean or 0.0 for s, _ in whole]
                points(
                    axes, x, y, xerr=[t.std or 0 for _, t in whole], yerr=[s.std or 0 for s, _ in whole],
                    markeredgecolor=PAPER, markersize=8,
                )  # fmt: skip
                _axes(axes, f"{self.metric.capitalize()} on {self.task}, × 100", x)
                _front(axes, list(zip(x, y, strict=True)))
                drawn.canvas.draw()
                labels = [(score.row, *pair) for (score, _), pair in zip(whole, zip(x, y, strict=True), strict=True)]
                label_points(axes, labels, _bars(axes, whole))
            write_notes(drawn, itertools.chain.from_iterable(both), inputs.remark)
            save(drawn, renders)


def front(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the Pareto front, from fast to slow: the (latency, score) pairs that no other pair beats at both."""
    best: list[tuple[float, float]] = []
    for latency, score in sorted(pairs, key=lambda pair: (pair[0], -pair[1])):
        if not best or score > best[-1][1]:
            best.append((latency, score))
    return best


def label_points(axes: Axes, labels: list[tuple[str, float, float]], bars: list[Bbox]) -> None:
    """Put each label at the first position beside its point that hides no point, error bar or other label.

    If every position hides something, use the one that hides least; a label outside the axes counts as two.
    """
    renderer = axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    frame, taken = axes.get_window_extent(renderer), list(bars)
    for text, x, y in labels:
        tried: list[Any] = []
        for right, up, across, along in LABELS:
            note = axes.annotate(text, (x, y), (right, up), textcoords="offset points", ha=across, va=along, zorder=4)
            box = note.get_window_extent(renderer)
            hidden = sum(box.padded(4).overlaps(other) for other in taken)
            outside = not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1)
            tried.append((hidden + 2 * outside, len(tried), note, box))
        best = min(tried, key=lambda item: item[:2])
        for item in tried:
            if item is not best:
                item[2].remove()
        taken.append(best[3])


def _bars(axes: Axes, drawn: list[tuple[Line, Line]]) -> list[Bbox]:
    """Return boxes around the two error bars of each point, in pixels."""
    from matplotlib.transforms import Bbox

    boxes = []
    for score, latency in drawn:
        (x, y), wide, high = (latency.mean or 0, score.mean or 0), latency.std or 0, score.std or 0
        for a, b in (((x - wide, y), (x + wide, y)), ((x, y - high), (x, y + high))):
            (x0, y0), (x1, y1) = axes.transData.transform([a, b])
            boxes.append(Bbox([[x0 - 5, y0 - 5], [x1 + 5, y1 + 5]]))
    return boxes


def _ticks(low: float, high: float) -> list[float]:
    """Return the ticks between two latencies: 1, 2 and 5 times powers of ten; if there are none, the two latencies."""
    steps = [m * 10.0**power for power in range(-4, 6) for m in (1, 2, 5)]
    inside = [step for step in steps if low <= step <= high]
    return inside or [low, high]


def _axes(axes: Axes, ylabel: str, x: list[float]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set(xscale="log", xlim=(min(x) / 1.35, max(x) * 1.35), xlabel="latency, ms (log scale)", ylabel=ylabel)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(min(x) / 1.35, max(x) * 1.35)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.margins(y=0.22)


def _front(axes: Axes, pairs: list[tuple[float, float]]) -> None:
    best = front(pairs)
    steps = [*best, (axes.get_xlim()[1], best[-1][1])]
    axes.step([x for x, _ in steps], [y for _, y in steps], where="post", color=MUTED, linewidth=1.2, zorder=2)
    x, y = steps[-1]
    look: dict[str, Any] = {"ha": "right", "va": "bottom", "color": MUTED, "fontsize": 8.5}
    axes.annotate("front", (x, y), (-2, 3), textcoords="offset points", **look)
