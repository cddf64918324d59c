"""Tables of what trainings cost: hours, batches and steps of students of ours, next to those that papers state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from retort.cost.training_work import COSTS, COUNTED, stages_of
from retort.formatters import number
from retort.registry import unknown_name
from retort.results.frames import KEY, lines_of
from retort.specs.base import Name, OptionalLabel, StudentName, Text, check_known
from retort.specs.exhibit import StudyNames, shown_students, table_kind
from retort.specs.reported import Heading, ReportedCell, TextRow, check_no_repeats, read_number, row_names
from retort.specs.table import Decimals
from retort.study.reasons import Status
from retort.tables.base import Inputs, Table
from retort.tables.layout import Entry, Grid, GridRow, Sheet, sheet
from retort.tables.measure import joined_with_reported, reported_frame

if TYPE_CHECKING:
    from pandas import DataFrame


class CostColumn(Heading):
    """A column with one number of a training."""

    of: Literal["hours", "batch_size", "steps"] = Field(description="which number of the training")
    task: Name = Field(default="", description="the task of a task-specific student; none for a task-agnostic one")


class CostRow(TextRow):
    """A row with the training of a student, or of a model that others trained."""

    student: StudentName = Field(default="", description="the student whose training is counted")
    quoted: OptionalLabel = Field(
        default="", description="who trained it and states the numbers, as the paper cites them"
    )
    stated: dict[Text, Text] = Field(default={}, description="column -> the number that the paper's text states")

    def _wrong(self) -> Iterator[str]:
        if bool(self.student) == bool(self.quoted):
            yield f"row '{self.label}' needs either 'student' or 'quoted'"


@table_kind
class TrainingCostTable(Table):
    """A table of ours of what trainings cost: computed from settings, next to what the text of a paper states."""

    kind: Literal["training-cost"] = Field(description="which kind of table this is")
    columns: list[CostColumn] = Field(min_length=1, description="from left to right")
    rows: list[CostRow] = Field(min_length=1, description="from top to bottom")
    decimals: Decimals = 1

    def _wrong(self) -> Iterator[str]:
        names = [column.name for column in self.columns]
        check_no_repeats("column", names)
        check_no_repeats("row", [name.removeprefix(": ") for name in row_names(self.rows)])
        for row in self.rows:
            for name, text in row.stated.items():
                if name not in names:
                    yield str(unknown_name(f"column of row '{row.label}'", name, names))
                if read_number(text) is None:
                    yield f"row '{row.label}', column '{name}': '{text}' is no number"

    def named_rows(self) -> dict[str, CostRow]:
        """Return the rows by their full names."""
        return dict(zip(row_names(self.rows), self.rows, strict=True))

    def reported_cells(self) -> list[ReportedCell]:
        """Return every number that the paper's text states."""
        return [
            ReportedCell(name, column, text, read_number(text))
            for name, row in self.named_rows().items()
            for column, text in row.stated.items()
        ]

    def trainings(self) -> list[tuple[str, str]]:
        """Return (student, task) of each training whose cost it shows; no task for a task-agnostic student."""
        students = [row.student for row in self.rows if row.student]
        return list(dict.fromkeys((student, column.task) for student in students for column in self.columns))

    def rows_and_columns(self) -> dict[str, list[str]]:
        """Return the rows by name, each with the names of its columns."""
        return {name: [column.name for column in self.columns] for name in self.named_rows()}

    @property
    def digits(self) -> int:
        """The decimals of hours as reported."""
        return self.decimals

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each unknown task, student without a stage, and column that a student cannot fill."""
        tasks = [name for folder, name in study.files if folder == "tasks"]
        yield from check_known("columns", "task", [column.task for column in self.columns if column.task], tasks)
        for student in shown_students(self):
            trained_on = study.trained_on(student)
            if not trained_on:
                yield f"rows: '{student}' has no stage, so that its training costs nothing"
            for column in self.columns if trained_on else []:
                if (trained_on == "task") != bool(column.task):
                    needs = "give 'task'" if trained_on == "task" else "leave out 'task'"
                    yield f"column '{column.name}': '{student}' is distilled on a {trained_on}; {needs}"

    def collect(self, inputs: Inputs) -> DataFrame:
        """Return a line for each cell: computed for a student at scale `paper`, else as stated."""
        written, stated, cells = inputs.study.written, reported_frame(self).set_index(KEY)["reported"], []
        for (name, row), column in itertools.product(self.named_rows().items(), self.columns):
            unit, cost_of = COSTS[column.of]
            cell: dict[str, Any] = {"row": name, "column": column.name, "student": row.student, "task": column.task}
            if row.student:
                cell["mean"] = cost_of(stages_of(written, row.student, column.task))
            elif (mean := stated.get((name, column.name))) is not None:
                cell["mean"] = mean
            else:
                cell |= {"status": Status.QUOTED.value, "reason": f"({row.quoted})"}
            cells.append({**cell, "metric": column.of, "unit": unit, "n": 1})
        return joined_with_reported(inputs, self, cells)

    def lay_out(self, frame: DataFrame) -> Sheet:
        """Lay out the table: a row for each training."""
        rows: dict[str, list[Entry]] = {}
        for line in lines_of(frame):
            rows.setdefault(line.row, []).append(self._entry(line, self.named_rows()[line.row]))
        grid = Grid([column.name for column in self.columns], [GridRow(*row) for row in rows.items()])
        return sheet(self, frame, [grid], [COUNTED])

    def _entry(self, line: Any, row: CostRow) -> Entry:
        if line.mean is None:
            return Entry("-", notes=(line.state,))
        stated = row.stated.get(line.column, "")
        if row.quoted:
            return Entry(stated, notes=(f"as stated: {row.quoted}",))
        return Entry(number(line.mean, self.decimals) if line.unit == "h" else f"{line.mean:,.0f}", stated)
