"""A table of which no cell was run: the published numbers stand alone, and why is said once."""

from __future__ import annotations

from dataclasses import replace

from retort.tables.collect import NOT_RUN
from retort.tables.layout import NOTHING, Entry, Sheet
from retort.tables.lines import INCOMPLETE, PLANNED
from retort.tables.tidy import Line

QUOTED = "quoted ("
# what a table says of itself, by the status of a cell that decides it; the first that is found
STATES = {
    NOT_RUN: "Not run at this scale: the numbers are the published ones.",
    PLANNED: "Not run, for no student stands for these rows yet: the numbers are the published ones.",
    QUOTED: "Quoted from other work and never run: the numbers are the published ones.",
}


def _kind(status: str) -> str:
    return QUOTED if status.startswith(QUOTED) else status


def once(sheet: Sheet, lines: list[Line]) -> Sheet:
    """The sheet as it is; of a table that was not run, its published numbers with one line that says so."""
    kinds = {_kind(line.status) for line in lines}
    state = next((said for kind, said in STATES.items() if kind in kinds), "")
    if not state or kinds - {*STATES, INCOMPLETE}:
        return sheet
    kept = {text: chr(97 + at) for at, (_, text) in enumerate(_quoted(sheet))}
    letters = {mark: kept.get(text, "") for mark, text in sheet.notes}

    def alone(entry: Entry) -> Entry:
        return Entry(entry.published or NOTHING, mark=letters.get(entry.mark, "") if entry.published else "")

    grids = [
        replace(grid, rows=[replace(row, entries=[alone(entry) for entry in row.entries]) for row in grid.rows])
        for grid in sheet.grids
    ]
    return replace(sheet, grids=grids, notes=[(letter, text) for text, letter in kept.items()], remarks=[], state=state)


def _quoted(sheet: Sheet) -> list[tuple[str, str]]:
    return [note for note in sheet.notes if note[1].startswith(QUOTED)]
