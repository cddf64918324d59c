"""Turn scores and profiles into tidy lines: one per cell of a table or figure, with the published value beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from retort.specs.exhibit import Exhibit
from retort.specs.printed import CHANGE, OF_A_MODEL, PublishedCell
from retort.specs.rows import CellSpec
from retort.specs.timing import Timing
from retort.study.cells import held_back, submission_address
from retort.study.questions import runs
from retort.study.study import Study
from retort.tables.base import Inputs
from retort.tables.collect import not_run, score_cell, summary, without_value
from retort.tables.proof import Record
from retort.tables.tidy import INCOMPLETE, Line, Status

PLAIN = Timing()


Profile = Callable[[Record, Record, Timing], list[float]]


def times(profile: Record, measurement: Timing) -> list[float]:
    """Return the times of one measurement in ms, one value per run; empty if the profile lacks the measurement."""
    if measurement.device == "gpu" and not profile["device"].startswith("cpu"):
        measurement = replace(measurement, device="")  # a profile made on a GPU names no device for its times
    if measurement == Timing():
        return list(profile["latency_ms"])
    return list(profile.get("further", {}).get(measurement.name, []))


def _speed_up(own: Record, first: Record, measurement: Timing) -> list[float]:
    both = [times(first, measurement), times(own, measurement)]
    return [statistics.mean(both[0]) / statistics.mean(both[1])] if all(both) else []


# metric -> its values from (the model's profile, the profile of the table's first row, the measurement shown)
MEASURED: dict[str, Profile] = {
    "parameters": lambda own, *_: [own["parameters"] / 1e6],
    "without_embeddings": lambda own, *_: [own["without_embeddings"] / 1e6],
    "latency": lambda own, _, measurement: times(own, measurement),
    "speed-up": _speed_up,
}


def published_value(cell: PublishedCell | None) -> dict[str, Any]:
    """Return the published fields of a line: None for a cell that holds no number."""
    number = cell.number if cell else None
    return {"published": number.value if number else None, "published_std": number.std if number else None}


def _unit(cell: CellSpec) -> str:
    return OF_A_MODEL.get(cell.metric, "%" if cell.metric == CHANGE else "x100")


def mean_of(cells: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of some cells; without a value if a cell has none: an average of the others would mislead."""
    cells = list(cells)
    if not cells or any(cell["mean"] is None for cell in cells):
        return without_value(Status.MISSING, INCOMPLETE)
    mean = statistics.mean(cell["mean"] for cell in cells)
    note = "the mean of cells measured on samples" if any(cell.get("note") for cell in cells) else ""
    return {"mean": mean, "std": None, "n": min(cell["n"] for cell in cells), "status": Status.OK, "note": note}


def _of_the_model(metric: str, own: Record | None, first: Record | None, measurement: Timing = PLAIN) -> dict[str, Any]:
    """Return a cell read from a profile: the model's size, its latency, or its speed-up over the first row's model."""
    values = MEASURED[metric](own, first or own, measurement) if own else []
    if not values:
        return without_value(Status.MISSING, f"its profile was timed on {own['device']}" if own else "no profile")
    return {**summary(values), "status": Status.OK}


def _of_the_shape(study: Study, cell: CellSpec) -> dict[str, Any]:
    """Return a cell read from a model's architecture alone, such as its number of layers or its width."""
    model = study.students[cell.student] if cell.student in study.students else study.model_of(cell.student)
    return {**summary([float(getattr(model.architecture, cell.metric))]), "status": Status.OK}


def _on_a_server(study: Study, cell: CellSpec, tasks: list[str]) -> dict[str, Any]:
    """Return the cell of a score that only a test server can compute; its reason names the file to submit."""
    if not any(runs(study, cell.student, task) for task in tasks):
        return not_run(study, cell.student)
    zipped = submission_address(study, cell.student)
    reason = f"it alone has the labels of the test set; {zipped} is what it is sent"
    return without_value(Status.SERVER, reason)


def _ours(inputs: Inputs, cell: CellSpec, first: str) -> dict[str, Any]:
    """Return mean, standard deviation, n and status of one cell that does not depend on other cells.

    Args:
        inputs: the study, and the scores and profiles that have been run.
        cell: the cell.
        first: the student or teacher that speed-ups are relative to.
    """
    study, profiles = inputs.study, inputs.profiles
    if not cell.student and cell.quoted:
        return without_value(Status.QUOTED, f"({cell.quoted}), never run")
    if not cell.student:
        return without_value(Status.PLANNED)
    if cell.of_shape:
        return _of_the_shape(study, cell)
    if cell.profiled:
        if cell.student in study.not_run:
            return not_run(study, cell.student)
        measurement = cell.measurement if cell.is_timed else PLAIN
        return _of_the_model(cell.metric, profiles.get(cell.student), profiles.get(first), measurement)
    if tasks := held_back(study, cell):
        return _on_a_server(study, cell, tasks)
    cells = [score_cell(study, inputs.scores, cell.student, task, metric) for task, metric in cell.scored]
    return cells[0] if len(cells) == 1 else mean_of(cells)


def _from_the_row(cell: CellSpec, row: dict[str, Line]) -> dict[str, Any]:
    """Return mean, n and status of a cell computed from other cells of its row: a mean, or a change in %."""
    read = cell.spec.mean_of or [cell.spec.change_from, cell.before]
    if waiting := [row[name].reason for name in read if row[name].status is Status.SERVER]:
        return without_value(Status.SERVER, waiting[0])
    if cell.spec.mean_of:
        return mean_of({"mean": row[name].mean, "n": row[name].n, "note": row[name].note} for name in read)
    base, own = row[cell.spec.change_from], row[cell.before]
    if not base.mean or own.mean is None:
        return without_value(Status.MISSING, INCOMPLETE)
    return {"mean": 100 * (own.mean / base.mean - 1), "std": None, "n": own.n, "status": Status.OK}


def _beside(line: Line, quoted: str) -> Line:
    """Return our line with a note that the published number beside it is quoted from other work."""
    if line.status is not Status.OK:
        return replace(line, status=Status.QUOTED, reason=f"({quoted}); ours: {line.state}")
    note = f"published: quoted ({quoted}); ours: the public checkpoint, fine-tuned as the paper's students"
    return replace(line, note="; ".join(filter(None, (note, line.note))))


def cell_lines(inputs: Inputs, exhibit: Exhibit) -> list[Line]:
    """Return a line per cell of a table or figure, row by row."""
    study, first, specs = inputs.study, exhibit.first, exhibit.cells()
    published = {(cell.row, cell.column): cell for cell in exhibit.published_cells()}
    lines = {
        (cell.row, cell.column): Line(
            inputs.paper, inputs.name, cell.row, cell.column, cell.student, cell.task, cell.metric, _unit(cell),
            **published_value(published.get((cell.row, cell.column))),
            **_ours(inputs, cell, first), scale=study.config.scale,
        )
        for cell in specs
    }  # fmt: skip
    for cell in specs:
        key = (cell.row, cell.column)
        if cell.student and (cell.spec.mean_of or cell.spec.change_from):
            row = {column: line for (name, column), line in lines.items() if name == cell.row}
            lines[key] = replace(lines[key], **_from_the_row(cell, row))
    for cell in (cell for cell in specs if cell.student and cell.quoted):
        lines[cell.row, cell.column] = _beside(lines[cell.row, cell.column], cell.quoted)
    return list(lines.values())
