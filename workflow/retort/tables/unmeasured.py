"""Print a table of which no cell was run: the published numbers alone, with the reason said once."""

from __future__ import annotations

from dataclasses import replace

from retort.tables.layout import Entry, Sheet
from retort.tables.lines import INCOMPLETE
from retort.tables.tidy import Line, Status

STANDS = "the numbers are the published ones."
# status of a cell -> what its table says; the first entry that any cell has is used
STATES = {
    Status.NOT_RUN: "Not run at this scale{why}: " + STANDS,
    Status.PLANNED: "Not run, for no student stands for these rows yet: " + STANDS,
    Status.QUOTED: "Quoted from other work and never run: " + STANDS,
}
OF_THE_SHAPE = ("layers", "units")  # units of values that an architecture alone determines, run or not


def _state(lines: list[Line]) -> str:
    """Return why no cell of a table was run; an empty string if a cell was run or should have been."""
    counted = [line for line in lines if line.unit not in OF_THE_SHAPE]
    whole = [line for line in counted if (line.status, line.reason) != (Status.MISSING, INCOMPLETE)]
    statuses = {line.status for line in whole}
    text = next((text for status, text in STATES.items() if status in statuses), "")
    if not text or statuses - set(STATES):
        return ""
    reasons = sorted({line.reason for line in counted if line.status is Status.NOT_RUN and line.reason})
    return text.format(why=f" ({'; '.join(reasons)})" if reasons else "")


def once(sheet: Sheet, lines: list[Line]) -> Sheet:
    """Return the sheet unchanged if a cell was run; else one with the published numbers and one line that says why."""
    state = _state(lines)
    if not state:
        return sheet
    sentences = {line.state for line in lines if line.status is Status.QUOTED}
    quoted = [text for _, text in sheet.notes if text in sentences]
    kept = {text: chr(97 + at) for at, text in enumerate(quoted)}
    letters = {mark: kept.get(text, "") for mark, text in sheet.notes}

    def alone(entry: Entry) -> Entry:
        return Entry(entry.published or entry.text, mark=letters.get(entry.mark, "") if entry.published else "")

    grids = [
        replace(grid, rows=[replace(row, entries=[alone(entry) for entry in row.entries]) for row in grid.rows])
        for grid in sheet.grids
    ]
    return replace(sheet, grids=grids, notes=[(letter, text) for text, letter in kept.items()], remarks=[], state=state)
