"""Statements in a paper's text, each as a test over table cells; and facts of data sets that the audit needs.

A paper has two files of statements in the same format. `claims.yaml` holds the paper's claims (who beats whom, and by
how much); they are judged on the paper's numbers and on ours. `audit.yaml` holds statements that can only be compared
with the printed paper: whether a number in the text equals the one in a table, or the one elsewhere in the text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from retort.specs import catalogue
from retort.specs.base import Name, Spec, Text
from retort.specs.printed import PublishedCell, read_number, row_names
from retort.specs.table import LayersFigure, ParetoFigure, ProfilesTable, ScoresTable

if TYPE_CHECKING:
    from retort.specs.book import Book
    from retort.specs.load import Problems

Known = Callable[[Path, str, str, str, Any], bool]
# parameter of a comparison -> the key of a statement that gives its value
NEEDED = {"said": "number", "than": "than", "against": "than", "both": "other", "allowed": "within"}


class Facts(Spec):
    """The sizes of one data set, and the scores of a model that always predicts the most frequent label."""

    sizes: dict[Literal["train", "dev", "test"], int]
    floors: dict[Text, float] = Field(default={}, description="metric -> per cent, on dev")
    source: Text


class Cells(Spec):
    """The cells where the given rows and columns of one table or figure meet, row by row."""

    table: Name
    rows: list[Text] = Field(min_length=1)
    columns: list[Text] = Field(min_length=1)

    @property
    def places(self) -> list[tuple[str, str, str]]:
        """The (table, row, column) of each cell."""
        return [(self.table, row, column) for row in self.rows for column in self.columns]


class Statement(Spec):
    """What a paper's text says about its numbers, in our words, and the cells that confirm or contradict it."""

    says: Text
    where: Text = Field(description="the place in the paper")
    compare: Name = Field(description="the comparison that the cells are put to")
    number: str = Field(default="", description="the number in the text, as printed")
    within: float | None = Field(default=None, ge=0, description="how far the number may be off; else its last digit")
    cells: list[Cells] = []
    than: list[Cells] = Field(default=[], description="the cells that are compared with the others")
    other: str = Field(default="", description="the number that the paper gives at another place of its text")
    why: str = Field(default="", description="what may explain a difference")

    @model_validator(mode="after")
    def _something(self) -> Statement:
        if bool(self.cells) == bool(self.other):
            raise ValueError("a statement is held against 'cells' of tables or against the 'other' number of a text")
        if self.cells and self.number and read_number(self.number) is None:
            raise ValueError(f"'{self.number}' is not a number as papers print it")
        return self

    @property
    def tables(self) -> list[str]:
        """The names of the tables and figures with which the statement is compared."""
        return list(dict.fromkeys(part.table for part in (*self.cells, *self.than)))


def _columns(listed: Iterable[Cells]) -> set[str]:
    return {column for part in listed for column in part.columns}


def _shapes(statement: Statement, needs: Iterable[str]) -> list[str]:
    """Return what is wrong with a statement, given the parameters that its comparison needs."""
    lines = [
        f"comparison '{statement.compare}' needs '{key}'"
        for key in (NEEDED[name] for name in needs)
        if getattr(statement, key) in ("", [], None)
    ]
    if "against" in needs and statement.than:
        alone = sorted(_columns(statement.cells) ^ _columns(statement.than))
        lines += [f"column '{alone[0]}' stands on one side of the comparison only"] if alone else []
    elif "said" in needs or "than" in needs:
        counts = [sum(len(part.places) for part in side) for side in (statement.cells, statement.than)]
        lines += [f"comparison '{statement.compare}' takes one cell a side"] if max(counts) > 1 else []
    return lines


def shown(exhibit: object) -> dict[str, list[str]]:
    """Return the rows of a table or figure by name, each with the names of its columns.

    The result is empty for a table or figure that shows neither scores nor sizes.
    """
    if isinstance(exhibit, (ScoresTable, ProfilesTable)):
        return {row: [column.name for column in exhibit.columns] for row in row_names(exhibit.rows)}
    if isinstance(exhibit, LayersFigure):
        layers = [f"layer {layer}" for layer in sorted({**exhibit.points, **exhibit.planned})]
        return {row: [exhibit.metric] for row in (*layers, *(drawn.label for drawn in exhibit.references))}
    if isinstance(exhibit, ParetoFigure):
        return {drawn.label: [exhibit.metric] for drawn in exhibit.points}
    return {}


def check_statements(book: Book, problems: Problems, known: Known) -> None:
    """Add a problem for each unknown name in a statement, and for each value that its comparison lacks.

    Args:
        book: the study.
        problems: the list to which problems are added.
        known: takes (file, key, type of entry, name, known names), and returns whether the name is one of them; if not,
            it adds a problem.
    """
    comparisons = catalogue.comparisons()
    for file, papers, check in (
        ("claims.yaml", book.claims, _check_shown),
        ("audit.yaml", book.statements, _check_printed),
    ):
        for slug, statements in papers.items():
            path = book.folder / "papers" / slug / file
            tables = {name: exhibit for (paper, name), exhibit in book.exhibits.items() if paper == slug}
            for name, statement in statements.items():
                if known(path, f"{name}.compare", "comparison", statement.compare, comparisons):
                    for line in _shapes(statement, comparisons[statement.compare].options):
                        problems.add(path, f"{name}: {line}")
                if statement.other and check is _check_shown:
                    problems.add(path, f"{name}: 'other' compares text with text, which audit.yaml is for")
                for cells in (*statement.cells, *statement.than):
                    if known(path, name, "table", cells.table, tables):
                        check(cells, tables[cells.table], functools.partial(known, path, name))


def _check_printed(cells: Cells, table: object, known: Callable[[str, str, Any], bool]) -> None:
    """Check that the paper prints a number in each of the cells."""
    printed: list[PublishedCell] = getattr(table, "printed_cells", list)()
    for row in cells.rows:
        if known("row", row, {cell.row for cell in printed}):
            names = {cell.column for cell in printed if cell.row == row and cell.number}
            for column in cells.columns:
                known("number in column", column, names)


def _check_shown(cells: Cells, exhibit: object, known: Callable[[str, str, Any], bool]) -> None:
    """Check that the table or figure has the rows and columns of the cells."""
    rows = shown(exhibit)
    columns = dict.fromkeys(column for listed in rows.values() for column in listed)
    for row in cells.rows:
        known(f"row of {cells.table}", row, rows)
    for column in cells.columns if rows else []:
        known(f"column of {cells.table}", column, columns)
