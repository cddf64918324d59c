"""Tables of data set sizes: what a paper prints, beside the rows that each split of ours must have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from retort.results.tidy import Line, Status
from retort.specs.base import Name
from retort.specs.exhibit import StudyNames, check_known, table_kind
from retort.specs.printed import Heading, TextRow, row_names
from retort.study.study import Study
from retort.tables.base import Inputs
from retort.tables.verbatim import VerbatimTable


class CountsRow(TextRow):
    """A row with the sizes of one data set."""

    task: Name = Field(description="an entry of facts.yaml, and of workflow/tasks if it is run")


class CountsColumn(Heading):
    """A column with the number of rows of one split; without a split, a column of plain text."""

    split: Literal["", "train", "dev", "test"] = Field(default="", description="the split of a row's task")


def rows_of(study: Study, task: str, split: str) -> int | None:
    """Return the number of rows of a split, summed over its subsets; None if the task has no such split.

    If a data set has several editions with different numbers of rows, the first one counts.
    """
    spec = study.tasks[task].splits.get(split) if task in study.tasks else None
    if spec is None:
        return None
    subsets = study.tasks[task].subsets if spec.subsets else [None]
    return sum(spec.expected(subset)[0] for subset in subsets)


@table_kind
class CountsTable(VerbatimTable):
    """A table of data set sizes: what the paper prints, beside the rows that each split of ours must have."""

    origin: ClassVar[str] = "Ours: the rows that each split must have, which encoding a task checks in its files."

    kind: Literal["counts"] = Field(description="which kind of table this is")
    columns: list[CountsColumn] = Field(min_length=1, description="from left to right")  # type: ignore[assignment]
    rows: list[CountsRow] = Field(min_length=1, description="from top to bottom")  # type: ignore[assignment]

    def counted(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return (row, column) -> (task, split) for each cell that holds a number of rows."""
        return {
            (name, column.name): (row.task, column.split)
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            for column in self.columns
            if column.split
        }

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each row whose data set has no known size."""
        facts = [name for folder, name in study.files if folder == "facts"]
        yield from check_known("rows", "data set of facts.yaml", [row.task for row in self.rows], facts)

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return a line for each cell; `mean` is our number of rows if the cell shows that of a split."""
        counted, lines = self.counted(), []
        for cell in self.published_cells():
            task, split = counted.get((cell.row, cell.column), ("", ""))
            size = rows_of(inputs.study, task, split) if task else None
            ours = {"metric": split, "unit": "rows", "mean": float(size), "n": 1, "status": Status.OK} if size else {}
            lines.append(self.line(inputs, cell, **({"task": task, **ours} if ours else {})))
        return lines
