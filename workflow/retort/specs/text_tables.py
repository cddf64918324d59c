"""The specs of tables that print no scores: training settings and data set sizes, beside our own values."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from retort.registry import unknown
from retort.specs.base import Name
from retort.specs.names import StudentName
from retort.specs.printed import Heading, PublishedCell, TextRow, TextTable, Titled, row_names
from retort.specs.settings_cells import Bound, Reads, meet


class _Text(Titled, TextTable):
    columns: list[Heading] = Field(min_length=1, description="from left to right")
    rows: list[TextRow] = Field(min_length=1, description="from top to bottom")

    def headings(self) -> list[Heading]:
        """Return the columns of the printed cells."""
        return self.columns

    def lines(self) -> list[TextRow]:
        """Return the rows."""
        return self.rows

    @model_validator(mode="after")
    def _whole(self) -> _Text:
        self.check_cells()
        return self

    def published_cells(self) -> list[PublishedCell]:
        """Return every cell as the paper prints it."""
        return self.printed_cells()


class ReadColumn(Reads, Heading):
    """A column of a settings table; it may say which of our settings its cells show."""


class ReadRow(Reads, TextRow):
    """A row of a settings table; it may say which of our settings its cells show."""


class SettingsTable(_Text):
    """A table of training settings: what the paper prints, beside what our students are trained with."""

    kind: Literal["settings"] = Field(description="which kind of table or figure this is")
    student: StudentName = Field(default="", description="whose settings are read; a row or column may name another")
    task: Name = Field(default="", description="on which task; a row or column may name another")
    columns: list[ReadColumn] = Field(min_length=1, description="from left to right")  # type: ignore[assignment]
    rows: list[ReadRow] = Field(min_length=1, description="from top to bottom")  # type: ignore[assignment]

    @model_validator(mode="after")
    def _columns(self) -> SettingsTable:
        names = [column.name for column in self.columns]
        for name in (name for row in self.rows for name in row.alone):
            if name not in names:
                raise ValueError(str(unknown("column", name, names)))
        return self

    def bound(self) -> list[Bound]:
        """Return the settings cells: those that show a value of ours beside the printed one."""
        met = [
            meet(self, name, row, column, column.name)
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            for column in self.columns
        ]
        return [cell for cell in met if cell]


class Counted(TextRow):
    """A row with the sizes of one data set."""

    task: Name = Field(description="an entry of workflow/tasks")


class CountColumn(Heading):
    """A column with the number of rows of one split; without a split, a column of plain text."""

    split: Literal["", "train", "dev", "test"] = Field(default="", description="the split of a row's task")


class CountsTable(_Text):
    """A table of data set sizes: what the paper prints, beside the rows that each split of ours must have."""

    kind: Literal["counts"] = Field(description="which kind of table or figure this is")
    columns: list[CountColumn] = Field(min_length=1, description="from left to right")  # type: ignore[assignment]
    rows: list[Counted] = Field(min_length=1, description="from top to bottom")  # type: ignore[assignment]

    def counted(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return (row, column) -> (task, split) for each cell that holds a number of rows."""
        return {
            (name, column.name): (row.task, column.split)
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            for column in self.columns
            if column.split
        }
