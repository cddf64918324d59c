"""Tables of models: their scores on tasks, or their parameters and latency."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from retort.judgement import repeats
from retort.judgement.repeats import judge_repeats
from retort.judgement.verdicts import REPEATS, REPRODUCES, assumed_in, judge_lines, rule
from retort.results.collect import mean_of
from retort.results.tidy import AVERAGE, HAS_VALUE, Line, Status, by_seed_text, read_by_seed
from retort.specs.exhibit import table_kind
from retort.specs.rows import Column, NamedColumns, Row
from retort.specs.table import Decimals, MeasuredTable
from retort.study.study import Study
from retort.tables.base import Inputs, Recorded, Table
from retort.tables.layout import Entry, Grid, Notes, PrintedRow, Sheet, as_printed, entry, sheet, verdict_remark
from retort.tables.lines import Rows, cell_lines, measure


class ModelsTable(MeasuredTable, Table):
    """A table whose rows are models: what is common to scores and profiles."""

    def judged(self, inputs: Inputs, lines: list[Line]) -> list[Line]:
        """Return lines of the table with their verdicts."""
        return judge_repeats(judge_lines(lines, assumed_in(self, inputs.study.papers[inputs.paper])))

    def lines_to_count(self, lines: list[Line]) -> list[Line]:
        """Return the lines that the report counts as cells: all."""
        return lines

    def recorded(self, study: Study, paper: str, lines: list[Line]) -> list[Recorded]:
        """Return the row's student, column and line of each cell; averages are left out: they can be computed."""
        names = study.names(paper)
        rows = {name: row.student for name, row in self.named_rows().items()}  # without the variant of a column
        return [
            (names.short(rows[line.row] or line.student), line.column, line) for line in lines if line.column != AVERAGE
        ]

    def grid(self, lines: list[Line], notes: Notes, bold: Collection[tuple[str, str]] = ()) -> Grid:
        """Return the printed rows and columns; a horizontal rule opens each new group of rows.

        Args:
            lines: the lines of the table.
            notes: the footnotes of the table; those of the cells are added, row by row.
            bold: the (row, column) of each cell whose value is printed bold.
        """
        printed, entries = as_printed(self), dict[tuple[str, str], Entry]()
        order = list(self.named_rows())
        for line in sorted(lines, key=lambda line: order.index(line.row)):
            key = (line.row, line.column)
            entries[key] = replace(entry(line, self.decimals, notes, printed.get(key)), bold=key in bold)
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

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return a line for each cell, and one for each row if the table has averages."""
        measured = measure(inputs, self)
        lines = cell_lines(inputs, self, measured)
        return self.judged(inputs, [*lines, *self._averages(lines, measured)])

    def _averages(self, lines: list[Line], measured: Rows) -> list[Line]:
        counted = [column.name for column in self.columns if column.average]
        averages = []
        for name, row in self.named_rows().items() if counted else ():
            cells = [line for line in lines if line.row == name and line.column in counted]
            mean = mean_of(measured[name][column] for column in counted)
            averages.append(
                Line(
                    cells[0].paper, cells[0].table, name, AVERAGE, row.student, "", "average", "x100",
                    **_published_mean(cells), **mean.fields, scale=cells[0].scale, differs=row.differs,
                    by_seed=by_seed_text((mean.rerun or mean).by_seed.items()),
                )
            )  # fmt: skip
        return averages

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: one row per student, one column per task."""
        notes = Notes()
        grid = self.grid(lines, notes, bold=self._best(lines))
        verdicts = verdict_remark(self.verdicts(lines), lines)
        paired = all(line.verdict in (REPEATS, REPRODUCES) for line in lines if line.p is not None)
        rules = [*filter(None, ["" if paired else rule(lines)]), *repeats.rule(lines)]
        remarks = [*verdicts, *rules, *_runs(lines), *_beside(lines)]
        if AVERAGE in grid.head:
            counted = [column.label for column in self.columns if column.average]
            remarks.append(f"Average: the mean of {', '.join(counted)}. Bold: the best student of a column.")
        else:
            remarks.append("Bold: the best student of the column.")
        return sheet(self, lines, [grid], notes, remarks)

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
    by_seed = [dict(read_by_seed(cell.published_by_seed)) for cell in cells]
    seeds = by_seed[0].keys() if all(one.keys() == by_seed[0].keys() for one in by_seed) else []
    means = {seed: statistics.mean(one[seed] for one in by_seed) for seed in seeds}
    return {
        "published": statistics.mean(published),
        "published_std": statistics.stdev(means.values()) if len(means) > 1 else None,
        "published_by_seed": by_seed_text(means.items()),
        "published_n": min(cell.published_n for cell in cells),
        "published_half": statistics.mean(cell.published_half or 0.0 for cell in cells),  # an upper bound
    }


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

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return a line per cell."""
        return self.judged(inputs, cell_lines(inputs, self))

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out the table: one row per architecture, with its parameters, latency and speed-up."""
        notes, remarks = Notes(), verdict_remark(self.verdicts(lines), lines)
        if any(line.published is not None for line in lines):
            remarks.append("Parameters must be equal as printed; times are those of a machine and have no verdict.")
        remarks.append(f"Speed-up against {self.rows[0].label}.")
        return sheet(self, lines, [self.grid(lines, notes)], notes, remarks)
