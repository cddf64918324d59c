"""Figures of scores against latency, one point per architecture, with the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from retort.specs.base import Name
from retort.specs.exhibit import figure_kind
from retort.specs.reported import check_no_repeats
from retort.specs.rows import CellSpec, Column
from retort.tables.base import Inputs
from retort.tables.figures.base import Figure, Point, TaskMetric, point_cell
from retort.tables.figures.style import (
    MUTED,
    PAPER,
    empty_figure_text,
    figure,
    points,
    save,
    save_empty_figure,
    write_notes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

LATENCY = Column(label="Latency (ms)", metric="latency")
BESIDE = 1.8  # the axis reaches to this multiple of the slowest latency, and to that part of the fastest


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

    def draw(self, inputs: Inputs, frame: DataFrame, renders: dict[str, str]) -> None:
        """Draw and save the figure: error bars are one standard deviation in both directions."""
        timed = frame["metric"] == "latency"
        both = frame[~timed].merge(frame[timed], on="student", suffixes=("", "_ms"))
        marks = both[both["mean"].notna() & both["mean_ms"].notna()].fillna({"std": 0.0, "std_ms": 0.0})
        if not len(marks):
            save_empty_figure(empty_figure_text(frame), renders)
            return
        with figure(5.0, 3.3) as drawn:
            axes = drawn.subplots()
            x, y = marks["mean_ms"], marks["mean"]
            points(axes, x, y, xerr=marks["std_ms"], yerr=marks["std"], markeredgecolor=PAPER, markersize=8)
            _axes(axes, f"{self.metric.capitalize()} on {self.task}, × 100", x.min() / BESIDE, x.max() * BESIDE)
            _front(axes, front(list(zip(x, y, strict=True))))
            for label, latency_ms, score in zip(marks["row"], x, y, strict=True):
                axes.annotate(label, (latency_ms, score), (-9, 7), textcoords="offset points", ha="right")
            write_notes(drawn, frame, inputs.remark)
            save(drawn, renders)


def front(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the Pareto front, from fast to slow: the (latency, score) pairs that no other pair beats at both."""
    best: list[tuple[float, float]] = []
    for latency, score in sorted(pairs, key=lambda pair: (pair[0], -pair[1])):
        if not best or score > best[-1][1]:
            best.append((latency, score))
    return best


def _axes(axes: Axes, ylabel: str, low: float, high: float) -> None:
    """Set the axes; latencies have ticks at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set(xscale="log", xlim=(low, high), xlabel="latency, ms (log scale)", ylabel=ylabel)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(y=0.22)


def _front(axes: Axes, best: list[tuple[float, float]]) -> None:
    end = axes.get_xlim()[1], best[-1][1]
    x, y = zip(*best, end, strict=True)
    axes.step(x, y, where="post", color=MUTED, linewidth=1.2, zorder=2)
    look: dict[str, Any] = {"ha": "right", "va": "bottom", "color": MUTED, "fontsize": 8.5}
    axes.annotate("front", end, (-2, 3), textcoords="offset points", **look)
