"""Where the numbers of a report come from: distinct commits, versions, devices over all score files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.specs.book import Book
from retort.specs.expand import expand, profiled, score_address


@dataclass(frozen=True)
class Run:
    """One result file and the paper that reads it."""

    paper: str
    path: str
    kind: str
    record: dict[str, Any]


@dataclass(frozen=True)
class Origin:
    """Distinct values over some result files, in the order of their names.

    Args:
        mixed: what should be the same everywhere and is not.
    """

    files: int = 0
    commits: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    precisions: list[str] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    first: str = ""
    newest: str = ""
    seconds: float = 0.0
    mixed: list[str] = field(default_factory=list)

    @property
    def took(self) -> str:
        """The summed time of all jobs, as '1 h 23 min' or '45 s'."""
        return in_words(self.seconds)


@dataclass(frozen=True)
class Spent:
    """What one table or figure takes: the results that it reads, those that are there, and their seconds.

    Args:
        results: those that no table or figure before it reads.
        shared: further ones, which one before it reads.
    """

    name: str
    results: int
    there: int
    shared: int
    seconds: float

    @property
    def took(self) -> str:
        """The summed time of the results that are there."""
        return in_words(self.seconds)


def in_words(seconds: float) -> str:
    """'1 h 23 min', '2 min 5 s' or '45 s'."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _wanted(book: Book) -> dict[tuple[str, str], dict[str, str]]:
    """The results that each table and figure reads: path -> 'score' or 'profile'."""
    found: dict[tuple[str, str], dict[str, str]] = {
        key: {f"results/profiles/{student}.json": "profile" for student in profiled(book, exhibit)}
        for key, exhibit in book.exhibits.items()
    }
    for cell in expand(book):
        found[cell.paper, cell.table][score_address(cell.student, cell.task, cell.seed)] = "score"
    return found


def collect_runs(book: Book) -> list[Run]:
    """Every score and profile that the book's tables and figures read and that is there."""
    wanted = {(paper, *pair) for (paper, _), paths in _wanted(book).items() for pair in paths.items()}
    return [
        Run(paper, path, kind, json.loads(Path(path).read_text(encoding="utf-8")))
        for paper, path, kind in sorted(wanted)
        if Path(path).is_file()
    ]


def spent(book: Book, paper: str, runs: Iterable[Run]) -> list[Spent]:
    """A line for each table and figure of a paper that reads results; a result counts in the first that reads it."""
    seconds = {run.path: float(run.record.get("seconds", 0)) for run in runs}
    wanted, seen, found = _wanted(book), set[str](), []
    for name in book.shown(paper):
        paths = wanted[paper, name].keys()
        own = paths - seen
        there = [seconds[path] for path in sorted(own) if path in seconds]
        if paths:
            found.append(Spent(name, len(own), len(there), len(paths) - len(own), sum(there)))
        seen |= paths
    return found


def _distinct(values: Iterable[object]) -> list[str]:
    return sorted({str(value) for value in values if value is not None}, key=lambda text: (len(text), text))


def origin(runs: Iterable[Run]) -> Origin:
    """The distinct origins of some result files, each file counted once."""
    records = {run.path: run for run in runs}
    every = [run.record for run in records.values()]
    scores = [run.record for run in records.values() if run.kind == "score"]
    dates = sorted(str(record["at"]) for record in every if "at" in record)
    versions = {(name, version) for record in every for name, version in record.get("versions", {}).items()}
    found = {
        "commits": _distinct(record.get("commit") for record in every),
        "devices": _distinct(record.get("device") for record in every),
        "precisions": _distinct(record["settings"].get("precision") for record in scores),
    }
    mixed = [name for name, values in found.items() if len(values) > 1]
    if len(versions) > len({name for name, _ in versions}):
        mixed.append("versions")
    return Origin(
        files=len(records),
        **found,
        seeds=_distinct(record.get("seed") for record in scores),
        threads=_distinct(record.get("threads") for record in every),
        versions=[f"{name} {version}" for name, version in sorted(versions)],
        first=dates[0] if dates else "",
        newest=dates[-1] if dates else "",
        seconds=sum(float(record.get("seconds", 0)) for record in every),
        mixed=mixed,
    )
