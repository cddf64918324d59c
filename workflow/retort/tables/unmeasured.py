"""Print a table of which no cell was run: the published numbers alone, with the reason said once."""

from __future__ import annotations

from dataclasses import replace

from retort.tables.collect import NOT_RUN
from retort.tables.layout import Entry, Sheet
from retort.tables.lines import INCOMPLETE, PLANNED
from retort.tables.tidy import Line

QUOTED = "quoted ("
STANDS = "the numbers are the published ones."
# prefix of a cell's status -> what its table says; the first entry that any cell matches is used
STATES = {
    NOT_RUN: "Not run at this scale{why}: " + STANDS,
    PLANNED: "Not run, for no student stands for these rows yet: " + STANDS,
    QUOTED: "Quoted from other work and never run: " + STANDS,
}
OF_THE_SHAPE = ("layers", "units")  # units of values that an architecture alone determines, run or not


def _kind(status: str) -> str:
    return next((kind for kind in STATES if status.startswith(kind)), status)


def _state(lines: list[Line]) -> str:
    """Return why no cell of a table was run; an empty string if a cell was run or should have been."""
    statuses = {line.status for line in lines if line.unit not in OF_THE_SHAPE}
    kinds = {_kind(status) for status in statuses}
    said = next((text for kind, text in STATES.items() if kind in kinds), "")
    if not said or kinds - {*STATES, INCOMPLETE}:
        return ""
    reasons = sorted({status.removeprefix(f"{NOT_RUN}: ") for status in statuses if status.startswith(f"{NOT_RUN}: ")})
    return said.format(why=f" ({'; '.join(reasons)})" if reasons else "")


def once(sheet: Sheet, lines: list[Line]) -> Sheet:
    """Return the sheet unchanged if a cell was run; else one with the published numbers and one line that says why."""
    state = _state(lines)
    if not state:
        return sheet
    quoted = [text for _, text in sheet.notes if text.startswith(QUOTED)]
    kept = {text: chr(97 + at) for at, text in enumerate(quoted)}
    letters = {mark: kept.get(text, "") for mark, text in sheet.notes}

    def alone(entry: Entry) -> Entry:
        return Entry(entry.published or entry.text, mark=letters.get(entry.mark, "") if entry.published else "")

    grids = [
        replace(grid, rows=[replace(row, entries=[alone(entry) for entry in row.entries]) for row in grid.rows])
        for grid in sheet.grids
    ]
    return replace(sheet, grids=grids, notes=[(letter, text) for text, letter in kept.items()], remarks=[], state=state)
