"""Tables of settings and of data set sizes: cells as the paper reports them, some with a value of ours next to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from retort.judgement.verdicts import AGREES, DIFFERS
from retort.plan.settings_cells import our_text
from retort.results.frames import KEY, MARK, lines_of
from retort.specs.base import Name, Spec, StudentName, Text, check_known
from retort.specs.exhibit import MAPPINGS, SettingsCell, StudyNames, table_kind
from retort.specs.reported import Heading, ReportedCell, TextRow, row_names
from retort.specs.table import TextTable
from retort.study.reasons import Status
from retort.study.study import Study
from retort.tables.base import Inputs, Table
from retort.tables.layout import Entry, Grid, GridRow, Sheet, as_reported, sheet, verdict_remark
from retort.tables.measure import joined_with_reported

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class VerbatimTable(TextTable, Table):
    """A table that stands as the paper reports it; in some cells, a value of ours stands above the reported one."""

    origin: ClassVar[str]  # where our values come from: a remark below the table
    columns: list[Heading] = Field(min_length=1, description="from left to right")
    rows: list[TextRow] = Field(min_length=1, description="from top to bottom")

    def values(self, inputs: Inputs) -> dict[tuple[str, str], dict[str, Any]]:
        """Return (row, column) -> the columns of the line of a cell that has a value of ours."""
        raise TypeError(f"{type(self).__name__} has no values of ours")

    def collect(self, inputs: Inputs) -> DataFrame:
        """Return a line for each cell; one without a value of ours has the status AS_REPORTED."""
        values, reported = self.values(inputs), {"status": Status.AS_REPORTED.value}
        cells = [
            {"row": cell.row, "column": cell.column, **values.get((cell.row, cell.column), reported)}
            for cell in self.reported_cells()
        ]
        return joined_with_reported(inputs, self, cells)

    def verdicts(self, frame: DataFrame) -> Series[str]:
        """Return the verdict on each cell; an empty string if it has none.

        A setting agrees if its text is the same. A count agrees if, rounded or truncated, it is the reported number. A
        count of a rehearsal has no verdict, since its data is made.
        """
        reported = {(cell.row, cell.column): cell for cell in self.paper_cells()}
        words = {True: AGREES, False: DIFFERS, None: ""}
        found = [
            words[_is_same(line, reported[line.row, line.column])]
            if line.status == Status.OK and MARK not in line.note
            else ""
            for line in lines_of(frame)
        ]
        return frame.assign(verdict=found).set_index(KEY)["verdict"]

    def lay_out(self, frame: DataFrame) -> Sheet:
        """Lay out the table: in each cell, our value above the reported one, or the reported text alone."""
        verdicts, reported = self.verdicts(frame), as_reported(self)
        entries = {key: Entry(text) for key, text in reported.items()}
        for line, verdict in zip(lines_of(frame), verdicts, strict=True):
            if line.status == Status.OK:
                key, text = (line.row, line.column), line.text if line.mean is None else f"{line.mean:,.0f}"
                entries[key] = Entry(text, reported[key], verdict)
        columns = [column.name for column in self.columns]
        rows = [
            GridRow(row.label, [entries[name, column] for column in columns])
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
        ]
        judged = (verdicts != "").any()
        rest = "Cells without a verdict stand as the paper reports them." if judged else "As the paper reports it."
        remarks = [*verdict_remark(verdicts), *([self.origin] if judged else []), rest]
        return sheet(self, frame, [Grid(columns, rows)], remarks)


def _is_same(line: Any, cell: ReportedCell) -> bool | None:
    """Return whether our text or count is the reported one; None for a count next to a text."""
    if line.mean is None:
        return bool(cell.text == line.text)
    return cell.number.is_size(line.mean) if cell.number else None


# --- training settings


class Reads(Spec):
    """What a row or a column says about its cells. Where both say something, the row wins."""

    student: StudentName = Field(default="", description="whose settings are read")
    task: Name = Field(default="", description="on which task, or after distillation with which fine-tuning")
    reads: str = Field(default="", pattern=r"^[\w.-]*$", description="dotted keys; a row's stand before its column's")
    formatter: Name = Field(default="", description="how the paper reports the value")
    reported_as: dict[str, Text] = Field(default={}, description="a value -> how the paper reports it")
    as_reported: list[Text] = Field(
        default=[], description="a row's columns whose cells stand as the paper reports them"
    )


class SettingsColumn(Reads, Heading):
    """A column of a settings table; it may say which of our settings its cells show."""


class SettingsRow(Reads, TextRow):
    """A row of a settings table; it may say which of our settings its cells show."""


@table_kind
class SettingsTable(VerbatimTable):
    """A table of training settings: what the paper reports, next to what our students are trained with."""

    origin: ClassVar[str] = "Ours: the settings in the study's files, before a smaller scale changes them."

    kind: Literal["settings"] = Field(description="which kind of table this is")
    student: StudentName = Field(default="", description="whose settings are read; a row or column may name another")
    task: Name = Field(default="", description="on which task; a row or column may name another")
    columns: list[SettingsColumn] = Field(min_length=1, description="from left to right")  # type: ignore[assignment]
    rows: list[SettingsRow] = Field(min_length=1, description="from top to bottom")  # type: ignore[assignment]

    def _wrong(self) -> Iterator[str]:
        names = [column.name for column in self.columns]
        for row in self.rows:
            yield from check_known(f"row '{row.label}': as_reported", "column", row.as_reported, names)

    def settings_cells(self) -> list[SettingsCell]:
        """Return the cells that show a setting of ours next to the reported one; the others hold only the paper's."""
        cells = []
        for name, row in zip(row_names(self.rows), self.rows, strict=True):
            for column in (each for each in self.columns if each.name not in row.as_reported):
                reads = ".".join(filter(None, (row.reads, column.reads)))
                student = row.student or column.student or self.student
                task = row.task or column.task or self.task
                if reads and (student or reads.split(".")[0] == MAPPINGS):
                    reported_as = {**column.reported_as, **row.reported_as}
                    formatter = row.formatter or column.formatter
                    cells.append(SettingsCell(name, column.name, student, task, reads, formatter, reported_as))
        return cells

    def values(self, inputs: Inputs) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the columns of each cell that shows a setting; `text` is our setting at scale `paper`."""
        written, columns = inputs.study.written, dict[tuple[str, str], dict[str, Any]]()
        for cell in self.settings_cells():
            of = {"student": cell.student, "task": cell.task, "metric": cell.reads}
            columns[cell.row, cell.column] = {**of, "text": our_text(written, inputs.paper, cell)}
        return columns


# --- data set sizes


class CountsRow(TextRow):
    """A row with the sizes of one data set."""

    task: Name = Field(description="an entry of facts.yaml, and of workflow/tasks if it is run")


class CountsColumn(Heading):
    """A column with the number of rows of one split; without a split, a column of plain text."""

    split: Literal["", "train", "dev", "test"] = Field(default="", description="the split of a row's task")


def rows_of(study: Study, task: str, split: str) -> int | None:
    """Return the number of rows of a split, summed over its subsets; None if the task has no such split.

    If a data set has several editions with different numbers of rows, the first one counts.
    """
    spec = study.tasks[task].splits.get(split) if task in study.tasks else None
    if spec is None:
        return None
    subsets = study.tasks[task].subsets if spec.subsets else [None]
    return sum(spec.expected(subset)[0] for subset in subsets)


@table_kind
class CountsTable(VerbatimTable):
    """A table of data set sizes: what the paper reports, next to the rows that each split of ours must have."""

    origin: ClassVar[str] = "Ours: the rows that each split must have, which encoding a task checks in its files."

    kind: Literal["counts"] = Field(description="which kind of table this is")
    columns: list[CountsColumn] = Field(min_length=1, description="from left to right")  # type: ignore[assignment]
    rows: list[CountsRow] = Field(min_length=1, description="from top to bottom")  # type: ignore[assignment]

    def paper_cells(self) -> list[ReportedCell]:
        """Return every cell as reported; one in a column with a split says whose rows it counts."""
        tasks = {name: row.task for name, row in zip(row_names(self.rows), self.rows, strict=True)}
        splits = {column.name: column.split for column in self.columns if column.split}
        return [
            replace(cell, counted=(tasks[cell.row], splits[cell.column])) if cell.column in splits else cell
            for cell in super().paper_cells()
        ]

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each row whose data set has no known size."""
        facts = [name for folder, name in study.files if folder == "facts"]
        yield from check_known("rows", "data set of facts.yaml", [row.task for row in self.rows], facts)

    def values(self, inputs: Inputs) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the columns of each cell that shows the number of rows of a split of ours."""
        shared = {"unit": "rows", "n": 1}
        return {
            (cell.row, cell.column): {"task": of[0], "metric": of[1], "mean": float(size), **shared}
            for cell in self.paper_cells()
            if (of := cell.counted) and (size := rows_of(inputs.study, *of))
        }
