"""The runs behind the cells of a table: a click on a number of a page shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from retort.formatters import DASH, number
from retort.results.collect import Scores, value_of
from retort.results.score_files import Record
from retort.results.tidy import AVERAGE, Line
from retort.specs.exhibit import Exhibit
from retort.study.cells import score_address
from retort.tables.layout import CellOrigin, CellRun, Entry, Sheet

# where the log of a student's or a teacher's run may lie, under results/logs
LOGS = ("distill_on_task/{}.{}.{}.log", "finetune_student/{}.{}.{}.log", "finetune_teacher/{}.{}.log")


def log_of(student: str, task: str, seed: int) -> str:
    """Return the path of the log of the run behind a score; empty if there is none."""
    paths = (Path("results/logs", pattern.format(student, task, seed)) for pattern in LOGS)
    return next((str(path) for path in paths if path.is_file()), "")


def made_at(record: Record) -> str:
    """Return when a result was made, as a date and a time in UTC."""
    return str(record.get("at", ""))[:16].replace("T", " ")


def run_of(record: Record, label: str, value: str, path: str, log: str = "") -> CellRun:
    """Return the run that wrote a score or profile."""
    took = f"{float(record.get('seconds', 0)):.0f} s"
    return CellRun(label, value, took, str(record.get("device", DASH)), made_at(record), path, log)


def _scored(exhibit: Exhibit, line: Line) -> list[tuple[str, str]]:
    """Return the (task, metric) pairs behind a line; for a mean or a change in %, those of the cells behind it."""
    row = {cell.column: cell for cell in exhibit.cells() if cell.row == line.row}
    if line.column == AVERAGE:
        return [pair for cell in row.values() if cell.spec.average for pair in cell.scored]
    own = row.get(line.column)
    if own is None:
        return []
    read = own.spec.mean_of or [name for name in (own.spec.change_from, own.before) if own.spec.change_from]
    return own.scored or [pair for name in read if name in row for pair in row[name].scored]


def origins(exhibit: Exhibit, scores: Scores, profiles: Mapping[str, Record]) -> Callable[[Line], CellOrigin | None]:
    """Return a function that gives the origin of a line's value; it gives None if there is no run behind the value."""
    by_pair: dict[tuple[str, str], dict[int, Record]] = {}
    for (student, task, seed), record in sorted(scores.items()):
        by_pair.setdefault((student, task), {})[seed] = record

    def of_scores(line: Line) -> list[CellRun]:
        return [
            run_of(
                record, f"{task} {metric}, seed {seed}", _value(record, metric),
                score_address(line.student, task, seed), log_of(line.student, task, seed),
            )
            for task, metric in _scored(exhibit, line)
            for seed, record in by_pair.get((line.student, task), {}).items()
        ]  # fmt: skip

    def of_profile(line: Line) -> list[CellRun]:
        record, path = profiles.get(line.student), f"results/profiles/{line.student}.json"
        profiled = any(cell.profiled for cell in exhibit.cells() if (cell.row, cell.column) == (line.row, line.column))
        return [run_of(record, "profile", DASH, path)] if record and profiled else []

    def origin(line: Line) -> CellOrigin | None:
        profile, heading = of_profile(line), f"{line.row}, {line.column}"
        if profile:
            return CellOrigin(line.student, heading, "", profile)
        runs = of_scores(line)
        return CellOrigin(line.student, heading, f"{line.paper}-settings-{line.student}", runs) if runs else None

    return origin


def _value(record: Mapping[str, Any], metric: str) -> str:
    value = value_of(dict(record), metric) if metric in record["metrics"] else None
    return str(record["status"]) if value is None else number(value, 2)


def with_origins(laid_out: Sheet, origin: Callable[[Line], CellOrigin | None]) -> Sheet:
    """Add to each entry of a sheet the origin of its line."""

    def with_origin(entry: Entry) -> Entry:
        return replace(entry, origin=origin(entry.line)) if entry.line else entry

    grids = [
        replace(grid, rows=[replace(row, entries=[with_origin(entry) for entry in row.entries]) for row in grid.rows])
        for grid in laid_out.grids
    ]
    return replace(laid_out, grids=grids)
