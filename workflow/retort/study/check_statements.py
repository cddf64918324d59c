"""Check what claims and audits say: the tables, rows, columns and comparisons that they name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from retort.specs import catalogue
from retort.specs.load import Problems
from retort.specs.printed import PublishedCell, row_names
from retort.specs.statement import Cells, Statement
from retort.specs.table import LayersFigure, ParetoFigure, ProfilesTable, ScoresTable
from retort.study.study import Study

Known = Callable[[Path, str, str, str, Any], bool]
# parameter of a comparison -> the key of a statement that gives its value
NEEDED = {"said": "number", "than": "than", "against": "than", "both": "other", "allowed": "within"}


def _columns(listed: Iterable[Cells]) -> set[str]:
    return {column for part in listed for column in part.columns}


def _shapes(statement: Statement, needs: Iterable[str]) -> list[str]:
    """Return what is wrong with a statement, given the parameters that its comparison needs."""
    lines = [
        f"comparison '{statement.compare}' needs '{key}'"
        for key in (NEEDED[name] for name in needs)
        if getattr(statement, key) in ("", [], None)
    ]
    if "against" in needs and statement.than:
        alone = sorted(_columns(statement.cells) ^ _columns(statement.than))
        lines += [f"column '{alone[0]}' stands on one side of the comparison only"] if alone else []
    elif "said" in needs or "than" in needs:
        counts = [sum(len(part.places) for part in side) for side in (statement.cells, statement.than)]
        lines += [f"comparison '{statement.compare}' takes one cell a side"] if max(counts) > 1 else []
    return lines


def shown(exhibit: object) -> dict[str, list[str]]:
    """Return the rows of a table or figure by name, each with the names of its columns.

    The result is empty for a table or figure that shows neither scores nor sizes.
    """
    if isinstance(exhibit, (ScoresTable, ProfilesTable)):
        return {row: [column.name for column in exhibit.columns] for row in row_names(exhibit.rows)}
    if isinstance(exhibit, LayersFigure):
        layers = [f"layer {layer}" for layer in sorted({**exhibit.points, **exhibit.planned})]
        return {row: [exhibit.metric] for row in (*layers, *(drawn.label for drawn in exhibit.references))}
    if isinstance(exhibit, ParetoFigure):
        return {drawn.label: [exhibit.metric] for drawn in exhibit.points}
    return {}


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
        ("claims.yaml", study.claims, _check_shown),
        ("audit.yaml", study.statements, _check_printed),
    ):
        for slug, statements in papers.items():
            path = study.folder / "papers" / slug / file
            tables = {name: exhibit for (paper, name), exhibit in study.exhibits.items() if paper == slug}
            for name, statement in statements.items():
                if statement.other and check is _check_shown:
                    problems.add(path, f"{name}: 'other' compares text with text, which audit.yaml is for")
                before = len(problems.lines)
                for cells in (*statement.cells, *statement.than):
                    if known(path, name, "table", cells.table, tables):
                        check(cells, tables[cells.table], functools.partial(known, path, name))
                is_known = known(path, f"{name}.compare", "comparison", statement.compare, comparisons)
                if is_known and len(problems.lines) == before:  # a wrong name would be reported twice
                    for line in _shapes(statement, comparisons[statement.compare].options):
                        problems.add(path, f"{name}: {line}")


def _check_printed(cells: Cells, table: object, known: Callable[[str, str, Any], bool]) -> None:
    """Check that the paper prints a number in each of the cells."""
    printed: list[PublishedCell] = getattr(table, "printed_cells", list)()
    for row in cells.rows:
        if known("row", row, {cell.row for cell in printed}):
            names = {cell.column for cell in printed if cell.row == row and cell.number}
            for column in cells.columns:
                known("number in column", column, names)


def _check_shown(cells: Cells, exhibit: object, known: Callable[[str, str, Any], bool]) -> None:
    """Check that the table or figure has the rows and columns of the cells."""
    rows = shown(exhibit)
    columns = dict.fromkeys(column for listed in rows.values() for column in listed)
    for row in cells.rows:
        known(f"row of {cells.table}", row, rows)
    for column in cells.columns if rows else []:
        known(f"column of {cells.table}", column, columns)
