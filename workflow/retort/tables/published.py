"""The numbers that papers print, counted, as CSV or as a table; and the deviations that name them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from fnmatch import fnmatchcase

from retort.plan.value_lines import values
from retort.registry import unknown
from retort.results.tidy import escape_formula
from retort.specs.exhibit import Exhibit
from retort.specs.printed import NOTHING, row_names
from retort.study.study import Study
from retort.tables.layout import Entry, Grid, PrintedRow
from retort.tables.render import markdown_grid

HEADER = ["paper", "table", "row", "column", "printed", "printed_std"]


def natural(name: str) -> tuple[str, int, str]:
    """Return a sort key that puts table2 before table10 and table5 before table5-acl."""
    digits = "".join(letter for letter in name.partition("-")[0] if letter.isdigit())
    return name.rstrip("abcdefghijklmnopqrstuvwxyz-").rstrip("0123456789"), int(digits or 0), name


def printed_tables(study: Study) -> dict[tuple[str, str], Exhibit]:
    """Return every table printed in a paper, by paper and name; a study of ours has none."""
    keys = sorted(study.exhibits, key=lambda key: (key[0], natural(key[1])))
    tables = {key: study.exhibits[key] for key in keys if not study.papers[key[0]].ours}
    return {key: table for key, table in tables.items() if table.headings() and any(table.texts)}


def counts(study: Study) -> list[str]:
    """Return one line per table with its numbers of rows, columns and values, and a last line with the totals."""
    lines, numbers, deviations = [], 0, 0
    tables = printed_tables(study)
    for (paper, name), table in tables.items():
        printed = [cell.number for cell in table.printed_cells() if cell.number]
        stds = sum(number.std is not None for number in printed)
        numbers, deviations = numbers + len(printed), deviations + stds
        sizes = f"{len(table.lines())} rows, {len(table.headings())} columns, {len(printed)} numbers"
        lines.append(f"{paper}/{name}: {sizes}" + (f", {stds} with a standard deviation" if stds else ""))
    return [*lines, f"{len(tables)} tables, {numbers} numbers, {deviations} of them with a standard deviation"]


def cells_csv(study: Study) -> str:
    """Return every published value as CSV, exactly as the paper prints it."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    for (paper, name), table in printed_tables(study).items():
        for cell in table.printed_cells():
            if cell.text not in NOTHING:
                text, std = (cell.number.text, cell.number.std_text) if cell.number else (escape_formula(cell.text), "")
                writer.writerow([paper, name, escape_formula(cell.row), escape_formula(cell.column), text, std])
    return stream.getvalue()


def show(study: Study, which: str) -> str:
    """Return one table as Markdown, as the paper prints it.

    Args:
        study: the study.
        which: 'paper/table'.

    Raises:
        RetortError: no paper prints such a table.
    """
    names = {f"{paper}/{name}": (paper, name) for paper, name in printed_tables(study)}
    if which not in names:
        raise unknown("printed table", which, names)
    table = study.exhibits[names[which]]
    rows = zip(row_names(table.lines()), table.texts, strict=True)
    printed = [PrintedRow(name.removeprefix(": "), [Entry(text) for text in texts]) for name, texts in rows]
    return "\n".join(markdown_grid(Grid([column.name for column in table.headings()], printed)))


def unknown_names(study: Study) -> list[str]:
    """Return a line for each name in a deviation that is neither a cell nor a setting.

    Args:
        study: the study as its files have it, before a scale changes it.
    """
    lines, settings = [], dict[str, set[str]]()  # student -> the keys of its settings
    for paper, spec in study.papers.items():
        tables = {name: exhibit for (slug, name), exhibit in study.exhibits.items() if slug == paper}
        for (text, names), students in deviations_of(study, paper).items() if not spec.ours else ():
            known: set[str] = set()
            for student in students:
                if student not in settings:
                    settings[student] = _settings(study, student)
                known |= settings[student]
                if all(_is_known(name, tables, known) for name in names):
                    break
            lines += [
                f"{paper}: the deviation '{text}' names '{name}', which is no setting of {students[0]}"
                + (f" and {len(students) - 1} more" if len(students) > 1 else "")
                + " and no cell"
                for name in names
                if not _is_known(name, tables, known)
            ]
    return lines


def deviations_of(study: Study, paper: str) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return (text, names) of each deviation of a paper -> its students that have it."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, student in study.students.items():
        for one in student.deviations if study.paper_of(name) == paper else ():
            found.setdefault((one.text, tuple(one.of)), []).append(name)
    return found


def _settings(study: Study, student: str) -> set[str]:
    """Return the keys of a student's settings, in general and on each of its tasks."""
    tasks = dict.fromkeys(
        task for (paper, _), exhibit in study.exhibits.items() for task, _ in exhibit.metrics_of(student)
    )
    return {value.key for task in ("", *tasks) for value in values(study, study, student, task)}


def _is_known(name: str, tables: dict[str, Exhibit], settings: set[str]) -> bool:
    """Return whether a name is a table, one of its rows or columns ('table1: KD'), or a pattern of settings."""
    table, _, place = name.partition(": ")
    if table in tables:
        return not place or place in _places(tables[table])
    return any(fnmatchcase(key, name) or fnmatchcase(key, f"{name}.*") for key in settings)


def _places(exhibit: Exhibit) -> Iterator[str]:
    """Yield the names of an exhibit's rows and columns."""
    for row, columns in exhibit.rows_and_columns().items():
        yield row
        yield from columns
