"""What the audit needs beside the tables: facts of the data sets, and what the papers' texts say of their tables."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from retort.specs import catalogue
from retort.specs.base import Name, Spec, Text
from retort.specs.printed import PublishedCell, read_number

if TYPE_CHECKING:
    from retort.specs.book import Book
    from retort.specs.load import Problems

Known = Callable[[Path, str, str, str, Any], bool]
# key of a statement -> the parameter of a comparison that is made of it
NEEDED = {"number": "said", "than": "than", "other": "both"}


class Facts(Spec):
    """One data set: its sizes, and what a model reaches that always gives the commonest answer."""

    sizes: dict[Literal["train", "dev", "test"], int]
    floors: dict[Text, float] = Field(default={}, description="metric -> per cent, on dev")
    source: Text


class Cells(Spec):
    """Some cells of one row of a table."""

    table: Name
    row: Text
    columns: list[Text] = Field(min_length=1)


class Statement(Spec):
    """What a paper's text says of its numbers, in our words, and the cells that bear it out or do not."""

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


def check_statements(book: Book, problems: Problems, known: Known) -> None:
    """Nothing; what a statement names must exist, and what its comparison needs must be given.

    Args:
        known: (file, place, kind of thing, name, known names) -> whether the name is one of them.
    """
    comparisons = catalogue.comparisons()
    for slug, statements in book.statements.items():
        path = book.folder / "papers" / slug / "audit.yaml"
        for name, statement in statements.items():
            if known(path, f"{name}.compare", "comparison", statement.compare, comparisons):
                needs = comparisons[statement.compare].options
                for key in (key for key, of in NEEDED.items() if of in needs and not getattr(statement, key)):
                    problems.add(path, f"{name}: comparison '{statement.compare}' needs '{key}'")
            for cells in (*statement.cells, *statement.than):
                _check_cells(book, slug, cells, functools.partial(known, path, name))


def _check_cells(book: Book, slug: str, cells: Cells, known: Callable[[str, str, Any], bool]) -> None:
    tables = {name: table for (paper, name), table in book.exhibits.items() if paper == slug}
    if known("table", cells.table, tables):
        printed: list[PublishedCell] = getattr(tables[cells.table], "printed_cells", list)()
        if known("row", cells.row, {cell.row for cell in printed}):
            names = {cell.column for cell in printed if cell.row == cells.row and cell.number}
            for column in cells.columns:
                known("number in column", column, names)
