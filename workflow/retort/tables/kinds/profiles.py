"""Tables of profiles: architectures as rows, their parameters, latency and speed-up as columns."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from retort.specs.exhibit import table_kind
from retort.specs.rows import Column
from retort.specs.table import Decimals, MeasuredTable
from retort.tables.base import Inputs, Table
from retort.tables.compare import verdicts
from retort.tables.layout import Grid, Notes, Sheet, agreed, as_printed, entry, model_rows, sheet
from retort.tables.lines import cell_lines
from retort.tables.record import recorded_cells
from retort.tables.tidy import Line

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
        return cell_lines(inputs, self)

    def verdicts(self, lines: list[Line]) -> dict[tuple[str, str], str]:
        """Return the verdict on each cell."""
        return verdicts(lines, self.decimals)

    def tallied(self, lines: list[Line]) -> list[Line]:
        """Return the lines that count as cells in the report: all."""
        return lines

    def recorded(self, inputs: Inputs, lines: list[Line]) -> dict[str, Any]:
        """Return the numbers of a run by student and column."""
        return recorded_cells(inputs.study.names(inputs.paper), lines)

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: one row per architecture, with its parameters, latency and speed-up."""
        notes, judged, printed = Notes(), self.verdicts(lines), as_printed(self)
        columns = list(dict.fromkeys(line.column for line in lines))
        entries = {
            key: entry(line, self.decimals, judged[key], notes, printed.get(key))
            for line in lines
            for key in [(line.row, line.column)]
        }
        remarks = agreed(judged)
        if any(line.published is not None for line in lines):
            remarks.append("Parameters must be equal as printed; times are those of a machine and have no verdict.")
        remarks.append(f"Speed-up against {self.rows[0].label}.")
        return sheet(self, lines, [Grid(columns, model_rows(self.rows, columns, entries))], notes, remarks)
