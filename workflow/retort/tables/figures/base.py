"""What every kind of figure adds to an exhibit: how its lines are collected and drawn; and the job that does so."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator, Field

from retort.job.context import RunningJob
from retort.results.frames import read, withhold_verdicts, write
from retort.specs.base import Label, Spec, StudentName, Text
from retort.specs.exhibit import Exhibit
from retort.specs.reported import OF_A_MODEL
from retort.specs.rows import CellSpec, Column
from retort.tables.base import Inputs, read_inputs
from retort.tables.figures.style import empty_figure_text, save_empty_figure
from retort.tables.measure import measured_frame

if TYPE_CHECKING:
    from pandas import DataFrame


def _of_a_task(metric: str) -> str:
    if metric in OF_A_MODEL:
        raise ValueError(f"'{metric}' is of a model; give one of the task's metrics")
    return metric


TaskMetric = Annotated[Text, AfterValidator(_of_a_task)]


class Point(Spec):
    """One student or teacher that is drawn in a figure."""

    student: StudentName = Field(description="a student or teacher")
    label: Label = Field(description="as reported")


def point_cell(label: str, student: str, column: Column) -> CellSpec:
    """Return the cell of one point of a figure: its name, the student or teacher that it shows, what it measures."""
    return CellSpec(label, column.name, student, column.task, column.metric, spec=column, identity=student)


class Figure(Exhibit):
    """The base of all kinds of figures; a kind is a file of `retort/tables/figures`.

    Such a file is imported whenever a study is read. To keep this fast, only functions that draw import matplotlib.
    """

    def collect(self, inputs: Inputs) -> DataFrame:
        """Return the frame of the figure: a line for each point."""
        return measured_frame(inputs, self)

    @abstractmethod
    def draw(self, inputs: Inputs, frame: DataFrame, renders: dict[str, str]) -> None:
        """Draw the frame and save the figure.

        Args:
            inputs: the study, with the paper and the name of the figure.
            frame: the frame that `collect` returned; at least one line has a value.
            renders: file format ('svg', 'png') -> path.
        """


def plot_figure(
    job: RunningJob,
    config: dict[str, Any],
    paper: str,
    figure: str,
    scores: Iterable[str],
    profiles: Iterable[str],
    tables: Iterable[str],
    csv: str,
    renders: dict[str, str],
) -> None:
    """Write the frame of a figure as CSV, read it back, and draw it in each file format.

    If no line has a value, the figure says why.

    Raises:
        RetortError: a score or profile was made with other settings than the study's.
    """
    inputs = read_inputs(config, paper, figure, scores, profiles, tables)
    spec = cast(Figure, inputs.study.exhibits[paper, figure])  # figure*.yaml are read as kinds of figures only
    write(csv, withhold_verdicts(inputs.study, paper, spec.collect(inputs)))
    frame = read(csv)
    if frame["mean"].notna().any():
        spec.draw(inputs, frame, renders)
    else:
        save_empty_figure(empty_figure_text(frame), renders)
    job.say(f"{len(frame)} values")
