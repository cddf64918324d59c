"""From scores and profiles to tidy lines: one for each printed cell, with what was published beside what came out."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from retort.specs.book import Book
from retort.specs.expand import profiled, scored
from retort.specs.printed import CHANGE, OF_A_MODEL, PublishedCell, row_names
from retort.specs.rows import Place
from retort.specs.table import PROFILE_COLUMNS, ScoresTable
from retort.tables.collect import Record, Scores, score_cell, summary
from retort.tables.tidy import OK, Line

AVERAGE = "Average"
PLANNED = "not run: this row has no student yet"
INCOMPLETE = "missing (the row is incomplete)"
Cells = dict[tuple[str, str], PublishedCell]


Profile = Callable[[Record, Record], list[float]]
# what a profile tells of a model, given that of the first row
MEASURED: dict[str, Profile] = {
    "parameters": lambda own, _: [own["parameters"] / 1e6],
    "without_embeddings": lambda own, _: [own["without_embeddings"] / 1e6],
    "latency": lambda own, _: list(own["latency_ms"]),
    "speed-up": lambda own, first: [statistics.mean(first["latency_ms"]) / statistics.mean(own["latency_ms"])],
}


def _printed(cell: PublishedCell | None) -> dict[str, Any]:
    number = cell.number if cell else None
    return {"published": number.value if number else None, "published_std": number.std if number else None}


def _published(exhibit: Any) -> Cells:
    return {(cell.row, cell.column): cell for cell in exhibit.published_cells()}


def _unit(place: Place) -> str:
    return OF_A_MODEL.get(place.metric, "%" if place.metric == CHANGE else "x100")


def _mean(cells: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The mean of some cells, where each has one; an average over incomplete rows is not printed."""
    cells = list(cells)
    if not cells or any(cell["mean"] is None for cell in cells):
        return {**summary([]), "status": INCOMPLETE}
    mean = statistics.mean(cell["mean"] for cell in cells)
    note = "the mean of cells measured on samples" if any(cell.get("note") for cell in cells) else ""
    return {"mean": mean, "std": None, "n": min(cell["n"] for cell in cells), "status": OK, "note": note}


def _of_the_model(metric: str, own: Record | None, first: Record | None) -> dict[str, Any]:
    """What a profile tells of a model: its size, or its speed against the first row's."""
    if metric not in MEASURED or not own or not first:
        return {**summary([]), "status": "missing (no profile)"}
    return {**summary(MEASURED[metric](own, first)), "status": OK}


def _ours(book: Book, place: Place, scores: Scores, profiles: dict[str, Record], first: str) -> dict[str, Any]:
    """Mean, std, n and status of one cell that needs no other cell."""
    if not place.student:
        return {**summary([]), "status": f"quoted ({place.quoted}), never run" if place.quoted else PLANNED}
    if place.profiled:
        return _of_the_model(place.metric, profiles.get(place.student), profiles.get(first))
    cells = [score_cell(book, scores, place.student, task, metric) for task, metric in place.scored]
    return cells[0] if len(cells) == 1 else _mean(cells)


def _from_the_row(place: Place, row: dict[str, Line]) -> dict[str, Any]:
    """Mean, n and status of a cell that is computed from others of its row."""
    if place.spec.mean_of:
        return _mean({"mean": row[name].mean, "n": row[name].n, "note": row[name].note} for name in place.spec.mean_of)
    base, own = row[place.spec.change_from], row[place.before]
    if not base.mean or own.mean is None:
        return {**summary([]), "status": INCOMPLETE}
    return {"mean": 100 * (own.mean / base.mean - 1), "std": None, "n": own.n, "status": OK}


def table_lines(book: Book, paper: str, name: str, scores: Scores, profiles: dict[str, Record]) -> list[Line]:
    """A line per (row, column) of a table of models, and one per row where a study of ours asks for an average."""
    exhibit: Any = book.exhibits[paper, name]
    cells, places = _published(exhibit), exhibit.places()
    first = next((place.student for place in places if place.student), "")
    lines = {
        (place.row, place.column): Line(
            paper, name, place.row, place.column, place.student, place.task, place.metric, _unit(place),
            **_printed(cells.get((place.row, place.column))),
            **_ours(book, place, scores, profiles, first), scale=book.config.scale,
        )
        for place in places
    }  # fmt: skip
    for place in places:
        if place.student and (place.spec.mean_of or place.spec.change_from):
            row = {column: line for (label, column), line in lines.items() if label == place.row}
            key = (place.row, place.column)
            lines[key] = replace(lines[key], **_from_the_row(place, row))
    return [*lines.values(), *_averages(exhibit, list(lines.values()))]


def figure_lines(book: Book, paper: str, name: str, scores: Scores) -> list[Line]:
    """A line per point of a figure; a single one where its students are planned."""
    if getattr(book.exhibits[paper, name], "planned", None):
        return [Line(paper, name, "all points", "", "", "", "", "x100", status=PLANNED, scale=book.config.scale)]
    return [
        Line(
            paper, name, row, column, student, task, metric, "x100",
            **score_cell(book, scores, student, task, metric), scale=book.config.scale,
        )
        for row, column, student, task, metric in scored(book.exhibits[paper, name])
    ]  # fmt: skip


def score_lines(book: Book, paper: str, name: str, scores: Scores) -> list[Line]:
    """The lines of a table or figure that reads scores alone."""
    if isinstance(book.exhibits[paper, name], ScoresTable):
        return table_lines(book, paper, name, scores, {})
    return figure_lines(book, paper, name, scores)


def _averages(table: Any, lines: list[Line]) -> list[Line]:
    counted = [column.name for column in table.columns if column.average]
    if not counted:
        return []
    averages = []
    for name, row in zip(row_names(table.rows), table.rows, strict=True):
        cells = [line for line in lines if line.row == name and line.column in counted]
        theirs = [cell.published for cell in cells if cell.published is not None]
        averages.append(
            Line(
                cells[0].paper,
                cells[0].table,
                name,
                AVERAGE,
                row.student,
                "",
                "average",
                "x100",
                published=statistics.mean(theirs) if len(theirs) == len(counted) else None,
                **_mean({"mean": cell.mean, "n": cell.n, "note": cell.note} for cell in cells),
                scale=cells[0].scale,
            )
        )
    return averages


def profile_lines(book: Book, paper: str, name: str, profiles: dict[str, Record]) -> list[Line]:
    """A line per (student, measure) of the profiles that a figure draws."""
    labels = {point.student: point.label for point in getattr(book.exhibits[paper, name], "points", [])}
    students = profiled(book.exhibits[paper, name])
    return [
        Line(
            paper, name, labels[student], column.label, student, "", column.metric, OF_A_MODEL[column.metric],
            **_of_the_model(column.metric, profiles.get(student), profiles.get(students[0])), scale=book.config.scale,
        )
        for student in students
        for column in PROFILE_COLUMNS
    ]  # fmt: skip
