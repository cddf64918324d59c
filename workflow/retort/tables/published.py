"""The numbers that papers print, counted, as CSV or as a table."""

from __future__ import annotations

import csv
import io

from retort.registry import unknown_name
from retort.results.tidy import escape_formula
from retort.specs.exhibit import Exhibit
from retort.specs.printed import NOTHING, row_names
from retort.study.study import Study
from retort.tables.layout import Entry, Grid, PrintedRow
from retort.tables.render import aligned

HEADER = ["paper", "table", "row", "column", "printed", "printed_std"]


def printed_tables(study: Study) -> dict[tuple[str, str], Exhibit]:
    """Return every table printed in a paper, by paper and name; a study of ours has none."""
    papers = sorted(paper for paper, spec in study.papers.items() if not spec.ours)
    tables = {(paper, name): study.exhibits[paper, name] for paper in papers for name in study.exhibits_of(paper)}
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
    """Return one table as the paper prints it, with aligned columns.

    Args:
        study: the study.
        which: 'paper/table'.

    Raises:
        RetortError: no paper prints such a table.
    """
    names = {f"{paper}/{name}": (paper, name) for paper, name in printed_tables(study)}
    if which not in names:
        raise unknown_name("printed table", which, names)
    table = study.exhibits[names[which]]
    rows = zip(row_names(table.lines()), table.texts, strict=True)
    printed = [PrintedRow(name.removeprefix(": "), [Entry(text) for text in texts]) for name, texts in rows]
    return "\n".join(aligned(Grid([column.name for column in table.headings()], printed)))
