"""The block of printed cells of a table, written from its rows and columns."""

from __future__ import annotations

import itertools
from typing import Any

from retort.specs.printed import Heading, TextRow, header, row_names


def _aligned(fields: list[str], widths: list[int]) -> str:
    return " | ".join(f"{field:<{width}}" for field, width in zip(fields, widths, strict=True)).rstrip()


def write_block(stub: list[str], columns: list[Heading], rows: list[TextRow], cells: list[list[str]]) -> str:
    """Return the block of printed cells of a table with its columns aligned; a heading spans its columns."""
    heads = header(stub, [(column.heading, column.label) for column in columns])
    lines = [heads[-1], *([name, *texts] for name, texts in zip(row_names(rows), cells, strict=True))]
    widths = [max(map(len, fields)) for fields in zip(*lines, strict=True)]
    if len(heads) == 1:
        return "".join(f"{_aligned(line, widths)}\n" for line in lines)
    groups = itertools.groupby(range(len(columns)), key=lambda number: columns[number].heading)
    spans = [slice(0, 1), *(slice(under[0] + 1, under[-1] + 2) for under in (list(group) for _, group in groups))]
    over = []
    for heading, span in zip(heads[0], spans, strict=True):
        width = len(" | ".join("x" * width for width in widths[span]))
        widths[span.stop - 1] += max(0, len(heading) - width)
        over.append(max(width, len(heading)))
    return f"{_aligned(heads[0], over)}\n" + "".join(f"{_aligned(line, widths)}\n" for line in lines)


def with_block(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table whose rows each give their cells, split by '|', with a block of these cells instead."""
    rows = [TextRow(label=row["label"], group=row.get("group", "")) for row in table["rows"]]
    heads = header(table.get("stub", []), [(column.get("heading", ""), column["label"]) for column in table["columns"]])
    lines = [" | ".join(fields) for fields in heads]
    lines += [f"{name} | {row['cells']}" for name, row in zip(row_names(rows), table["rows"], strict=True)]
    kept = [{key: value for key, value in row.items() if key != "cells"} for row in table["rows"]]
    return {**table, "rows": kept, "printed": "\n".join(lines)}
