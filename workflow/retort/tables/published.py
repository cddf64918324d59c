"""What the papers print, read back from the table files: counted, listed as CSV, shown as the paper shows it."""

from __future__ import annotations

import csv
import io

from retort.errors import RetortError
from retort.registry import unknown
from retort.specs.book import Book
from retort.specs.printed import NOTHING, TextTable
from retort.tables.render import markdown_escape

HEADER = ["paper", "table", "row", "column", "printed", "printed_std"]


def natural(name: str) -> tuple[str, int, str]:
    """A key that sorts table2 before table10 and table5 before table5-acl."""
    digits = "".join(letter for letter in name.partition("-")[0] if letter.isdigit())
    return name.rstrip("abcdefghijklmnopqrstuvwxyz-").rstrip("0123456789"), int(digits or 0), name


def printed_tables(book: Book) -> dict[tuple[str, str], TextTable]:
    """Every table that a paper printed, by paper and name; a study of ours prints none."""
    keys = sorted(book.exhibits, key=lambda key: (key[0], natural(key[1])))
    tables = {key: book.exhibits[key] for key in keys if not book.papers[key[0]].ours}
    return {key: table for key, table in tables.items() if isinstance(table, TextTable)}


def counts(book: Book) -> list[str]:
    """A line a table: its rows, columns and numbers; and the sum of all."""
    lines, numbers, deviations = [], 0, 0
    tables = printed_tables(book)
    for (paper, name), table in tables.items():
        found = [cell.number for cell in table.printed_cells() if cell.number]
        stds = sum(number.std is not None for number in found)
        numbers, deviations = numbers + len(found), deviations + stds
        said = f"{len(table.lines())} rows, {len(table.headings())} columns, {len(found)} numbers"
        lines.append(f"{paper}/{name}: {said}" + (f", {stds} with a standard deviation" if stds else ""))
    return [*lines, f"{len(tables)} tables, {numbers} numbers, {deviations} of them with a standard deviation"]


def cells_csv(book: Book) -> str:
    """Every printed value as CSV, exactly as the paper prints it."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    for (paper, name), table in printed_tables(book).items():
        for cell in table.printed_cells():
            if cell.text not in NOTHING:
                text, std = (cell.number.text, cell.number.std_text) if cell.number else (cell.text, "")
                writer.writerow([paper, name, cell.row, cell.column, text, std])
    return stream.getvalue()


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(map(markdown_escape, cells)) + " |"


def show(book: Book, which: str) -> str:
    """One table as Markdown, as the paper prints it; in brackets, above what a label continues.

    Args:
        which: 'paper/table'.

    Raises:
        RetortError: no paper prints such a table.
    """
    tables = printed_tables(book)
    names = [f"{paper}/{name}" for paper, name in tables]
    if which not in names:
        raise unknown("printed table", which, names)
    paper, _, name = which.partition("/")
    table = tables[paper, name]
    stub, headings = table.stub or [""], table.headings()
    heads = [[*[""] * len(stub), *(column.heading for column in headings)]]
    heads = heads if any(heads[0]) else []
    first, *rest = [*heads, [*stub, *(column.label for column in headings)]]
    lines = [_line(first), "|" + " --- |" * len(first), *map(_line, rest)]
    group, labels = "", [row.label for row in table.lines()]
    for row in table.lines():
        label = row.label.split(" / ") if len(stub) > 1 else [row.label]
        if len(label) > len(stub):
            raise RetortError(f"{which}: '{row.label}' has more parts than the stub", "give 'stub' a heading a part")
        if row.group not in ("", group, *(above.split(" / ")[0] for above in labels)):
            lines.append(_line([f"({row.group})", *[""] * (len(stub) + len(headings) - 1)]))
        group = row.group
        lines.append(_line([*label, *["-"] * (len(stub) - len(label)), *row.texts]))
    return "\n".join(lines)
