"""The numbers that papers print, counted, as CSV or as a table."""

from __future__ import annotations

from retort.registry import unknown_name
from retort.results.frames import escape_formulas
from retort.specs.printed import NOTHING, row_names
from retort.study.study import Study
from retort.tables.layout import Entry, Grid, PrintedRow
from retort.tables.numbers import CELL, printed_tables, reported
from retort.tables.render import aligned

HEADER = [*CELL, "printed", "printed_std"]


def counts(study: Study) -> list[str]:
    """Return one line per table with its numbers of rows, columns and values, and a last line with the totals."""
    tables, lines = printed_tables(study), []
    numbers = reported(study).groupby(["paper", "table"], sort=False)[["value", "std"]].count()
    for (paper, name), printed, stds in numbers.itertuples(name=None):
        table = tables[paper, name]
        sizes = f"{len(table.lines())} rows, {len(table.headings())} columns, {printed} numbers"
        lines.append(f"{paper}/{name}: {sizes}" + (f", {stds} with a standard deviation" if stds else ""))
    printed, stds = numbers.sum()
    return [*lines, f"{len(tables)} tables, {printed} numbers, {stds} of them with a standard deviation"]


def cells_csv(study: Study) -> str:
    """Return every published value as CSV, exactly as the paper prints it."""
    frame = reported(study)
    frame = frame.assign(row=escape_formulas(frame["row"]), column=escape_formulas(frame["column"]))
    text = frame["value"].isna()  # a negative number stays one
    frame.loc[text, "printed"] = escape_formulas(frame.loc[text, "printed"])
    shown = frame[~frame["printed"].isin(NOTHING)]
    return str(shown.to_csv(columns=HEADER, index=False, lineterminator="\n"))


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
