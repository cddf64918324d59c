"""Tables of profiles: architectures as rows, their parameters, latency and speed-up as columns."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from retort.judgement.verdicts import judge_lines, limits_of
from retort.results.tidy import Line
from retort.specs.exhibit import table_kind
from retort.specs.rows import Column
from retort.specs.table import Decimals, MeasuredTable
from retort.tables.base import Inputs, Table
from retort.tables.layout import Grid, Notes, Sheet, as_printed, entry, model_rows, sheet, verdict_remark
from retort.tables.lines import cell_lines
from retort.tables.recorded_cells import recorded_cells

COLUMNS = [
    Column(label="Parameters (M)", metric="parameters"),
    Column(label="Without embeddings (M)", metric="without_embeddings"),
    Column(label="Latency (ms)", metric="latency"),
    Column(label="Speed-up", metric="speed-up"),
]


@table_kind
class ProfilesTable(MeasuredTable, Table):
    """A table of model profiles: parameters and latency; if it gives no columns, it has `COLUMNS`."""

    kind: Literal["profiles"] = Field(description="which kind of table this is")
    columns: list[Column] = Field(default=COLUMNS, description="from left to right")
    decimals: Decimals = 2

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return a line per cell."""
        return judge_lines(cell_lines(inputs, self), limits_of(self, inputs.study.papers[inputs.paper]))

    def lines_to_count(self, lines: list[Line]) -> list[Line]:
        """Return the lines that the report counts as cells: all."""
        return lines

    def recorded(self, inputs: Inputs, lines: list[Line]) -> dict[str, Any]:
        """Return the numbers of a run by student and column."""
        return recorded_cells(inputs.study.names(inputs.paper), lines)

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: one row per architecture, with its parameters, latency and speed-up."""
        notes, printed = Notes(), as_printed(self)
        columns = list(dict.fromkeys(line.column for line in lines))
        entries = {
            key: entry(line, self.decimals, notes, printed.get(key))
            for line in lines
            for key in [(line.row, line.column)]
        }
        remarks = verdict_remark(self.verdicts(lines))
        if any(line.published is not None for line in lines):
            remarks.append("Parameters must be equal as printed; times are those of a machine and have no verdict.")
        remarks.append(f"Speed-up against {self.rows[0].label}.")
        return sheet(self, lines, [Grid(columns, model_rows(self.rows, columns, entries))], notes, remarks)
