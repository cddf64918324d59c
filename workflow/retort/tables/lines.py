"""Turn scores and profiles into tidy lines: one per printed cell, with the published value beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from retort.specs.printed import CHANGE, OF_A_MODEL, PublishedCell, row_names
from retort.specs.rows import Place
from retort.specs.table import PROFILE_COLUMNS, ScoresTable
from retort.specs.timing import Timing, timing
from retort.study.cells import held_back, profiled, scored, submission_address
from retort.study.questions import runs
from retort.study.study import Study
from retort.tables.collect import Record, Scores, not_run, score_cell, summary, without_value
from retort.tables.tidy import Line, Status

AVERAGE = "Average"
INCOMPLETE = "the row is incomplete"  # the reason of a cell that is computed from cells of which one is missing
PLAIN = Timing()
Cells = dict[tuple[str, str], PublishedCell]


Profile = Callable[[Record, Record, Timing], list[float]]


def times(profile: Record, of: Timing) -> list[float]:
    """Return the times of one measurement in ms, one value per run; empty if the profile lacks the measurement."""
    if of.device == "gpu":  # a profile made on a GPU stores its GPU times without a device name
        of = replace(of, device="") if not profile["device"].startswith("cpu") else of
    return list(profile["latency_ms"] if of == Timing() else profile.get("further", {}).get(of.name, []))


def _speed_up(own: Record, first: Record, of: Timing) -> list[float]:
    both = [times(first, of), times(own, of)]
    return [statistics.mean(both[0]) / statistics.mean(both[1])] if all(both) else []


# metric -> its values from (the model's profile, the profile of the table's first row, the measurement shown)
MEASURED: dict[str, Profile] = {
    "parameters": lambda own, *_: [own["parameters"] / 1e6],
    "without_embeddings": lambda own, *_: [own["without_embeddings"] / 1e6],
    "latency": lambda own, _, of: times(own, of),
    "speed-up": _speed_up,
}


def _printed(cell: PublishedCell | None) -> dict[str, Any]:
    number = cell.number if cell else None
    return {"published": number.value if number else None, "published_std": number.std if number else None}


def _published(exhibit: Any) -> Cells:
    return {(cell.row, cell.column): cell for cell in exhibit.published_cells()}


def _unit(place: Place) -> str:
    return OF_A_MODEL.get(place.metric, "%" if place.metric == CHANGE else "x100")


def _mean(cells: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of some cells; without a value if a cell has none, as an average of a part would mislead."""
    cells = list(cells)
    if not cells or any(cell["mean"] is None for cell in cells):
        return without_value(Status.MISSING, INCOMPLETE)
    mean = statistics.mean(cell["mean"] for cell in cells)
    note = "the mean of cells measured on samples" if any(cell.get("note") for cell in cells) else ""
    return {"mean": mean, "std": None, "n": min(cell["n"] for cell in cells), "status": Status.OK, "note": note}


def _of_the_model(metric: str, own: Record | None, first: Record | None, of: Timing = PLAIN) -> dict[str, Any]:
    """Return a cell read from a profile: the model's size, its latency, or its speed-up over the first row's model."""
    values = MEASURED[metric](own, first or own, of) if own else []
    if not values:
        return without_value(Status.MISSING, f"its profile was timed on {own['device']}" if own else "no profile")
    return {**summary(values), "status": Status.OK}


def _of_the_shape(study: Study, place: Place) -> dict[str, Any]:
    """Return a cell read from a model's architecture alone, such as its number of layers or its width."""
    of = study.students[place.student] if place.student in study.students else study.model_of(place.student)
    return {**summary([float(getattr(of.architecture, place.metric))]), "status": Status.OK}


def _on_a_server(study: Study, place: Place, held: list[str]) -> dict[str, Any]:
    """Return the cell of a score that only a test server can compute; its reason names the file to submit."""
    if not any(runs(study, place.student, task) for task in held):
        return not_run(study, place.student)
    zipped = submission_address(study, place.student)
    reason = f"it alone has the labels of the test set; {zipped} is what it is sent"
    return without_value(Status.SERVER, reason)


def _ours(study: Study, place: Place, scores: Scores, profiles: dict[str, Record], table: Any) -> dict[str, Any]:
    """Return mean, standard deviation, n and status of one cell that does not depend on other cells."""
    if not place.student and place.quoted:
        return without_value(Status.QUOTED, f"({place.quoted}), never run")
    if not place.student:
        return without_value(Status.PLANNED)
    if place.of_shape:
        return _of_the_shape(study, place)
    if place.profiled:
        if place.student in study.not_run:
            return not_run(study, place.student)
        of = timing(place.part, table.length) if place.is_timed else PLAIN
        return _of_the_model(place.metric, profiles.get(place.student), profiles.get(table.first), of)
    if held := held_back(study, place):
        return _on_a_server(study, place, held)
    cells = [score_cell(study, scores, place.student, task, metric) for task, metric in place.scored]
    return cells[0] if len(cells) == 1 else _mean(cells)


def _from_the_row(place: Place, row: dict[str, Line]) -> dict[str, Any]:
    """Return mean, n and status of a cell computed from other cells of its row: a mean, or a change in %."""
    read = place.spec.mean_of or [place.spec.change_from, place.before]
    if waiting := [row[name].reason for name in read if row[name].status is Status.SERVER]:
        return without_value(Status.SERVER, waiting[0])
    if place.spec.mean_of:
        return _mean({"mean": row[name].mean, "n": row[name].n, "note": row[name].note} for name in place.spec.mean_of)
    base, own = row[place.spec.change_from], row[place.before]
    if not base.mean or own.mean is None:
        return without_value(Status.MISSING, INCOMPLETE)
    return {"mean": 100 * (own.mean / base.mean - 1), "std": None, "n": own.n, "status": Status.OK}


def _beside(line: Line, quoted: str) -> Line:
    """Return our line with a note that the published number beside it is quoted from other work."""
    if line.status is not Status.OK:
        return replace(line, status=Status.QUOTED, reason=f"({quoted}); ours: {line.state}")
    said = f"published: quoted ({quoted}); ours: the public checkpoint, fine-tuned as the paper's students"
    return replace(line, note="; ".join(filter(None, (said, line.note))))


def table_lines(study: Study, paper: str, name: str, scores: Scores, profiles: dict[str, Record]) -> list[Line]:
    """Return a line per (row, column) of a table of models, and one per row if a study of ours asks for an average."""
    exhibit: Any = study.exhibits[paper, name]
    cells, places = _published(exhibit), exhibit.places()
    lines = {
        (place.row, place.column): Line(
            paper, name, place.row, place.column, place.student, place.task, place.metric, _unit(place),
            **_printed(cells.get((place.row, place.column))),
            **_ours(study, place, scores, profiles, exhibit), scale=study.config.scale,
        )
        for place in places
    }  # fmt: skip
    for place in places:
        if place.student and (place.spec.mean_of or place.spec.change_from):
            row = {column: line for (label, column), line in lines.items() if label == place.row}
            key = (place.row, place.column)
            lines[key] = replace(lines[key], **_from_the_row(place, row))
    for place in (place for place in places if place.student and place.quoted):
        lines[place.row, place.column] = _beside(lines[place.row, place.column], place.quoted)
    return [*lines.values(), *_averages(exhibit, list(lines.values()))]


def figure_lines(study: Study, paper: str, name: str, scores: Scores) -> list[Line]:
    """Return a line per point of a figure; a single line for all points if its students are only planned."""
    if getattr(study.exhibits[paper, name], "planned", None):
        planned = {"status": Status.PLANNED, "scale": study.config.scale}
        return [Line(paper, name, "all points", "", "", "", "", "x100", **planned)]  # type: ignore[arg-type]
    return [
        Line(
            paper, name, row, column, student, task, metric, "x100",
            **score_cell(study, scores, student, task, metric), scale=study.config.scale,
        )
        for row, column, student, task, metric in scored(study, study.exhibits[paper, name])
    ]  # fmt: skip


def score_lines(study: Study, paper: str, name: str, scores: Scores) -> list[Line]:
    """Return the lines of a table or figure that reads only scores, no profiles."""
    if isinstance(study.exhibits[paper, name], ScoresTable):
        return table_lines(study, paper, name, scores, {})
    return figure_lines(study, paper, name, scores)


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


def profile_lines(study: Study, paper: str, name: str, profiles: dict[str, Record]) -> list[Line]:
    """Return a line per (student, measure) of the profiles that a figure draws."""
    labels = {point.student: point.label for point in getattr(study.exhibits[paper, name], "points", [])}
    students = profiled(study, study.exhibits[paper, name])
    return [
        Line(
            paper, name, labels[student], column.label, student, "", column.metric, OF_A_MODEL[column.metric],
            **_of_the_model(column.metric, profiles.get(student), profiles.get(students[0])), scale=study.config.scale,
        )
        for student in students
        for column in PROFILE_COLUMNS
    ]  # fmt: skip
