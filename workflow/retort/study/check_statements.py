"""Check what claims and audits say: the tables, rows, columns and comparisons that they name."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from retort.specs import catalogue
from retort.specs.exhibit import Exhibit
from retort.specs.loading import Problems
from retort.specs.paper import Cells, Statement
from retort.study.study import Study

Known = Callable[[Path, str, str, str, Any], bool]
# parameter of a comparison -> the key of a statement that gives its value
NEEDED = {
    "stated": "number", "than": "than", "against": "than", "counterparts": "than", "partners": "than", "both": "other",
    "allowed": "within",
}  # fmt: skip


COUNTERPARTS = "takes for each of the 'cells' one of 'than' in its column"


def _columns(groups: Iterable[Cells]) -> set[str]:
    return {column for group in groups for column in group.columns}


def _have_counterparts(statement: Statement) -> bool:
    """Return whether, in each column, the cells are one or as many as those of `than`."""
    sides = [
        Counter(column for group in side for _, _, column in group.keys) for side in (statement.cells, statement.than)
    ]
    return sides[0].keys() == sides[1].keys() and all(
        count in (1, sides[1][column]) for column, count in sides[0].items()
    )


def _wrong_shape(statement: Statement, needs: Iterable[str]) -> list[str]:
    """Return what is wrong with a statement: values that its comparison needs, or the number of cells a side."""
    lines = [
        f"comparison '{statement.compare}' needs '{key}'"
        for key in (NEEDED[name] for name in needs)
        if getattr(statement, key) in ("", [], None)
    ]
    counts = [sum(len(group.keys) for group in side) for side in (statement.cells, statement.than)]
    if "counterparts" in needs and statement.than:
        lines += [] if _have_counterparts(statement) else [f"comparison '{statement.compare}' {COUNTERPARTS}"]
    elif "partners" in needs:
        lines += [f"comparison '{statement.compare}' takes as many 'cells' as 'than'"] if counts[0] != counts[1] else []
    elif "against" in needs and statement.than:
        alone = sorted(_columns(statement.cells) ^ _columns(statement.than))
        lines += [f"column '{alone[0]}' stands on one side of the comparison only"] if alone else []
    elif "stated" in needs or "than" in needs:
        lines += [f"comparison '{statement.compare}' takes one cell a side"] if max(counts) > 1 else []
    return lines


def _self_comparison(statement: Statement) -> list[str]:
    """Return a line if a column has one and the same cell, and no other, on both sides of a claim.

    Larger groups may share cells: 'all rows are near each other', or 'one row is not below any row'.
    """
    sides = [[key for group in side for key in group.keys] for side in (statement.cells, statement.than)]
    for table, row, column in sides[0]:
        if all([key for key in side if key[::2] == (table, column)] == [(table, row, column)] for side in sides):
            return [f"row '{row}', column '{column}' of {table} is compared with itself"]
    return []


def check_statements(study: Study, problems: Problems, known: Known) -> None:
    """Add a problem for each unknown name in a statement, and for each value that its comparison lacks.

    Args:
        study: the study.
        problems: the list to which problems are added.
        known: takes (file, key, type of entry, name, known names), and returns whether the name is one of them; if not,
            it adds a problem.
    """
    comparisons = catalogue.comparisons()
    for file, papers, check in (
        ("claims.yaml", study.claims, _check_cells),
        ("audit.yaml", study.statements, _check_printed),
    ):
        for slug, statements in papers.items():
            path = study.folder / "papers" / slug / file
            tables = {name: exhibit for (paper, name), exhibit in study.exhibits.items() if paper == slug}
            for name, statement in statements.items():
                if statement.other and check is _check_cells:
                    problems.add(path, f"{name}: 'other' compares text with text, which audit.yaml is for")
                before = len(problems.lines)
                for cells in (*statement.cells, *statement.than):
                    if known(path, name, "table", cells.table, tables):
                        check(cells, tables[cells.table], functools.partial(known, path, name))
                if statement.undecided and check is _check_printed:
                    problems.add(path, f"{name}: 'undecided' is for claims; the audit says what is wrong in 'but'")
                if statement.but and check is _check_cells:
                    problems.add(path, f"{name}: 'but' says what is wrong with a text, which audit.yaml is for")
                if not statement.compare:
                    continue
                is_known = known(path, f"{name}.compare", "comparison", statement.compare, comparisons)
                if is_known and len(problems.lines) == before:  # a wrong name would be reported twice
                    wrong = _wrong_shape(statement, comparisons[statement.compare].options)
                    for line in wrong + (_self_comparison(statement) if check is _check_cells else []):
                        problems.add(path, f"{name}: {line}")


def _check_printed(cells: Cells, exhibit: Exhibit, known: Callable[[str, str, Any], bool]) -> None:
    """Check that the paper prints a number in each of the cells."""
    printed = exhibit.printed_cells()
    for row in cells.rows:
        if known("row", row, {cell.row for cell in printed}):
            names = {cell.column for cell in printed if cell.row == row and cell.number}
            for column in cells.columns:
                known("number in column", column, names)


def _check_cells(cells: Cells, exhibit: Exhibit, known: Callable[[str, str, Any], bool]) -> None:
    """Check that the table or figure has the rows and columns of the cells."""
    rows = exhibit.rows_and_columns()
    columns = dict.fromkeys(column for groups in rows.values() for column in groups)
    for row in cells.rows:
        known(f"row of {cells.table}", row, rows)
    for column in cells.columns if rows else []:
        known(f"column of {cells.table}", column, columns)
