"""Tables of models: their scores on tasks, or their parameters and latency."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from pydantic import Field

from retort.judgement.verdicts import assumed_in, judge_lines, judge_repeats, verdict_rules
from retort.results.tidy import Line
from retort.specs.exhibit import table_kind
from retort.specs.rows import Column, NamedColumns, Row
from retort.specs.table import Decimals, MeasuredTable
from retort.study.reasons import HAS_VALUE, Status
from retort.study.study import Study
from retort.tables.base import Inputs, Recorded, Table
from retort.tables.layout import Entry, Grid, PrintedRow, Sheet, as_printed, entry, sheet, verdict_remark
from retort.tables.lines import cell_lines


class ModelsTable(MeasuredTable, Table):
    """A table whose rows are models: what is common to scores and profiles."""

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return a line for each cell, with its verdict."""
        lines = cell_lines(inputs, self)
        return judge_repeats(judge_lines(lines, assumed_in(self, inputs.study.papers[inputs.paper])))

    def recorded(self, study: Study, paper: str, lines: list[Line]) -> list[Recorded]:
        """Return the row's student, column and line of each cell."""
        names = study.names(paper)
        rows = {name: row.student for name, row in self.named_rows().items()}  # without the variant of a column
        return [(names.short(rows[line.row] or line.student), line.column, line) for line in lines]

    def grid(self, lines: list[Line], bold: Collection[tuple[str, str]] = ()) -> Grid:
        """Return the printed rows and columns; a horizontal rule opens each new group of rows.

        Args:
            lines: the lines of the table.
            bold: the (row, column) of each cell whose value is printed bold.
        """
        printed, entries = as_printed(self), dict[tuple[str, str], Entry]()
        for line in lines:
            key = (line.row, line.column)
            entries[key] = replace(entry(line, self.decimals, printed.get(key)), bold=key in bold)
        columns, groups = list(dict.fromkeys(line.column for line in lines)), [row.group for row in self.rows]
        rows = [
            PrintedRow(name, [entries[name, column] for column in columns], row.baseline, row.group != before)
            for (name, row), before in zip(self.named_rows().items(), [groups[0], *groups], strict=False)
        ]
        return Grid(columns, rows)


@table_kind
class ScoresTable(ModelsTable):
    """A table of scores, students x tasks: mean and standard deviation over seeds."""

    kind: Literal["scores"] = Field(description="which kind of table this is")
    decimals: Decimals = 1

    def compared_rows(self) -> dict[str, Row]:
        """Return its rows by name; any two of them can be compared."""
        return self.named_rows()

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: one row per student, one column per task."""
        remarks = [*verdict_remark(self.verdicts(lines)), *verdict_rules(lines), *_runs(lines), *_beside(lines)]
        remarks.append("Bold: the best student of the column.")
        return sheet(self, lines, [self.grid(lines, bold=self._best(lines))], remarks)

    def _best(self, lines: list[Line]) -> set[tuple[str, str]]:
        """Return the (row, column) of the best value of each column, rounded as printed; baselines do not compete."""
        baselines = {row.student for row in self.rows if row.baseline}
        best: dict[str, float] = {}
        rounded = {}
        for line in lines:
            if line.mean is not None and line.unit == "x100" and line.student not in baselines:
                value = rounded[line.row, line.column] = round(line.mean, self.decimals)
                best[line.column] = max(value, best.get(line.column, value))
        return {key for key, value in rounded.items() if value == best[key[1]]}


def _beside(lines: list[Line]) -> list[str]:
    """Return a remark on what stands below our values: scores on dev, or best points that were trained again."""
    if any(line.rerun is not None for line in lines):
        return ["Published, and ours above it: the best of a grid on dev. 'again': our best point, trained once more."]
    if any(line.dev is not None for line in lines):
        return ["'dev': our score on dev of the run whose answers the server gets; it is not judged."]
    if any(line.status is Status.DEV for line in lines):
        return ["'dev': on dev, as only a server has the labels of the test set; it is not judged."]
    return []


def _runs(lines: list[Line]) -> list[str]:
    """Return a remark with the number of runs behind our means."""
    counts = sorted({line.n for line in lines if line.status in HAS_VALUE and line.n})
    few = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}" if counts else ""
    return [f"Ours: n = {few}."] if few else []


COLUMNS = [
    Column(label="Parameters (M)", metric="parameters"),
    Column(label="Without embeddings (M)", metric="without_embeddings"),
    Column(label="Latency (ms)", metric="latency"),
    Column(label="Speed-up", metric="speed-up"),
]


@table_kind
class ProfilesTable(ModelsTable):
    """A table of model profiles: parameters and latency; if it gives no columns, it has `COLUMNS`."""

    kind: Literal["profiles"] = Field(description="which kind of table this is")
    columns: NamedColumns = COLUMNS
    decimals: Decimals = 2

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: one row per architecture, with its parameters, latency and speed-up."""
        remarks = verdict_remark(self.verdicts(lines))
        if any(line.published is not None for line in lines):
            remarks.append("Parameters must be equal as printed; times are those of a machine and have no verdict.")
        remarks.append(f"Speed-up against {self.rows[0].label}.")
        return sheet(self, lines, [self.grid(lines)], remarks)
