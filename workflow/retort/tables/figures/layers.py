"""Figures of scores against the teacher layer that was distilled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator

from retort.specs.base import Name, StudentName, Whole
from retort.specs.exhibit import StudyNames, figure_kind
from retort.specs.reported import check_no_repeats
from retort.specs.rows import CellSpec, Column
from retort.tables.base import Inputs
from retort.tables.figures.base import Figure, TaskMetric, point_cell
from retort.tables.figures.style import figure, points, save, write_notes

if TYPE_CHECKING:
    from pandas import DataFrame

Layer = Annotated[Whole, Field(ge=0, le=48)]


@figure_kind
class LayersFigure(Figure):
    """A figure of the score (y) against the teacher layer that was distilled (x)."""

    kind: Literal["layers"] = Field(description="which kind of figure this is")
    task: Name = Field(description="an entry of workflow/tasks")
    metric: TaskMetric = Field(description="one of the task's metrics")
    points: dict[Layer, StudentName] = Field(min_length=1, description="teacher layer -> student")

    @field_validator("points")
    @classmethod
    def _one_layer_each(cls, points: dict[int, str]) -> dict[int, str]:
        check_no_repeats("student", list(points.values()))
        return points

    def cells(self) -> list[CellSpec]:
        """Return a point per layer."""
        column = Column(label=self.metric, task=self.task, metric=self.metric)
        return [point_cell(f"layer {layer}", student, column) for layer, student in sorted(self.points.items())]

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each point with a layer that the teacher of its student does not have."""
        for layer, name in self.points.items():
            layers = study.model_of(study.teacher_of(name)).architecture.layers
            if layer > layers:
                yield f"points.{layer}: the teacher of '{name}' has {layers} layers"

    def draw(self, inputs: Inputs, frame: DataFrame, renders: dict[str, str]) -> None:
        """Draw and save the figure: layers from left to right; error bars are one standard deviation."""
        good = frame[frame["mean"].notna()]
        first, deepest = min(self.points), max(self.points)
        with figure(5.0, 3.1) as drawn:
            axes = drawn.subplots()
            layers = good["student"].map({student: layer for layer, student in self.points.items()})
            points(axes, layers, good["mean"], yerr=good["std"].fillna(0), fmt="o-", linewidth=1.6)
            axes.set(
                xlabel="teacher layer", ylabel=f"{self.metric.capitalize()} on {self.task}, × 100",
                xlim=(first - 0.4, deepest + 0.4), xticks=range(first, deepest + 1),
            )  # fmt: skip
            axes.grid(visible=False, axis="x")
            write_notes(drawn, frame, inputs.remark)
            save(drawn, renders)
