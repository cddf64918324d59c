"""Tables of settings and of counts: compare what a paper prints with the settings and counts of our own study."""

from __future__ import annotations

from typing import Any

from retort.plan import settings_cells as bound
from retort.specs.printed import PublishedCell
from retort.specs.text_tables import CountsTable, SettingsTable
from retort.study.load import open_written
from retort.study.study import Study
from retort.tables.collect import Record, Scores
from retort.tables.compare import AGREES, DIFFERS
from retort.tables.tidy import Line, Status

SETTINGS = "Ours: the students as the study's files have them, whatever a smaller scale makes of them."
COUNTS = "Ours: the rows that each split must have, which encoding a task checks in its files."


def _line(study: Study, place: tuple[str, str], cell: PublishedCell, **more: Any) -> Line:
    number = cell.number
    printed = {"published": number.value if number else None, "published_std": number.std if number else None}
    given = {"student": "", "task": "", "metric": "", "unit": "", "status": Status.AS_PRINTED, **printed, **more}
    return Line(*place, cell.row, cell.column, **given, scale=study.config.scale)


def settings_lines(study: Study, paper: str, name: str, scores: Scores, profiles: dict[str, Record]) -> list[Line]:
    """Return a line per cell of a table of settings; `text` is our setting at the papers' own scale.

    A cell that reads none of our settings has the status AS_PRINTED and no text.
    """
    table, written = study.exhibits[paper, name], open_written(study.config)
    assert isinstance(table, SettingsTable)
    read = {(cell.row, cell.column): cell for cell in table.bound()}
    lines = []
    for cell in table.published_cells():
        found = read.get((cell.row, cell.column))
        of = {"student": found.student, "task": found.task, "metric": found.reads} if found else {}
        said = {"text": bound.ours(written, paper, found), "status": Status.OK} if found else {}
        lines.append(_line(study, (paper, name), cell, **of, **said))
    return lines


def rows_of(study: Study, task: str, split: str) -> int | None:
    """Return the number of rows of a split, summed over its subsets; None if the task has no such split.

    Where data sets have several editions with different numbers of rows, the first one counts.
    """
    spec = study.tasks[task].splits.get(split) if task in study.tasks else None
    if spec is None:
        return None
    subsets = study.tasks[task].subsets if spec.subsets else [None]
    return sum(spec.expected(subset)[0] for subset in subsets)


def count_lines(study: Study, paper: str, name: str, scores: Scores, profiles: dict[str, Record]) -> list[Line]:
    """Return a line per cell of a table of counts; `mean` is our number of rows if the cell counts those of a split."""
    table = study.exhibits[paper, name]
    assert isinstance(table, CountsTable)
    counted, lines = table.counted(), []
    for cell in table.published_cells():
        task, split = counted.get((cell.row, cell.column), ("", ""))
        size = rows_of(study, task, split) if task else None
        of = {"task": task, "metric": split, "unit": "rows"} if size else {}
        ours = {"mean": float(size), "n": 1, "status": Status.OK} if size else {}
        lines.append(_line(study, (paper, name), cell, **of, **ours))
    return lines


def word_verdicts(table: SettingsTable | CountsTable, lines: list[Line]) -> dict[tuple[str, str], str]:
    """Return the verdict of each cell that has one.

    A setting agrees if its text is the same; a count agrees if, rounded or cut, it is the printed number.
    """
    printed = {(cell.row, cell.column): cell for cell in table.printed_cells()}
    found = {}
    for line in lines:
        cell = printed[line.row, line.column]
        if line.status is not Status.OK or (line.mean is not None and cell.number is None):
            continue
        same = cell.text == line.text if line.mean is None else cell.number.is_size(line.mean)  # type: ignore[union-attr]
        found[line.row, line.column] = AGREES if same else DIFFERS
    return found
