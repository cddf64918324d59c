"""Tables of models: their scores on tasks, or their parameters and latency."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from retort.errors import RetortError
from retort.judgement.verdicts import assumed_in, judge_lines, judge_repeats, verdict_rules
from retort.results.frames import KEY, lines_of
from retort.specs.exhibit import table_kind
from retort.specs.rows import Column, NamedColumns, Row
from retort.specs.table import Decimals, MeasuredTable
from retort.study.reasons import HAS_VALUE, Status
from retort.study.study import Study
from retort.tables.base import Inputs, Table
from retort.tables.layout import Entry, Grid, GridRow, Sheet, as_reported, entry, sheet, verdict_remark
from retort.tables.measure import measured_frame

if TYPE_CHECKING:
    from pandas import DataFrame


class ModelsTable(MeasuredTable, Table):
    """A table whose rows are models: what is common to scores and profiles."""

    def collect(self, inputs: Inputs) -> DataFrame:
        """Return the frame of the table, with the verdict on each cell."""
        frame = measured_frame(inputs, self)
        return judge_repeats(judge_lines(frame, assumed_in(self, inputs.study.papers[inputs.paper])))

    def recorded(self, study: Study, paper: str, frame: DataFrame) -> DataFrame:
        """Return the lines of all cells; their row is the short name of its student.

        Raises:
            RetortError: the table compares rows, and `runs` is not the number of runs behind its means.
        """
        if self.compared_rows():
            _check_runs(frame, self.runs)
        names = study.names(paper)
        rows = {name: row.student for name, row in self.named_rows().items()}  # without the variant of a column
        own = frame["row"].map(rows)
        return frame.assign(row=own.where(own != "", frame["student"]).map(names.short))

    def grid(self, frame: DataFrame, bold: Collection[tuple[str, str]] = ()) -> Grid:
        """Return the reported rows and columns; a horizontal rule opens each new group of rows.

        Args:
            frame: the frame of the table.
            bold: the (row, column) of each cell whose value is reported bold.
        """
        reported, entries = as_reported(self), dict[tuple[str, str], Entry]()
        for line in lines_of(frame):
            key = (line.row, line.column)
            entries[key] = replace(entry(line, self.decimals, reported.get(key)), bold=key in bold)
        columns, groups = list(frame["column"].unique()), [row.group for row in self.rows]
        rows = [
            GridRow(name, [entries[name, column] for column in columns], row.baseline, row.group != before)
            for (name, row), before in zip(self.named_rows().items(), [groups[0], *groups], strict=False)
        ]
        return Grid(columns, rows)


def _check_runs(frame: DataFrame, runs: int) -> None:
    counts = set(frame.loc[(frame["unit"] == "x100") & frame["std"].notna(), "n"])
    if counts - {runs}:
        means = ", ".join(map(str, sorted(counts)))
        raise RetortError(f"{frame['table'].iloc[0]}.yaml: its means are of {means} runs", f"set runs: {max(counts)}")


@table_kind
class ScoresTable(ModelsTable):
    """A table of scores, students x tasks: mean and standard deviation over seeds."""

    kind: Literal["scores"] = Field(description="which kind of table this is")
    decimals: Decimals = 1

    def compared_rows(self) -> dict[str, Row]:
        """Return its rows by name; any two of them can be compared."""
        return self.named_rows()

    def lay_out(self, frame: DataFrame) -> Sheet:
        """Lay out the table: one row per student, one column per task."""
        remarks = [*verdict_remark(self.verdicts(frame)), *verdict_rules(frame), *_runs(frame), *_next_to(frame)]
        remarks.append("Bold: the best of the column, without baselines.")
        return sheet(self, frame, [self.grid(frame, bold=self._best(frame))], remarks)

    def _best(self, frame: DataFrame) -> set[tuple[str, str]]:
        """Return the (row, column) of the best value of each column, rounded as reported; baselines do not compete."""
        baselines = {row.student for row in self.rows if row.baseline}
        scores = frame[frame["mean"].notna() & (frame["unit"] == "x100") & ~frame["student"].isin(baselines)]
        rounded = scores["mean"].map(lambda mean: round(mean, self.decimals))
        best = scores[rounded == rounded.groupby(scores["column"]).transform("max")]
        return set(best[KEY].itertuples(index=False, name=None))


def _next_to(frame: DataFrame) -> list[str]:
    """Return a remark on what stands below our values: scores on dev, or best points that were trained again."""
    if frame["rerun"].notna().any():
        return ["Reported, and ours above it: the best of a grid on dev. 'again': our best point, trained once more."]
    if frame["dev"].notna().any():
        return ["'dev': our score on dev of the run whose answers the server gets; it is not judged."]
    if (frame["status"] == Status.DEV).any():
        return ["'dev': on dev, as only a server has the labels of the test set; it is not judged."]
    return []


def _runs(frame: DataFrame) -> list[str]:
    """Return a remark with the number of runs behind our means."""
    counts = sorted(set(frame.loc[frame["status"].isin(HAS_VALUE) & (frame["n"] > 0), "n"]))
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

    def lay_out(self, frame: DataFrame) -> Sheet:
        """Lay out the table: one row per architecture, with its parameters, latency and speed-up."""
        remarks = verdict_remark(self.verdicts(frame))
        if frame["reported"].notna().any():
            remarks.append("Parameters must be equal as reported; times are those of a machine and have no verdict.")
        remarks.append(f"Speed-up against {self.rows[0].label}.")
        return sheet(self, frame, [self.grid(frame)], remarks)
