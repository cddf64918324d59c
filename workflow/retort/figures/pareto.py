"""Figures of scores against latency, one point per architecture, with the Pareto front."""

from __future__ import annotations

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

Mark = tuple[str, float, float, float, float]  # label, latency (ms), score (x 100), and the deviations of both
LATENCY = Column(label="Latency (ms)", metric="latency")
BESIDE = 1.35  # the axis reaches to this multiple of the slowest latency, and to that part of the fastest
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
        marks = [
            (score.row, time.mean, score.mean, time.std or 0.0, score.std or 0.0)
            for score, time in both
            if score.mean is not None and time.mean is not None
        ]
        with figure(5.0, 3.3) as drawn:
            axes = drawn.subplots()
            if marks:
                _, x, y, wide, high = map(list, zip(*marks, strict=True))
                points(axes, x, y, xerr=wide, yerr=high, markeredgecolor=PAPER, markersize=8)
                _axes(axes, f"{self.metric.capitalize()} on {self.task}, × 100", min(x) / BESIDE, max(x) * BESIDE)
                _front(axes, front(list(zip(x, y, strict=True))))
                drawn.canvas.draw()
                _label_points(axes, marks)
            write_notes(drawn, [line for pair in both for line in pair], inputs.remark)
            save(drawn, renders)


def front(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the Pareto front, from fast to slow: the (latency, score) pairs that no other pair beats at both."""
    best: list[tuple[float, float]] = []
    for latency, score in sorted(pairs, key=lambda pair: (pair[0], -pair[1])):
        if not best or score > best[-1][1]:
            best.append((latency, score))
    return best


def _label_points(axes: Axes, marks: list[Mark]) -> None:
    """Put each label at the first position beside its point that hides no point, error bar or other label.

    If every position hides something, use the one that hides least; a label outside the axes counts as two.
    """
    renderer = axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    frame, taken = axes.get_window_extent(renderer), [box for mark in marks for box in _bars(axes, *mark[1:])]
    for text, x, y, *_ in marks:
        tried: list[Any] = []
        for right, up, across, along in LABELS:
            note = axes.annotate(text, (x, y), (right, up), textcoords="offset points", ha=across, va=along, zorder=4)
            box = note.get_window_extent(renderer)
            hidden = sum(box.padded(4).overlaps(other) for other in taken)
            outside = not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1)
            tried.append((hidden + 2 * outside, note, box))
        best = min(tried, key=lambda item: item[0])  # the first of the best
        for item in tried:
            if item is not best:
                item[1].remove()
        taken.append(best[2])


def _bars(axes: Axes, x: float, y: float, wide: float, high: float) -> list[Bbox]:
    """Return boxes around the two error bars of a point, in pixels."""
    from matplotlib.transforms import Bbox

    ends = axes.transData.transform([(x - wide, y), (x + wide, y), (x, y - high), (x, y + high)])
    return [Bbox([first - 5, last + 5]) for first, last in (ends[:2], ends[2:])]


def _axes(axes: Axes, ylabel: str, low: float, high: float) -> None:
    """Set the axes; latencies have ticks at 1, 2 and 5 times powers of ten, or else at both ends."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set(xscale="log", xlim=(low, high), xlabel="latency, ms (log scale)", ylabel=ylabel)
    steps = [m * 10.0**power for power in range(-4, 6) for m in (1, 2, 5)]
    axes.xaxis.set_major_locator(FixedLocator([step for step in steps if low <= step <= high] or [low, high]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.margins(y=0.22)


def _front(axes: Axes, best: list[tuple[float, float]]) -> None:
    end = axes.get_xlim()[1], best[-1][1]
    x, y = zip(*best, end, strict=True)
    axes.step(x, y, where="post", color=MUTED, linewidth=1.2, zorder=2)
    look: dict[str, Any] = {"ha": "right", "va": "bottom", "color": MUTED, "fontsize": 8.5}
    axes.annotate("front", end, (-2, 3), textcoords="offset points", **look)
