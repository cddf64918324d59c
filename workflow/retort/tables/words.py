"""Tables of settings and of counts: compare what a paper prints with the settings and counts of our own study."""

from __future__ import annotations

from typing import Any

from retort.specs import bound
from retort.specs.book import Book, open_written
from retort.specs.printed import PublishedCell
from retort.specs.words import CountsTable, SettingsTable
from retort.tables.collect import Record, Scores
from retort.tables.compare import AGREES, DIFFERS
from retort.tables.tidy import OK, Line

AS_PRINTED = "as the paper prints it"
SETTINGS = "Ours: the students as the study's files have them, whatever a smaller scale makes of them."
COUNTS = "Ours: the rows that each split must have, which encoding a task checks in its files."


def _line(book: Book, place: tuple[str, str], cell: PublishedCell, **more: Any) -> Line:
    number = cell.number
    printed = {"published": number.value if number else None, "published_std": number.std if number else None}
    given = {"student": "", "task": "", "metric": "", "unit": "", "status": AS_PRINTED, **printed, **more}
    return Line(*place, cell.row, cell.column, **given, scale=book.config.scale)


def settings_lines(book: Book, paper: str, name: str, scores: Scores, profiles: dict[str, Record]) -> list[Line]:
    """Return a line per cell of a table of settings; `text` is our setting at the papers' own scale.

    A cell that reads none of our settings has the status 'as the paper prints it' and no text.
    """
    table, written = book.exhibits[paper, name], open_written(book.config)
    assert isinstance(table, SettingsTable)
    read = {(cell.row, cell.column): cell for cell in table.bound()}
    lines = []
    for cell in table.published_cells():
        found = read.get((cell.row, cell.column))
        of = {"student": found.student, "task": found.task, "metric": found.reads} if found else {}
        said = {"text": bound.ours(written, paper, found), "status": OK} if found else {}
        lines.append(_line(book, (paper, name), cell, **of, **said))
    return lines


def rows_of(book: Book, task: str, split: str) -> int | None:
    """Return the number of rows of a split, summed over its subsets; None if the task has no such split.

    Where data sets have several editions with different numbers of rows, the first one counts.
    """
    spec = book.tasks[task].splits.get(split) if task in book.tasks else None
    if spec is None:
        return None
    parts = book.tasks[task].parts if spec.parts else [None]
    return sum(spec.expected(part)[0] for part in parts)


def count_lines(book: Book, paper: str, name: str, scores: Scores, profiles: dict[str, Record]) -> list[Line]:
    """Return a line per cell of a table of counts; `mean` is our number of rows if the cell counts those of a split."""
    table = book.exhibits[paper, name]
    assert isinstance(table, CountsTable)
    counted, lines = table.counted(), []
    for cell in table.published_cells():
        task, split = counted.get((cell.row, cell.column), ("", ""))
        size = rows_of(book, task, split) if task else None
        of = {"task": task, "metric": split, "unit": "rows"} if size else {}
        ours = {"mean": float(size), "n": 1, "status": OK} if size else {}
        lines.append(_line(book, (paper, name), cell, **of, **ours))
    return lines


def word_verdicts(table: SettingsTable | CountsTable, lines: list[Line]) -> dict[tuple[str, str], str]:
    """Return the verdict of each cell that has one.

    A setting agrees if its text is the same; a count agrees if, rounded or cut, it is the printed number.
    """
    printed = {(cell.row, cell.column): cell for cell in table.printed_cells()}
    found = {}
    for line in lines:
        cell = printed[line.row, line.column]
        if line.status != OK or (line.mean is not None and cell.number is None):
            continue
        same = cell.text == line.text if line.mean is None else cell.number.is_size(line.mean)  # type: ignore[union-attr]
        found[line.row, line.column] = AGREES if same else DIFFERS
    return found
