"""The specs of tables and figures: rows, columns, printed numbers, and the tests between rows."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from retort.specs.base import Name, Spec, Text
from retort.specs.names import StudentName, StudentPair
from retort.specs.printed import (
    AVERAGE,
    CHANGE,
    NOTHING,
    OF_A_MODEL,
    Heading,
    Number,
    PublishedCell,
    TextRow,
    TextTable,
    Titled,
    row_names,
    twice,
)
from retort.specs.rows import Column, Place, Row, meet
from retort.specs.text_tables import CountsTable, SettingsTable
from retort.specs.timing import TIMED, Timing, timing

Printed = Annotated[list[float], Field(min_length=1, max_length=2, description="[mean] or [mean, std]")]


PROFILE_COLUMNS = [
    Column(label="Parameters (M)", metric="parameters"),
    Column(label="Without embeddings (M)", metric="without_embeddings"),
    Column(label="Latency (ms)", metric="latency"),
    Column(label="Speed-up", metric="speed-up"),
]


class _Measured(Titled, TextTable):
    """A table with models as rows and measurements as columns.

    The numbers of a paper stand in its rows (`cells`), those of a recorded run of ours in `published`.
    """

    columns: list[Column] = Field(description="from left to right")
    rows: list[Row] = Field(min_length=1, description="from top to bottom")
    split: Literal["", "dev", "test"] = Field(
        default="", description="the split that a paper's scores are of; else the one that each task is scored on"
    )
    runs: int = Field(default=0, ge=0, description="over how many runs a paper's scores are a mean; 0: it does not say")
    length: int | None = Field(default=None, gt=0, le=512, description="tokens of a row that is timed; 32 if left out")
    against: StudentName = Field(
        default="", description="the student or teacher whose speed is 1; else the first row's"
    )
    published: dict[StudentName, dict[str, Printed]] = Field(
        default={}, description="row's student -> column's label -> printed"
    )

    def headings(self) -> list[Heading]:
        """Return the columns of the printed cells."""
        return list(self.columns)

    def lines(self) -> list[TextRow]:
        """Return the rows."""
        return list(self.rows)

    @model_validator(mode="after")
    def _whole(self) -> _Measured:
        self.check_cells()
        if not self.numbers:
            twice("row", [row.student for row in self.rows if row.student])
        elif self.published:
            raise ValueError("the numbers of a paper stand in 'cells', those of a run in 'published'; give one of them")
        for cell in self.printed_cells():
            if cell.number is None and cell.text not in NOTHING:
                raise ValueError(f"row '{cell.row}', column '{cell.column}': '{cell.text}' is no number")
        self._check_columns()
        return self

    def _check_columns(self) -> None:
        names = [column.name for column in self.columns]
        for column in self.columns:
            for name in (*column.mean_of, *filter(None, [column.change_from])):
                if name not in names:
                    raise ValueError(f"column '{column.name}' speaks of a column '{name}' that is not there")
        for place in self.places():
            if not place.metric:
                raise ValueError(f"row '{place.row}', column '{place.column}': no 'metric', in neither of them")
            if place.metric in TIMED:
                timing(place.part, self.length)  # called for its error: the part must be a known one
            if not (place.task or place.tasks or place.metric in (*OF_A_MODEL, AVERAGE, CHANGE)):
                raise ValueError(f"row '{place.row}', column '{place.column}': no 'task', in neither of them")

    def places(self) -> list[Place]:
        """Return every cell with what it measures, row by row."""
        before = ["", *(column.name for column in self.columns)]
        return [
            meet(name, row, column, previous, self.split)
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            for column, previous in zip(self.columns, before, strict=False)
        ]

    @property
    def first(self) -> str:
        """The student or teacher that speed-ups are relative to; empty if no cell is timed and `against` is empty."""
        return self.against or next((place.student for place in self.places() if place.is_timed), "")

    @cached_property
    def timed(self) -> dict[str, set[Timing]]:
        """The latency measurements that the table requires: student or teacher -> measurements."""
        found: dict[str, set[Timing]] = {}
        first = self.first
        for place in self.places():
            for name in (place.student, first) if place.is_timed else ():
                found.setdefault(name, set()).add(timing(place.part, self.length))
        return found

    def scores_of(self, student: str) -> list[tuple[str, str]]:
        """Return the (task, metric) pair of every score in a student's row, from left to right."""
        return [pair for place in self.places() if place.student == student for pair in place.scored]

    def published_cells(self) -> list[PublishedCell]:
        """Return every published cell: as a paper prints it, or as recorded from a run of ours."""
        if self.numbers:
            return self.printed_cells()
        names = dict(zip((row.student for row in self.rows), row_names(self.rows), strict=True))
        return [
            PublishedCell(
                names[student], column, f"{values[0]}", Number(f"{values[0]}", values[0], *map(str, values[1:]))
            )
            for student, given in self.published.items()
            for column, values in given.items()
            if student in names
        ]


class ScoresTable(_Measured):
    """A table of scores, students x tasks: mean and standard deviation over seeds."""

    kind: Literal["scores"] = Field(description="which kind of table or figure this is")
    columns: list[Column] = Field(min_length=1, description="from left to right")
    decimals: int = Field(default=1, description="digits after the point")

    def tested(self) -> dict[str, Row]:
        """Return the rows that tests compare, by name: all rows that are neither quoted nor a baseline."""
        rows = zip(row_names(self.rows), self.rows, strict=True)
        return {name: row for name, row in rows if not (row.quoted or row.baseline)}


class ProfilesTable(_Measured):
    """A table of model profiles: parameters and latency; if it gives no columns, `PROFILE_COLUMNS` are used."""

    kind: Literal["profiles"] = Field(description="which kind of table or figure this is")
    columns: list[Column] = Field(default=PROFILE_COLUMNS, description="from left to right")
    decimals: int = Field(default=2, description="digits after the point")


class Tested(Spec):
    """A paper's own tests of one table: the rows it compared, and the pairs without a significant difference."""

    below: float = Field(gt=0, lt=1, description="the p-value below which the paper calls two rows apart")
    among: dict[Text, list[Text]] = Field(default={}, description="group -> the rows compared in it; else all rows")
    alike: list[tuple[Text, Text]] = Field(default=[], description="the pairs that it does not call apart")

    def apart(self, row: str, other: str) -> bool:
        """Return whether the paper calls the difference between two rows significant."""
        return (row, other) not in self.alike and (other, row) not in self.alike


class TestsTable(Titled):
    """A table of paired t-tests over (task, seed), between all rows of each listed table or those a paper compared."""

    kind: Literal["paired-tests"] = Field(description="which kind of table or figure this is")
    of: list[Name] = Field(min_length=1, description="tables of scores")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="a p-value below it is printed bold")
    decimals: int = Field(default=3, description="digits after the point")
    said: dict[Name, Tested] = Field(default={}, description="table -> what the paper says of its own tests of it")
    published: dict[str, dict[StudentPair, Printed]] = Field(
        default={}, description="table -> pair of students -> p-value of a recorded run"
    )


Table = Annotated[ScoresTable | ProfilesTable | TestsTable | SettingsTable | CountsTable, Field(discriminator="kind")]


class Drawn(Spec):
    """One student or teacher that is drawn in a figure."""

    student: StudentName = Field(description="a student or teacher")
    label: Text = Field(description="as printed")
    group: str = Field(default="", description="as in the row of a table; not drawn")
    baseline: bool = Field(default=False, description="as in the row of a table; not drawn")


class LayersFigure(Titled):
    """A figure of the score (y) against the teacher layer that was distilled (x)."""

    kind: Literal["layers"] = Field(description="which kind of table or figure this is")
    task: Name = Field(description="an entry of workflow/tasks")
    metric: Text = Field(description="one of the task's metrics")
    points: dict[int, StudentName] = Field(default={}, description="teacher layer -> student")
    planned: dict[int, StudentName] = Field(
        default={}, description="teacher layer -> the name that its student will have"
    )
    references: list[Drawn] = Field(default=[], description="students drawn as level lines")

    @model_validator(mode="after")
    def _one_state(self) -> LayersFigure:
        if bool(self.points) == bool(self.planned):
            raise ValueError("a figure needs one of 'points' and 'planned'")
        return self


class ParetoFigure(Titled):
    """A figure of the score (y) against the latency (x), one point per student or teacher."""

    kind: Literal["pareto"] = Field(description="which kind of table or figure this is")
    task: Name = Field(description="an entry of workflow/tasks")
    metric: Text = Field(description="one of the task's metrics")
    points: list[Drawn] = Field(min_length=2, description="one a student or teacher")


class TestsFigure(Titled):
    """A figure that shows a paired-tests table as a heat map."""

    kind: Literal["tests"] = Field(description="which kind of table or figure this is")
    of: Name = Field(description="a table of paired tests")


Figure = Annotated[LayersFigure | ParetoFigure | TestsFigure, Field(discriminator="kind")]
