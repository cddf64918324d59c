"""The numbers that papers report, counted, as CSV or as a table."""

from __future__ import annotations

from retort.registry import unknown_name
from retort.results.frames import escape_formulas
from retort.specs.reported import NOTHING
from retort.study.study import Study
from retort.tables.layout import Entry, Grid, GridRow
from retort.tables.numbers import CELL, reported, reported_tables
from retort.tables.render import aligned

HEADER = [*CELL, "reported", "reported_std", "replicated"]


def counts(study: Study) -> list[str]:
    """Return one line per table with its numbers of rows, columns and values, and a last line with the totals."""
    lines = []
    how = {"row": "nunique", "column": "nunique", "value": "count", "std": "count"}
    sizes_of = reported(study).groupby(["paper", "table"], sort=False).agg(how)
    for (paper, name), rows, columns, numbers, stds in sizes_of.itertuples(name=None):
        deviations = f", {stds} with a standard deviation" if stds else ""
        lines.append(f"{paper}/{name}: {rows} rows, {columns} columns, {numbers} numbers{deviations}")
    numbers, stds = sizes_of[["value", "std"]].sum()
    return [*lines, f"{len(sizes_of)} tables, {numbers} numbers, {stds} of them with a standard deviation"]


def cells_csv(study: Study) -> str:
    """Return every reported value as CSV, exactly as the paper reports it, with what others have for the same cell."""
    frame = reported(study)
    frame = frame.assign(row=escape_formulas(frame["row"]), column=escape_formulas(frame["column"]))
    text = frame["value"].isna()  # a negative number stays one
    frame.loc[text, "reported"] = escape_formulas(frame.loc[text, "reported"])
    shown = frame[~frame["reported"].isin(NOTHING)]
    return str(shown.to_csv(columns=HEADER, index=False, lineterminator="\n"))


def show(study: Study, which: str) -> str:
    """Return one table as the paper reports it, with aligned columns.

    Args:
        study: the study.
        which: 'paper/table'.

    Raises:
        RetortError: no paper reports such a table.
    """
    names = {f"{paper}/{name}": (paper, name) for paper, name in reported_tables(study)}
    if which not in names:
        raise unknown_name("reported table", which, names)
    cells = study.exhibits[names[which]].paper_cells()
    rows: dict[str, list[Entry]] = {}
    for cell in cells:
        rows.setdefault(cell.row, []).append(Entry(cell.text))
    grid = [GridRow(name.removeprefix(": "), entries) for name, entries in rows.items()]
    return "\n".join(aligned(Grid(list(dict.fromkeys(cell.column for cell in cells)), grid)))
