"""From score and profile files to tidy lines; a file made with other settings is refused."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.specs import settings as resolve
from retort.specs.book import Book
from retort.specs.expand import profiled, runs, score_address, scored, seeds_of
from retort.specs.table import ProfilesTable, ScoresTable
from retort.tables.tidy import AGAIN, OK, Line

NOT_RUN = "not run at this scale"
AVERAGE = "Average"
Record = dict[str, Any]
Scores = dict[tuple[str, str, int], Record]


@dataclass(frozen=True)
class ProfileColumn:
    """One column of a profiles table: its values in a profile, given that of the first row."""

    label: str
    metric: str
    unit: str
    values: Callable[[Record, Record], list[float]]


PROFILE_COLUMNS = [
    ProfileColumn("Parameters (M)", "parameters", "M", lambda own, _: [own["parameters"] / 1e6]),
    ProfileColumn(
        "Without embeddings (M)", "without_embeddings", "M", lambda own, _: [own["without_embeddings"] / 1e6]
    ),
    ProfileColumn("Latency (ms)", "latency", "ms", lambda own, _: list(own["latency_ms"])),
    ProfileColumn(
        "Speed-up",
        "speed-up",
        "times",
        lambda own, first: [statistics.mean(first["latency_ms"]) / statistics.mean(own["latency_ms"])],
    ),
]


def difference(found: Any, expected: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """The first key path at which two settings differ, with both values; None where they are equal."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            below = difference(found.get(key, "absent"), expected.get(key, "absent"), f"{path}.{key}".lstrip("."))
            if below:
                return below
        return None
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True), start=1)
        return next((below for i, (a, b) in pairs if (below := difference(a, b, f"{path}.{i}".lstrip(".")))), None)
    return None if found == expected else (path, found, expected)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _read(path: Path | str, expected: Any, address: Record) -> Record:
    """A result file whose address and settings are those of the study."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        settings = record["settings"]
    except (ValueError, KeyError, TypeError):
        raise RetortError(f"{path} is not a whole result", AGAIN) from None
    for key, value in address.items():
        if record.get(key) != value:
            raise RetortError(f"{path} is of {key} {_short(record.get(key))}, not {_short(value)}", AGAIN)
    differs = difference(settings, json.loads(json.dumps(expected)))
    if differs:
        where, found, wanted = differs
        raise RetortError(
            f"{path} was made with other settings: {where} is {_short(found)} in it and {_short(wanted)} in the study",
            AGAIN,
        )
    return dict(record)


def read_scores(book: Book, paths: Iterable[Path | str]) -> Scores:
    """Score files by (student, task, seed).

    Raises:
        RetortError: a file was made with other settings than the book's, or does not belong at its address.
    """
    found: Scores = {}
    expected: dict[tuple[str, str], Any] = {}
    for path in map(Path, paths):
        student, task = path.parent.parent.name, path.parent.name
        number, known = path.stem.removeprefix("seed-"), student in book.students or student in book.teachers
        if not (known and task in book.tasks and number.isdecimal()):
            raise RetortError(f"{path} is not the address of a score of this study", "see `retort list`")
        seed = int(number)
        if (student, task) not in expected:
            expected[student, task] = resolve.score(book, student, task)
        found[student, task, seed] = _read(
            path, expected[student, task], {"student": student, "task": task, "seed": seed}
        )
    return found


def read_profiles(book: Book, paths: Iterable[Path | str]) -> dict[str, Record]:
    """Profile files by student; the same refusals as for scores."""
    found = {}
    for path in map(Path, paths):
        if path.stem not in book.students and path.stem not in book.teachers:
            raise RetortError(f"{path} is not the address of a profile of this study", "see `retort list`")
        found[path.stem] = _read(path, resolve.profile(book, path.stem), {"student": path.stem})
    return found


def summary(values: list[float]) -> dict[str, Any]:
    """Mean, sample standard deviation (None for one value) and number of some values."""
    return {
        "mean": statistics.mean(values) if values else None,
        "std": statistics.stdev(values) if len(values) > 1 else None,
        "n": len(values),
    }


def value_of(record: Record, metric: str) -> float | None:
    """A score times 100; None where training diverged, the metric is not defined, or the rows have no labels.

    Raises:
        RetortError: the score has no such metric.
    """
    if record["status"] != OK:
        return None
    if metric not in record["metrics"]:
        if record.get("unlabelled"):
            return None
        name = score_address(record["student"], record["task"], record["seed"])
        raise RetortError(f"{name} has no metric '{metric}'", AGAIN)
    value = 100 * float(record["metrics"][metric])
    return value if math.isfinite(value) else None


def _seeds(seeds: list[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def sampled(records: Iterable[Record]) -> str:
    """'measured on a sample: ...' where the data of a score were a part of the whole set; else nothing."""
    rows = {name: of for record in records for name, of in record.get("sample", {}).items()}
    listed = ", ".join(f"{name} {count:,} of {whole:,} rows" for name, (count, whole) in rows.items())
    return f"measured on a sample: {listed}" if rows else ""


def score_cell(book: Book, scores: Scores, student: str, task: str, metric: str) -> dict[str, Any]:
    """Mean, std, n and status of one cell; a mean only where every seed has a value."""
    if not runs(book, student, task):
        return {**summary([]), "status": NOT_RUN}
    seeds = seeds_of(book, student)
    there = {seed: scores[student, task, seed] for seed in seeds if (student, task, seed) in scores}
    values = {seed: value_of(record, metric) for seed, record in there.items()}
    good = [value for value in values.values() if value is not None]
    steps = sorted(record["step"] for record in there.values() if record["status"] == "diverged")
    absent = [seed for seed in seeds if seed not in there]
    undefined = [seed for seed, value in values.items() if value is None and there[seed]["status"] == OK]
    status = OK
    if steps:
        share = f" ({len(steps)} of {len(seeds)} seeds)" if len(seeds) > 1 else ""
        status = f"diverged at step {', '.join(map(str, steps))}{share}"
    elif absent:
        status = f"missing ({_seeds(absent)} of {len(seeds)})"
    elif any(there[seed].get("unlabelled") for seed in undefined):
        status = "missing (the rows have no labels)"
    elif undefined:
        status = f"missing (not defined for {_seeds(undefined)})"
    found = {**summary(good), "note": sampled(there.values())}
    return {**found, "status": status, **({} if status == OK else {"mean": None, "std": None})}


def _printed(values: list[float] | None) -> dict[str, Any]:
    values = values or []
    return {
        "published": values[0] if values else None,
        "published_std": values[1] if len(values) > 1 else None,
    }


def score_lines(book: Book, paper: str, name: str, scores: Scores) -> list[Line]:
    """A line per (row, column) of a scores table or figure, and one per row for its average."""
    exhibit = book.exhibits[paper, name]
    published = exhibit.published if isinstance(exhibit, ScoresTable) else {}
    scale = book.config.scale
    lines = [
        Line(
            paper, name, row, column, student, task, metric, "x100",
            **_printed(published.get(student, {}).get(column)),
            **score_cell(book, scores, student, task, metric),
            scale=scale,
        )
        for row, column, student, task, metric in scored(exhibit)
    ]  # fmt: skip
    return lines + (_averages(exhibit, lines) if isinstance(exhibit, ScoresTable) else [])


def _averages(table: ScoresTable, lines: list[Line]) -> list[Line]:
    counted = [column.label for column in table.columns if column.average]
    if not counted:
        return []
    averages = []
    for row in table.rows:
        cells = [line for line in lines if line.student == row.student and line.column in counted]
        ours = [cell.mean for cell in cells if cell.mean is not None]
        theirs = [cell.published for cell in cells if cell.published is not None]
        whole = len(ours) == len(counted)
        averages.append(
            Line(
                cells[0].paper,
                cells[0].table,
                row.label,
                AVERAGE,
                row.student,
                "",
                "average",
                "x100",
                published=statistics.mean(theirs) if len(theirs) == len(counted) else None,
                mean=statistics.mean(ours) if whole else None,
                n=min(cell.n for cell in cells) if whole else 0,
                status=OK if whole else "missing (the row is incomplete)",
                scale=cells[0].scale,
                note="the mean of cells measured on samples" if any(cell.note for cell in cells) else "",
            )
        )
    return averages


def profile_lines(book: Book, paper: str, name: str, profiles: dict[str, Record]) -> list[Line]:
    """A line per (row, column) of a profiles table, or of the profiles that a figure draws."""
    exhibit = book.exhibits[paper, name]
    published = exhibit.published if isinstance(exhibit, ProfilesTable) else {}
    labels = {row.student: row.label for row in getattr(exhibit, "rows", None) or getattr(exhibit, "points", [])}
    students = profiled(exhibit)
    first = profiles.get(students[0])
    lines = []
    for student in students:
        own = profiles.get(student)
        for column in PROFILE_COLUMNS:
            values = column.values(own, first) if own and first else []
            lines.append(
                Line(
                    paper,
                    name,
                    labels[student],
                    column.label,
                    student,
                    "",
                    column.metric,
                    column.unit,
                    **_printed(published.get(student, {}).get(column.label)),
                    **summary(values),
                    status=OK if values else "missing (no profile)",
                    scale=book.config.scale,
                )
            )
    return lines
