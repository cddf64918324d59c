"""The base of tables of settings and of counts: cells as the paper prints them, some with a value of ours beside."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from retort.judgement.verdicts import AGREES, DIFFERS
from retort.results.tidy import MARK, Line, Status
from retort.specs.printed import Heading, PublishedCell, TextRow, TextTable, row_names
from retort.tables.base import Inputs, Table
from retort.tables.layout import Entry, Grid, Notes, PrintedRow, Sheet, as_printed, sheet, verdict_remark
from retort.tables.lines import published_fields


class VerbatimTable(TextTable, Table):
    """A table that stands as the paper prints it; in some cells, a value of ours stands above the printed one."""

    origin: ClassVar[str]  # where our values come from: a remark below the table
    columns: list[Heading] = Field(min_length=1, description="from left to right")
    rows: list[TextRow] = Field(min_length=1, description="from top to bottom")

    def headings(self) -> list[Heading]:
        """Return the columns of the printed cells."""
        return self.columns

    def lines(self) -> list[TextRow]:
        """Return the rows."""
        return self.rows

    @model_validator(mode="after")
    def _whole(self) -> VerbatimTable:
        self.check_cells()
        return self

    def line(self, inputs: Inputs, cell: PublishedCell, **values: Any) -> Line:
        """Return the line of a printed cell, with the fields of our value if it has one."""
        fields: dict[str, Any] = {"student": "", "task": "", "metric": "", "unit": "", "status": Status.AS_PRINTED}
        fields |= {**published_fields(cell), **values}
        return Line(inputs.paper, inputs.name, cell.row, cell.column, **fields, scale=inputs.study.config.scale)

    def verdicts(self, lines: list[Line]) -> dict[tuple[str, str], str]:
        """Return the verdict of each cell that has one.

        A setting agrees if its text is the same. A count agrees if, rounded or truncated, it is the printed number. A
        count of a rehearsal has no verdict, since its data is made.
        """
        printed = {(cell.row, cell.column): cell for cell in self.printed_cells()}
        verdicts = {}
        for line in lines:
            cell = printed[line.row, line.column]
            if line.status is not Status.OK or (line.mean is not None and cell.number is None) or MARK in line.note:
                continue
            same = cell.text == line.text if line.mean is None else cell.number.is_size(line.mean)  # type: ignore[union-attr]
            verdicts[line.row, line.column] = AGREES if same else DIFFERS
        return verdicts

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: in each cell, our value above the printed one, or the printed text alone."""
        verdicts, printed = self.verdicts(lines), as_printed(self)
        entries = {key: Entry(text) for key, text in printed.items()}
        for line in lines:
            key = (line.row, line.column)
            if line.status is Status.OK:
                text = line.text if line.mean is None else f"{line.mean:,.0f}"
                entries[key] = Entry(text, printed[key], verdicts.get(key, ""))
        columns = [column.name for column in self.columns]
        rows = [
            PrintedRow(row.label, [entries[name, column] for column in columns])
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
        ]
        rest = "Cells without a verdict stand as the paper prints them." if verdicts else "As the paper prints it."
        remarks = [*verdict_remark(verdicts), *([self.origin] if verdicts else []), rest]
        return sheet(self, lines, [Grid(columns, rows)], Notes(), remarks)
