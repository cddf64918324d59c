"""The common schema of tables of models: models as rows, what is measured of them as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from retort.specs.base import BySeed, OptionalText, Real, StudentName, Text, Whole, check_known
from retort.specs.exhibit import Exhibit, StudyNames
from retort.specs.reported import (
    AS_REPORTED,
    AVERAGE,
    CHANGE,
    NOTHING,
    OF_A_MODEL,
    Heading,
    ReportedCell,
    TextRow,
    Values,
    check_no_repeats,
    check_possible,
    header_lines,
    read_block,
    read_number,
    recorded_cell,
    row_names,
    timing_called,
)
from retort.specs.rows import CellSpec, Column, Judging, NamedColumns, Row, with_variant

UNREAD = 5  # the most cells that a message lists
Decimals = Annotated[Whole, Field(ge=0, le=10, description="digits after the point")]


TimedPart = TypeVar("TimedPart", Column, Row)


def _without_gpu(part: TimedPart) -> TimedPart:
    """Return a column or row; one that is timed on a GPU is timed on the device of the job instead."""
    return part.model_copy(update={"timing": ""}) if part.timing == "gpu" else part


def _check_std(numbers: list[float]) -> list[float]:
    if len(numbers) == 2 and numbers[1] < 0:
        raise ValueError(f"a standard deviation is at least 0, not {numbers[1]:g}")
    return numbers


Reported = Annotated[
    list[Real], AfterValidator(_check_std), Field(min_length=1, max_length=2, description="[mean] or [mean, std]")
]


def _without_tabs(block: Any) -> Any:
    return block.replace("\t", " ") if isinstance(block, str) else block


class TextTable(Exhibit):
    """The base of tables with reported rows: the headings of the row labels, the cells, and how many are numbers.

    Args:
        stub: the headings over the row labels, one for each level of a label.
        numbers: reported numbers, counted in the paper; standard deviations not.
        reported: the cells as the paper reports them: a header of the columns, then a line a row, split by '|'.
    """

    stub: list[Text] = []
    numbers: Whole = Field(default=0, ge=0)
    reported: Annotated[OptionalText, BeforeValidator(_without_tabs)] = ""

    if TYPE_CHECKING:  # each kind of table has fields of its own here
        columns: Sequence[Heading]
        rows: Sequence[TextRow]

    @cached_property
    def texts(self) -> list[list[str]]:
        """The text of each reported cell, row by row; a row is an empty list if the table reports none."""
        columns = [(column.heading, column.label) for column in self.columns]
        return read_block(self.reported, header_lines(self.stub, columns), row_names(self.rows))

    def _wrong(self) -> Iterator[str]:
        """Yield a line for a name that occurs twice, cells that do not fit rows and columns, and a missing number."""
        check_no_repeats("column", [column.name for column in self.columns])
        check_no_repeats("row", [name.removeprefix(": ") for name in row_names(self.rows)])
        cells = self.paper_cells()
        others = [cell for cell in cells if cell.number is None and cell.text not in ("", *NOTHING)]
        if (count := len([cell for cell in cells if cell.number])) != self.numbers:
            read = ", ".join(f"'{cell.text}' (row '{cell.row}', column '{cell.column}')" for cell in others[:UNREAD])
            more = f" and {len(others) - UNREAD} others" if len(others) > UNREAD else ""
            hint = f"; not read as numbers: {read}{more}" if read else ""
            yield f"the rows hold {count} numbers, and 'numbers' says {self.numbers}{hint}"

    def paper_cells(self) -> list[ReportedCell]:
        """Return every cell of every row as reported."""
        return [
            ReportedCell(name, column.name, text, read_number(text))
            for name, texts in zip(row_names(self.rows), self.texts, strict=True)
            for column, text in zip(self.columns, texts, strict=False)
        ]


class MeasuredTable(Judging, TextTable):
    """A table with models as rows and measurements as columns.

    The numbers of a paper stand in its rows (`cells`), those of a recorded run of ours in `means`.

    Args:
        rows: from top to bottom.
        split: the split that a paper's scores are of; else the one that each task is scored on.
        runs: over how many runs a reported score is a mean; 0: the paper does not say. A recorded number without a
            deviation is of one run.
        best_of: 'grid': the paper's own numbers are the best of a grid of fine-tunings on dev, so that verdicts compare
            them with the best of ours.
        length: tokens of a row that is timed; 32 if left out.
        spread: what the mean and the deviation of a time are over: the medians of runs, or single batches.
        against: the student or teacher whose speed is 1; else the first row's.
        means: row's student, or that of a column -> column's label -> reported.
        by_seed: row's student, or that of a column -> column's label -> the score of each seed of a recorded run.
    """

    columns: NamedColumns
    rows: list[Row] = Field(min_length=1)
    split: Literal["", "dev", "test"] = ""
    runs: Whole = Field(default=0, ge=0, le=1000)
    best_of: Literal["", "grid"] = ""
    length: Whole | None = Field(default=None, gt=0, le=512)
    spread: Values = "runs"
    against: StudentName = ""
    decimals: Decimals
    means: dict[StudentName, dict[str, Reported]] = {}
    by_seed: dict[StudentName, dict[str, BySeed]] = {}

    def _wrong(self) -> Iterator[str]:
        if not self.numbers:
            check_no_repeats("row", [row.student for row in self.rows if row.student])
            yield from self._shared_names()
        elif self.means:
            yield "the numbers of a paper stand in 'cells', those of a run in 'means'; give one of them"
        for cell in self.paper_cells():
            if cell.number is None and cell.text not in NOTHING:
                yield f"row '{cell.row}', column '{cell.column}': '{cell.text}' is no number"
        self._check_columns()
        self._check_means()

    def _check_means(self) -> None:
        for student, numbers in self.means.items():
            for column, (mean, *std) in numbers.items():
                for cell in self.kept.get(student, {}).get(column, [])[:1]:
                    try:
                        check_possible(cell.metric, mean, std[0] if std else None)
                    except ValueError as error:
                        raise ValueError(f"means.{student}.{column}: {error}") from None

    def _check_columns(self) -> None:
        names = [column.name for column in self.columns]
        if self.columns[0].change_from:
            raise ValueError(f"column '{names[0]}' is a change of the column before it, and none stands there")
        later = {column.name for column in self.columns if column.mean_of or column.change_from}
        for column in self.columns:
            for name in (*column.mean_of, *filter(None, [column.change_from])):
                if name not in names:
                    raise ValueError(f"column '{column.name}' names a column '{name}' that does not exist")
                if name == column.name:
                    raise ValueError(f"column '{column.name}' would be computed from itself")
                if name in later:  # columns are computed from left to right
                    what = f"column '{column.name}' is computed from '{name}', which is computed too"
                    raise ValueError(f"{what}; write it after that one")
            later.discard(column.name)
        for cell in self.cells():
            if not cell.metric:
                raise ValueError(f"row '{cell.row}', column '{cell.column}': no 'metric', in neither of them")
            if not (cell.task or cell.tasks or cell.metric in (*OF_A_MODEL, AVERAGE, CHANGE)):
                raise ValueError(f"row '{cell.row}', column '{cell.column}': no 'task', in neither of them")

    def cells(self) -> list[CellSpec]:
        """Return every cell with what it measures, row by row."""
        return list(self.measured)

    @cached_property
    def measured(self) -> list[CellSpec]:
        """Every cell with what it measures, made once: checks and jobs ask for the cells of a table many times."""
        before = ["", *(column.name for column in self.columns)]
        return [
            self._cell(name, row, column, previous)
            for name, row in self.named_rows().items()
            for column, previous in zip(self.columns, before, strict=False)
        ]

    def _cell(self, name: str, row: Row, column: Column, before: str) -> CellSpec:
        """Return the cell at a row and a column; the fields of the row override those of the column."""
        tasks = row.tasks or column.tasks
        derived = AVERAGE if column.mean_of or tasks else CHANGE if column.change_from else ""
        metric = derived or row.metric or column.metric
        student = "" if metric == AS_REPORTED else row.student_at(column.variant)
        return CellSpec(
            row=name,
            column=column.name,
            student=student,
            identity=with_variant(row.identity, column.variant) or student,
            task=row.task or column.task,
            subset=row.subset or column.subset,
            measurement=timing_called(row.timing or column.timing, self.length, self.spread),
            metric=metric,
            split=row.split or column.split or self.split,
            tasks=tasks,
            quoted=row.quoted,
            differs=row.differs,
            best_of="" if row.quoted else self.best_of,
            others=tuple(with_variant(name, column.variant) for name in row.best_of),
            before=before,
            spec=column,
        )

    @cached_property
    def kept(self) -> dict[str, dict[str, list[CellSpec]]]:
        """The cells as a recorded run of ours names them: student or teacher -> column -> cells, of as many rows."""
        rows, found = self.named_rows(), dict[str, dict[str, list[CellSpec]]]()
        for cell in self.cells():
            if name := rows[cell.row].recorded_at(cell.spec.variant):
                found.setdefault(name, {}).setdefault(cell.column, []).append(cell)
        return found

    def _shared_names(self) -> Iterator[str]:
        """Yield a line for each name under which a recorded run of ours would keep two students of a column."""
        for name, columns in self.kept.items():
            for column, cells in columns.items():
                if len(students := sorted({cell.student for cell in cells})) > 1:
                    yield f"column '{column}': a recorded run would keep {' and '.join(students)} as '{name}'"

    def timed_without_gpu(self) -> MeasuredTable:
        """Return the table with each latency on a GPU measured on the device of the job instead."""
        if not any(cell.is_timed and cell.measurement.device == "gpu" for cell in self.cells()):
            return self
        content = {name: getattr(self, name) for name in self.model_fields_set}
        content |= {"columns": list(map(_without_gpu, self.columns)), "rows": list(map(_without_gpu, self.rows))}
        return type(self).model_validate(content)  # `model_copy` would keep the cells of this one

    def judging(self, column: str) -> list[Judging]:
        """Return the levels that can set a column's assumed deviation: the column, then the table."""
        return [*(one for one in self.columns if one.name == column), self]

    def named_rows(self) -> dict[str, Row]:
        """Return the rows by their full names."""
        return dict(zip(row_names(self.rows), self.rows, strict=True))

    @property
    def first(self) -> str:
        """The student or teacher that speed-ups are relative to; empty if no cell is timed and `against` is empty."""
        return self.against or super().first

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each reported number that belongs to no row or column."""
        yield from check_known("means", "row", self.means, self.kept)
        for student, cells in self.kept.items():
            yield from check_known(f"means.{student}", "column", self.means.get(student, {}), cells)

    def reported_cells(self) -> list[ReportedCell]:
        """Return every reported cell: as a paper reports it, or as recorded from a run of ours."""
        rows = self.named_rows()
        if self.numbers:
            return [replace(cell, runs=0 if rows[cell.row].quoted else self.runs) for cell in self.paper_cells()]
        return [
            replace(
                recorded_cell(cell.row, column, values, self.runs),
                decimals=self.decimals,
                by_seed=tuple(sorted(self.by_seed.get(student, {}).get(column, {}).items())),
            )
            for student, columns in self.means.items()
            for column, values in columns.items()
            for cell in self.kept.get(student, {}).get(column, [])
        ]

    @property
    def digits(self) -> int:
        """The decimals of our values as reported."""
        return self.decimals
