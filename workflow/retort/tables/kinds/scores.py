"""Tables of scores: students as rows, tasks as columns, means and standard deviations over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from retort.judgement.verdicts import judge_lines, limits_of, rule
from retort.results.collect import Measured, mean_of
from retort.results.tidy import AVERAGE, HAS_VALUE, Line, Status
from retort.specs.exhibit import table_kind
from retort.specs.rows import Column, Row
from retort.specs.table import Decimals, MeasuredTable
from retort.tables.base import Inputs, Table
from retort.tables.layout import Entry, Grid, Notes, Sheet, as_printed, entry, model_rows, sheet, verdict_remark
from retort.tables.lines import cell_lines, measure
from retort.tables.recorded_cells import recorded_cells


@table_kind
class ScoresTable(MeasuredTable, Table):
    """A table of scores, students x tasks: mean and standard deviation over seeds."""

    kind: Literal["scores"] = Field(description="which kind of table this is")
    columns: list[Column] = Field(min_length=1, description="from left to right")
    decimals: Decimals = 1

    def compared_rows(self) -> dict[str, Row]:
        """Return its rows by name; any two of them can be compared."""
        return self.named_rows()

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return a line for each cell, and one for each row if the table has averages."""
        measured = measure(inputs, self)
        lines = cell_lines(inputs, self, measured)
        return judge_lines(
            [*lines, *self._averages(lines, measured)], limits_of(self, inputs.study.papers[inputs.paper])
        )

    def _averages(self, lines: list[Line], measured: Mapping[str, Mapping[str, Measured]]) -> list[Line]:
        counted = [column.name for column in self.columns if column.average]
        averages = []
        for name, row in self.named_rows().items() if counted else ():
            cells = [line for line in lines if line.row == name and line.column in counted]
            averages.append(
                Line(
                    cells[0].paper, cells[0].table, name, AVERAGE, row.student, "", "average", "x100",
                    **_published_mean(cells), **mean_of(measured[name][column] for column in counted).fields,
                    scale=cells[0].scale,
                )
            )  # fmt: skip
        return averages

    def lines_to_count(self, lines: list[Line]) -> list[Line]:
        """Return the lines that the report counts as cells: all."""
        return lines

    def recorded(self, inputs: Inputs, lines: list[Line]) -> dict[str, Any]:
        """Return the numbers of a run by student and column."""
        return recorded_cells(inputs.study.names(inputs.paper), lines)

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: one row per student, one column per task."""
        notes, best, printed = Notes(), self._best(lines), as_printed(self)
        columns = list(dict.fromkeys(line.column for line in lines))
        entries: dict[tuple[str, str], Entry] = {}
        order = list(self.named_rows())
        for line in sorted(lines, key=lambda line: order.index(line.row)):
            key = (line.row, line.column)
            entries[key] = replace(entry(line, self.decimals, notes, printed.get(key)), bold=key in best)
        remarks = [*verdict_remark(self.verdicts(lines)), *filter(None, [rule(lines)]), *_runs(lines), *_dev(lines)]
        if AVERAGE in columns:
            counted = [column.label for column in self.columns if column.average]
            remarks.append(f"Average: the mean of {', '.join(counted)}. Bold: the best student of a column.")
        else:
            remarks.append("Bold: the best student of the column.")
        return sheet(self, lines, [Grid(columns, model_rows(self.rows, columns, entries))], notes, remarks)

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


def _published_mean(cells: list[Line]) -> dict[str, Any]:
    """Return the published fields of an average; empty unless every cell of it is published."""
    published = [cell.published for cell in cells if cell.published is not None]
    if len(published) < len(cells):
        return {}
    return {
        "published": statistics.mean(published),
        "published_n": min(cell.published_n for cell in cells),
        "published_half": statistics.mean(cell.published_half or 0.0 for cell in cells),  # an upper bound
    }


def _dev(lines: list[Line]) -> list[str]:
    """Return a remark on scores on dev in cells of test sets; empty if there are none."""
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
