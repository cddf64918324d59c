"""The width of a table on paper, which cannot scroll: wide tables are printed in landscape, in smaller letters."""

from __future__ import annotations

from collections.abc import Iterable

from retort.tables.layout import Entry, Grid, Sheet

PADDING = 1.2  # of a cell, in characters
SMALL = 0.8  # size of the characters below our value, relative to it
LABELS = 20  # characters of the column of labels; longer labels are broken into lines
UPRIGHT = 112  # characters in a line of a portrait page, in a size that is easy to read


def unbroken(text: str) -> str:
    """Replace the spaces around '±' by non-breaking ones, so that mean and deviation stay on one line."""
    return text.replace(" ± ", "\u00a0±\u00a0")


def characters(grid: Grid) -> float:
    """Return the width of a grid in characters: the longest word of each column, plus padding."""
    labels = max(LABELS, _longest_word(row.label for row in grid.rows))
    columns = zip(*(row.entries for row in grid.rows), strict=True)
    widths = (
        max(_longest_word([head]), *map(_cell_width, column)) for head, column in zip(grid.head, columns, strict=True)
    )
    return sum(width + PADDING for width in (labels, *widths))


def is_wide(sheet: Sheet) -> bool:
    """Return whether a grid of a sheet is too wide for a portrait page."""
    return any(characters(grid) > UPRIGHT for grid in sheet.grids)


def _cell_width(entry: Entry) -> float:
    """Return the length of a cell's longest word; letters below our value are smaller, and count less."""
    below = (entry.dev, entry.recorded, entry.published, entry.difference, entry.judgement)
    return max(_longest_word([entry.text + entry.mark]), SMALL * _longest_word(below))


def _longest_word(texts: Iterable[str]) -> int:
    """Return the length of the longest word of some texts."""
    return max((len(word) for text in texts for word in unbroken(text).split(" ")), default=0)
