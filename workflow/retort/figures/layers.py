"""Figures of scores against the teacher layer that was distilled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from retort.figures.base import Figure, Point, TaskMetric, point_cell
from retort.figures.style import SERIES, figure, points, save, write_notes
from retort.results.tidy import Line
from retort.specs.base import Name, Whole
from retort.specs.exhibit import figure_kind
from retort.specs.fields import StudentName
from retort.specs.printed import check_no_repeats
from retort.specs.rows import CellSpec, Column
from retort.tables.base import Inputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Layer = Annotated[Whole, Field(ge=0, le=48)]


@figure_kind
class LayersFigure(Figure):
    """A figure of the score (y) against the teacher layer that was distilled (x)."""

    kind: Literal["layers"] = Field(description="which kind of figure this is")
    task: Name = Field(description="an entry of workflow/tasks")
    metric: TaskMetric = Field(description="one of the task's metrics")
    points: dict[Layer, StudentName] = Field(default={}, description="teacher layer -> student")
    planned: dict[Layer, StudentName] = Field(
        default={}, description="teacher layer -> the name that its student will have"
    )
    references: list[Point] = Field(default=[], description="students drawn as level lines")

    @model_validator(mode="after")
    def _one_state(self) -> LayersFigure:
        if bool(self.points) == bool(self.planned):
            raise ValueError("a figure needs one of 'points' and 'planned'")
        check_no_repeats("student", [*self.points.values(), *self.planned.values()])
        return self

    def cells(self) -> list[CellSpec]:
        """Return a point per layer, then one per reference."""
        column = Column(label=self.metric, task=self.task, metric=self.metric)
        return [
            *(point_cell(f"layer {layer}", student, column) for layer, student in sorted(self.points.items())),
            *(point_cell(f"layer {layer}", "", column, name) for layer, name in sorted(self.planned.items())),
            *(point_cell(reference.label, reference.student, column) for reference in self.references),
        ]

    def depths(self) -> dict[str, int]:
        """Return the teacher layer of each point."""
        return {student: layer for layer, student in self.points.items()}

    def draw(self, inputs: Inputs, lines: list[Line], renders: dict[str, str]) -> None:
        """Draw and save the figure: layers from left to right, references as horizontal lines.

        Error bars and the bands of the references are one standard deviation.
        """
        layers = self.depths()
        good = [line for line in lines if line.student in layers and line.mean is not None]
        deepest = max([*self.points, *self.planned])
        with figure(5.0, 3.1) as drawn:
            axes = drawn.subplots()
            x: list[float] = [layers[line.student] for line in good]
            y = [line.mean or 0.0 for line in good]
            points(axes, x, y, yerr=[line.std or 0 for line in good], fmt="o-", linewidth=1.6)
            _references(axes, [line for line in lines if line.student not in layers])
            axes.set(
                xlabel="teacher layer", ylabel=f"{self.metric.capitalize()} on {self.task}, × 100",
                xlim=(0.6, deepest + 0.4), xticks=range(1, deepest + 1),
            )  # fmt: skip
            axes.grid(visible=False, axis="x")
            write_notes(drawn, lines, inputs.remark)
            save(drawn, renders)


def _references(axes: Axes, lines: list[Line]) -> None:
    drawn = [(line, line.mean) for line in lines if line.mean is not None]
    for (line, mean), color in zip(drawn, SERIES, strict=False):
        axes.axhline(mean, color=color, linewidth=1.5, linestyle=(0, (5, 2)), zorder=2, label=line.row)
        if line.std is not None:
            axes.axhspan(mean - line.std, mean + line.std, color=color, alpha=0.13, linewidth=0, zorder=1)
    if drawn:
        axes.figure.legend(loc="outside upper right", ncols=len(SERIES), frameon=False, fontsize=9)
