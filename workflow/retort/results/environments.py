"""Collect the origin of reported numbers: the distinct commits, code, versions and devices of the result files."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.provenance import are_different
from retort.results.score_files import read_record, read_score_file
from retort.study.addresses import profile_address, score_file_of_seed
from retort.study.cells import expand, profiled
from retort.study.study import Study

SCORES = Path("results/scores")
Result = tuple[str, int | None]  # the path of a file, and the seed of a score in it; None for a profile


@dataclass(frozen=True)
class ResultFile:
    """One result, a score or a profile, and the paper that reads it.

    Args:
        paper: the paper.
        result: the path of its file, and the seed of a score.
        record: its content.
    """

    paper: str
    result: Result
    record: dict[str, Any]


@dataclass(frozen=True)
class Environments:
    """The distinct commits, code, versions and devices of some result files; each list is sorted.

    Args:
        commits: commits that made the results, and the results that these were made from.
        codes: digests of the files on which the same results depend.
        first: time of the oldest result.
        newest: time of the newest result.
        seconds: summed time of all jobs.
        mixed: what should be the same behind all files, and differs.
    """

    files: int = 0
    commits: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
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
    def warning(self) -> str:
        """A sentence that names what is `mixed`; empty if there are none."""
        return f"Mixed results: different {', '.join(self.mixed)} stand behind these numbers." if self.mixed else ""


@dataclass(frozen=True)
class Spent:
    """The cost of one table or figure: the result files that it reads, and the time of those that exist.

    Args:
        results: number of results that no earlier table or figure reads.
        existing: how many of `results` exist.
        shared: number of results that an earlier table or figure reads too.
        seconds: summed time of the existing results.
    """

    name: str
    results: int
    existing: int
    shared: int
    seconds: float


def _required(study: Study) -> dict[tuple[str, str], set[Result]]:
    """Return (paper, name) of each table and figure -> the results that it reads."""
    profiles = {key: map(profile_address, profiled(study, exhibit)) for key, exhibit in study.exhibits.items()}
    results: dict[tuple[str, str], set[Result]] = {key: {(path, None) for path in of} for key, of in profiles.items()}
    for cell in expand(study):
        path = score_file_of_seed(study, cell.student, cell.task, cell.seed)
        results[cell.paper, cell.table].add((path, cell.seed))
    return results


def _records(path: str, root: Path) -> Iterator[tuple[Result, dict[str, Any]]]:
    """Yield the results in a file below a folder: a profile, or a score for each seed."""
    if Path(path).is_relative_to(SCORES):
        yield from (((path, score["seed"]), score) for score in read_score_file(root / path))
    else:
        yield (path, None), read_record(root / path)


def collect_runs(
    study: Study, exhibits: Container[tuple[str, str]] | None = None, root: Path = Path()
) -> list[ResultFile]:
    """Return every existing score and profile that the study's tables and figures read.

    Args:
        study: the study.
        exhibits: (paper, name) of the tables and figures that count; None for all.
        root: the folder that holds `results`, which a module with a prefix has elsewhere.

    Raises:
        RetortError: a score or profile is damaged.
    """
    read = [(key[0], results) for key, results in _required(study).items() if exhibits is None or key in exhibits]
    required = {(paper, result) for paper, results in read for result in results}
    files = sorted({path for _, (path, _) in required if (root / path).is_file()})
    there = {result: record for path in files for result, record in _records(path, root)}
    found = [(paper, result) for paper, result in required if result in there]
    return [ResultFile(paper, result, there[result]) for paper, result in sorted(found, key=str)]


def costs_of(study: Study, paper: str, runs: Iterable[ResultFile]) -> list[Spent]:
    """Return the cost of each table and figure of a paper that reads results.

    A result that several of them read counts only in the first.
    """
    seconds = {run.result: float(run.record.get("seconds", 0)) for run in runs}
    required, seen, costs = _required(study), set[Result](), []
    for name in study.exhibits_of(paper):
        results = required[paper, name]
        own = results - seen
        existing = [seconds[result] for result in sorted(own, key=str) if result in seconds]
        if results:
            costs.append(Spent(name, len(own), len(existing), len(results) - len(own), sum(existing)))
        seen |= results
    return costs


def _distinct(values: Iterable[object]) -> list[str]:
    return sorted({str(value) for value in values if value is not None}, key=lambda text: (len(text), text))


def _makers(record: dict[str, Any], key: str) -> Iterator[str | None]:
    """Yield the `key` ('commit' or 'code') of a result, of its ancestors, and of the runs that it was resumed from."""
    yield record.get(key)
    for maker in (*record.get("ancestors", []), *record.get("resumed_from", [])):
        yield maker[key]


def mixed_warning(study: Study, paper: str, names: Iterable[str]) -> str:
    """Return the warning on mixed results behind some tables or figures; empty if nothing is mixed."""
    return environments_of(collect_runs(study, {(paper, name) for name in names})).warning


def environments_of(runs: Iterable[ResultFile]) -> Environments:
    """Return the distinct environments in which some result files were made; each file counts once."""
    records = list({run.result: run.record for run in runs}.values())
    scores = [record for record in records if "task" in record]
    dates = sorted(str(record["at"]) for record in records if "at" in record)
    versions = {(name, version) for record in records for name, version in record.get("versions", {}).items()}
    distinct = {
        "commits": _distinct(commit for record in records for commit in _makers(record, "commit")),
        "codes": _distinct(code for record in records for code in _makers(record, "code")),
        "devices": _distinct(record.get("device") for record in records),
        "precisions": _distinct(record["settings"].get("precision") for record in scores),
    }
    mixed = [name for name in ("devices", "precisions") if len(distinct[name]) > 1]
    if are_different(distinct["codes"]):
        mixed.insert(0, "states of the code")
    if len(versions) > len({name for name, _ in versions}):
        mixed.append("versions")
    return Environments(
        files=len(records),
        **distinct,
        seeds=_distinct(record.get("seed") for record in scores),
        threads=_distinct(record.get("threads") for record in records),
        versions=[f"{name} {version}" for name, version in sorted(versions)],
        first=dates[0] if dates else "",
        newest=dates[-1] if dates else "",
        seconds=sum(float(record.get("seconds", 0)) for record in records),
        mixed=mixed,
    )
