"""The settings of each student and teacher of a paper, with its runs and the ends of their logs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.formatters import number
from retort.plan import resolve
from retort.results.environments import Run
from retort.study.cells import expand
from retort.study.study import Study
from retort.tables.layout import CellRun
from retort.tables.runs import log_of, run_of

LAST = 12  # lines of each log on a page; few, since the page of a whole paper has thousands of runs


@dataclass(frozen=True)
class LoggedRun:
    """One run with the end of its log."""

    run: CellRun
    log: str


@dataclass(frozen=True)
class Settings:
    """The settings of one student or teacher as JSON, and its runs."""

    name: str
    title: str
    text: str
    runs: list[LoggedRun] = field(default_factory=list)


def settings_of(study: Study, paper: str, runs: Iterable[Run]) -> list[Settings]:
    """Return the settings of every student and teacher in the paper's tables, each on the first of its tasks.

    Args:
        study: the study.
        paper: the paper.
        runs: the scores and profiles that the paper's tables and figures read.
    """
    tasks: dict[str, str] = {}
    for cell in expand(study):
        if cell.paper == paper:
            tasks.setdefault(cell.student, cell.task)
    logged: dict[str, list[LoggedRun]] = {}
    for run in runs:
        if run.result_type == "score":
            logged.setdefault(run.record["student"], []).append(_logged(run))
    return [
        _settings(study, name, tasks[name], logged.get(name, []))
        for name in (*study.teachers, *study.students)
        if name in tasks
    ]


def _settings(study: Study, name: str, task: str, runs: list[LoggedRun]) -> Settings:
    stamped = resolve.score(study, name, task).as_json()
    if name in study.students:
        stamped["teacher"] = study.students[name].teacher  # its settings are listed as an entry of their own
        if "task" in stamped:
            stamped["task"] = task
    spec: Any = study.students.get(name) or study.teachers[name]
    text = json.dumps(stamped, indent=2, ensure_ascii=False)
    return Settings(name, spec.title, f"{name} on {task}\n{text}", runs)


def _logged(run: Run) -> LoggedRun:
    record = run.record
    log = log_of(record["student"], record["task"], record["seed"])
    metrics = "  ".join(f"{name} {number(100 * value, 2)}" for name, value in record["metrics"].items())
    label = f"{record['task']}, seed {record['seed']}"
    return LoggedRun(run_of(record, label, metrics or str(record["status"]), run.path, log), _end_of(log))


def _end_of(log: str) -> str:
    """Return the last lines of a log; empty without one."""
    lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines() if log else []
    return "\n".join((["..."] if len(lines) > LAST else []) + lines[-LAST:])
