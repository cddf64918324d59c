"""The block of printed cells in the file of a table: a header over the columns, then a line a row.

The fields of a line are split by '|'. For a table with the stub `[Objectives]` and the columns `QNLI` and `SST-2`:

    Objectives   | QNLI      | SST-2
    Vanilla KD   | 66.5±1.49 | 84.7±0.16
    Att-MSE      | 84.3±0.18 | 89.2±0.40

If a column has a heading above its label, a first line holds the headings, each once over the columns that it spans,
and a second line the labels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

NO_STUB = "-"  # stands over the names of the rows if a table prints no heading there


def header(stub: Sequence[str], columns: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the fields of each header line.

    Args:
        stub: the headings over the names of the rows.
        columns: (heading, label) of each column; the heading is empty if none stands above the label.
    """
    columns = list(columns)
    corner = " / ".join(stub) or NO_STUB
    labels = [label for _, label in columns]
    spans = [heading for heading, _ in itertools.groupby(heading for heading, _ in columns)]
    return [[corner, *spans], ["", *labels]] if any(spans) else [[corner, *labels]]


def _check_names(what: str, key: str, fields: list[str], expected: list[str]) -> None:
    """Raise an error for the first field that differs from the expected one."""
    for number, (field, name) in enumerate(itertools.zip_longest(fields, expected), start=1):
        if field is None:
            raise ValueError(f"printed: {what} {number} is missing; '{key}' says '{name}'")
        if name is None:
            raise ValueError(f"printed: {what} {number}, '{field}', is one too many; '{key}' has {len(expected)}")
        if field != name:
            raise ValueError(f"printed: {what} {number} is '{field}'; '{key}' says '{name}'")


def read_block(block: str, heads: list[list[str]], rows: list[str]) -> list[list[str]]:
    """Return the cells of each row; if the block is empty, an empty list for each row.

    Args:
        block: the text of the block.
        heads: the fields of each header line that the block must have.
        rows: the names that its rows must have, in order.

    Raises:
        ValueError: a header, a row or a cell is missing, is too many, or has another name; the message says which.
    """
    lines = [[field.strip() for field in line.split("|")] for line in block.splitlines() if line.strip()]
    if not lines:
        return [[] for _ in rows]
    if lines[0][0] != heads[0][0]:
        raise ValueError(f"printed: the header begins with '{lines[0][0]}'; by 'stub' it is '{heads[0][0]}'")
    for number, head in enumerate(heads):
        what = "column" if head is heads[-1] else "heading"
        _check_names(what, "columns", lines[number][1:] if number < len(lines) else [], head[1:])
    below = lines[len(heads) :]
    _check_names("row", "rows", [line[0] for line in below], rows)
    for name, *cells in below:
        if len(cells) != len(heads[-1]) - 1:
            raise ValueError(f"printed: row '{name}' has {len(cells)} cells for {len(heads[-1]) - 1} columns")
    return [cells for _, *cells in below]
