"""The columns and rows of a table of models, and the cell at each row and column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import Field, model_validator

from retort.specs.base import Distinct, Name, Text
from retort.specs.judging import Judging
from retort.specs.names import StudentName
from retort.specs.printed import AVERAGE, CHANGE, OF_A_MODEL, SHAPE, Heading, Measure, TextRow
from retort.specs.timing import TIMED, Timing, Values, timing


class Column(Judging, Measure, Heading):
    """A column: one task and one metric, or a number computed from other columns; the metric is always explicit."""

    average: bool = Field(default=False, description="counts in the row's average")
    mean_of: Distinct[Text] = Field(default=[], description="the columns of this table whose mean the paper prints")
    change_from: str = Field(default="", description="the column from which the column before it is a change, in %")
    variant: Name = Field(default="", description="joined by a dash to the name of the row's student")

    @model_validator(mode="after")
    def _one_kind(self) -> Column:
        if bool(self.metric) + bool(self.mean_of) + bool(self.tasks) + bool(self.change_from) > 1:
            raise ValueError("only one of 'metric', 'mean_of', 'tasks' and 'change_from' says what a column holds")
        return self


class Row(Measure, TextRow):
    """A row: one student or teacher under its printed label, or numbers that the paper quotes from elsewhere."""

    student: StudentName = Field(default="", description="the student or teacher that is run")
    students: dict[Name, StudentName] = Field(
        default={}, description="a column's variant -> the student or teacher that is run; none in the other columns"
    )
    planned: StudentName = Field(
        default="", description="the name that the row's student will have; nothing is run yet"
    )
    quoted: str = Field(
        default="", description="whose number it is, as the paper cites it; with a student, ours stands beside it"
    )
    model: Name = Field(default="", description="one name for what a quoted row shows, in whatever table")
    baseline: bool = Field(default=False, description="no distillation objective: left out of the paired tests")

    @model_validator(mode="after")
    def _one_state(self) -> Row:
        ways = sum(map(bool, (self.student, self.students, self.planned)))
        if ways > 1 or not (ways or self.quoted):
            raise ValueError(f"row '{self.label}' needs one of 'student', 'planned' and 'quoted'")
        if self.model and not self.quoted:
            raise ValueError(f"row '{self.label}': 'model' names what a quoted row shows")
        return self

    @property
    def identity(self) -> str:
        """The name of the row's model, whether it is run or not; empty if a quoted row gives none."""
        return self.model if self.quoted else self.student or self.planned

    def student_at(self, variant: str) -> str:
        """Return the student or teacher that is run in a column of this variant; empty if none is."""
        return self.students.get(variant, "") if self.students else _joined(self.student, variant)

    @property
    def tested(self) -> bool:
        """Whether paired tests compare the row: it is neither quoted nor a baseline."""
        return not (self.quoted or self.baseline)


@dataclass(frozen=True)
class CellSpec:
    """One cell of a table, or one point of a figure: which model it shows and what it measures.

    Args:
        row: the name of its row.
        column: the name of its column.
        student: the student or teacher whose score or profile the cell shows; empty if none is run.
        task: the task of a score; empty for a number of the model.
        metric: what is measured.
        spec: the column.
        identity: the name of the model, whether it is run or not; empty if it has none.
        subset: the rows of the task that are scored by themselves, such as a language; empty for all of it.
        timing: how a time is measured: 'batch-16' or another number, 'cpu', 'gpu'; empty for the default.
        length: tokens of a row that is timed; None for the default.
        spread: what a latency's mean and deviation are over: 'runs' or 'batches'.
        split: the split of a score; empty for the task's evaluation split.
        tasks: task -> metric, if the number is a mean over tasks; else empty.
        quoted: whose number the paper quotes in this cell; empty for one of its own.
        before: the name of the column on the left; a cell with a relative change compares it with another column.
    """

    row: str
    column: str
    student: str
    task: str
    metric: str
    spec: Column
    identity: str = ""
    subset: str = ""
    timing: str = ""
    length: int | None = None
    spread: Values = "runs"
    split: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)
    quoted: str = ""
    before: str = ""

    @property
    def scored(self) -> list[tuple[str, str]]:
        """The (task, metric) pairs of the scores in the cell; empty if it shows no score of a model that is run."""
        if not self.student:
            return []
        if self.tasks:
            return list(self.tasks.items())
        if not self.task or self.metric in (*OF_A_MODEL, AVERAGE, CHANGE):
            return []
        return [(self.task, f"{self.metric}/{self.subset}" if self.subset else self.metric)]

    @property
    def is_timed(self) -> bool:
        """Whether the cell shows the latency or the speed-up of a model that is run."""
        return bool(self.student) and self.metric in TIMED

    @property
    def measurement(self) -> Timing:
        """The measurement of a latency or a speed-up.

        Raises:
            ValueError: there is no such measurement.
        """
        return timing(self.timing, self.length, self.spread)

    @property
    def of_shape(self) -> bool:
        """Whether the number follows from the model's architecture alone (layers, hidden)."""
        return self.metric in SHAPE

    @property
    def profiled(self) -> bool:
        """Whether the number comes from a profile of the model: its size or its speed."""
        return self.metric in OF_A_MODEL and not self.of_shape


def _joined(name: str, variant: str) -> str:
    return f"{name}-{variant}" if name and variant else name


def cell_at(
    name: str,
    row: Row,
    column: Column,
    before: str = "",
    split: str = "",
    length: int | None = None,
    spread: Values = "runs",
) -> CellSpec:
    """Return the cell at a row and a column; the fields of the row override those of the column.

    Args:
        name: the full name of the row.
        row: the row.
        column: the column.
        before: the name of the column on the left; empty for the first one.
        split: the split of the table's scores, used if neither row nor column gives one.
        length: the tokens of a row that is timed; None for the default.
        spread: what a latency's mean and deviation are over: 'runs' or 'batches'.
    """
    tasks = row.tasks or column.tasks
    derived = AVERAGE if column.mean_of or tasks else CHANGE if column.change_from else ""
    return CellSpec(
        row=name,
        column=column.name,
        student=row.student_at(column.variant),
        identity=_joined(row.identity, column.variant) or row.student_at(column.variant),
        task=row.task or column.task,
        subset=row.subset or column.subset,
        timing=row.timing or column.timing,
        length=length,
        spread=spread,
        metric=derived or row.metric or column.metric,
        split=row.split or column.split or split,
        tasks=tasks,
        quoted=row.quoted,
        before=before,
        spec=column,
    )
