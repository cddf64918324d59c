"""Tables of words: how models were trained, how large data sets are; each cell may say what it reads of ours."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from retort.registry import unknown
from retort.specs.base import Name
from retort.specs.bound import Bound, Reads, meet
from retort.specs.printed import Heading, PublishedCell, TextRow, TextTable, Titled, row_names


class _Text(Titled, TextTable):
    columns: list[Heading] = Field(min_length=1)
    rows: list[TextRow] = Field(min_length=1)

    def headings(self) -> list[Heading]:
        """The columns of the printed cells."""
        return self.columns

    def lines(self) -> list[TextRow]:
        """The rows."""
        return self.rows

    @model_validator(mode="after")
    def _whole(self) -> _Text:
        self.check_cells()
        return self

    def published_cells(self) -> list[PublishedCell]:
        """Every cell as the paper prints it."""
        return self.printed_cells()


class ReadColumn(Reads, Heading):
    """A column of settings; it may say what its cells read of ours."""


class ReadRow(Reads, TextRow):
    """A row of settings; it may say what its cells read of ours."""


class SettingsTable(_Text):
    """How models were trained: what the paper prints, beside what our students are trained with."""

    kind: Literal["settings"]
    student: Name = Field(default="", description="whose settings are read; a row or column may name another")
    task: Name = Field(default="", description="on which task; a row or column may name another")
    columns: list[ReadColumn] = Field(min_length=1)  # type: ignore[assignment]
    rows: list[ReadRow] = Field(min_length=1)  # type: ignore[assignment]

    @model_validator(mode="after")
    def _columns(self) -> SettingsTable:
        names = [column.name for column in self.columns]
        for name in (name for row in self.rows for name in row.alone):
            if name not in names:
                raise ValueError(str(unknown("column", name, names)))
        return self

    def bound(self) -> list[Bound]:
        """Every cell that reads something of ours."""
        met = [
            meet(self, name, row, column, column.name)
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            for column in self.columns
        ]
        return [cell for cell in met if cell]


class Counted(TextRow):
    """The sizes of one data set."""

    task: Name


class CountColumn(Heading):
    """The rows of one split, or words."""

    split: Literal["", "train", "dev", "test"] = Field(default="", description="the split of a row's task")


class CountsTable(_Text):
    """How large data sets are: what the paper prints, beside the rows that each split of ours must have."""

    kind: Literal["counts"]
    columns: list[CountColumn] = Field(min_length=1)  # type: ignore[assignment]
    rows: list[Counted] = Field(min_length=1)  # type: ignore[assignment]

    def counted(self) -> dict[tuple[str, str], tuple[str, str]]:
        """The (row, column) of each cell that counts -> its task and split."""
        return {
            (name, column.name): (row.task, column.split)
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            for column in self.columns
            if column.split
        }
