"""How wide a table is on paper, which does not scroll: wide tables are turned, and all are set as small as need be."""

from __future__ import annotations

from collections.abc import Iterable

from retort.tables.layout import Entry, Grid, Sheet

PADDING = 1.2  # of a cell, in characters
SMALL = 0.8  # size of the characters below our value
LABELS = 20  # characters of the column of labels, which breaks a longer label into lines
UPRIGHT = 112  # characters beside each other on an upright page, in a size that is read with ease


def unbroken(text: str) -> str:
    """Return a text whose deviation stays on the line of its mean."""
    return text.replace(" ± ", "\u00a0±\u00a0")


def characters(grid: Grid) -> float:
    """Return the width of a grid in characters: of each column that of its longest word, and the padding."""
    labels = max(LABELS, _longest(row.label for row in grid.rows))
    columns = zip(*(row.entries for row in grid.rows), strict=True)
    widths = (max(_longest([head]), *map(_of_cell, column)) for head, column in zip(grid.head, columns, strict=True))
    return sum(width + PADDING for width in (labels, *widths))


def is_wide(sheet: Sheet) -> bool:
    """Return whether a grid of a sheet is too wide for an upright page."""
    return any(characters(grid) > UPRIGHT for grid in sheet.grids)


def _of_cell(entry: Entry) -> float:
    """Return the characters of a cell's longest word; what stands below our value is in smaller characters."""
    below = (entry.dev, entry.recorded, entry.published, entry.difference, entry.judgement)
    return max(_longest([entry.text + entry.mark]), SMALL * _longest(below))


def _longest(texts: Iterable[str]) -> int:
    """Return the characters of the longest word of some texts."""
    return max((len(word) for text in texts for word in unbroken(text).split(" ")), default=0)
