"""Tables of training settings: what a paper prints, beside the settings of our own students."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from retort.plan.settings_cells import our_text
from retort.registry import unknown
from retort.results.tidy import Line, Status
from retort.specs.base import Name, StudentName
from retort.specs.exhibit import Reads, SettingsCell, settings_cell, table_kind
from retort.specs.printed import Heading, TextRow, row_names
from retort.study.load import open_written
from retort.tables.base import Inputs
from retort.tables.verbatim import VerbatimTable


class SettingsColumn(Reads, Heading):
    """A column of a settings table; it may say which of our settings its cells show."""


class SettingsRow(Reads, TextRow):
    """A row of a settings table; it may say which of our settings its cells show."""


@table_kind
class SettingsTable(VerbatimTable):
    """A table of training settings: what the paper prints, beside what our students are trained with."""

    origin: ClassVar[str] = "Ours: the settings in the study's files, before a smaller scale changes them."

    kind: Literal["settings"] = Field(description="which kind of table this is")
    student: StudentName = Field(default="", description="whose settings are read; a row or column may name another")
    task: Name = Field(default="", description="on which task; a row or column may name another")
    columns: list[SettingsColumn] = Field(min_length=1, description="from left to right")  # type: ignore[assignment]
    rows: list[SettingsRow] = Field(min_length=1, description="from top to bottom")  # type: ignore[assignment]

    @model_validator(mode="after")
    def _columns(self) -> SettingsTable:
        names = [column.name for column in self.columns]
        for name in (name for row in self.rows for name in row.as_printed):
            if name not in names:
                raise ValueError(str(unknown("column", name, names)))
        return self

    def settings_cells(self) -> list[SettingsCell]:
        """Return the cells that show a setting of our_text beside the printed one."""
        cells = [
            settings_cell(self, name, row, column, column.name)
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            for column in self.columns
        ]
        return [cell for cell in cells if cell]

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return a line for each cell; `text` is our setting at scale `paper`.

        A cell that reads none of our settings has the status AS_PRINTED and no text.
        """
        written = open_written(inputs.study.config)
        settings = {
            (cell.row, cell.column): {
                "student": cell.student,
                "task": cell.task,
                "metric": cell.reads,
                "text": our_text(written, inputs.paper, cell),
                "status": Status.OK,
            }
            for cell in self.settings_cells()
        }
        return [self.line(inputs, cell, **settings.get((cell.row, cell.column), {})) for cell in self.published_cells()]
