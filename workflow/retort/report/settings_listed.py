"""List the settings of a paper's students and teachers: what many share is written once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from retort.plan import resolve
from retort.plan.value_lines import dotted, leaves
from retort.study.cells import expand
from retort.study.study import Study

NEAR = 1 / 3  # of the lines of settings: so many may differ from those of another student, to be written as differences


@dataclass(frozen=True)
class ListedSettings:
    """The settings of one student or teacher on one task, a line each: all of them, or what differs from another's.

    Args:
        name: its name.
        title: its title.
        task: the task.
        lines: dotted keys and values; entries of lists count from 1.
        like: whose settings hold besides; None if `lines` are whole.
    """

    name: str
    title: str
    task: str
    lines: list[str]
    like: ListedSettings | None = None


def settings_of(study: Study, paper: str) -> list[ListedSettings]:
    """Return the settings of every student and teacher in the paper's tables, each on the first of its tasks."""
    tasks: dict[str, str] = {}
    for cell in expand(study):
        if cell.paper == paper and cell.student not in study.further:
            tasks.setdefault(cell.student, cell.task)
    listed: list[ListedSettings] = []
    whole: list[tuple[ListedSettings, dict[str, str]]] = []
    for name in (name for name in (*study.teachers, *study.students) if name in tasks):
        spec: Any = study.students.get(name) or study.teachers[name]
        values = _values(study, name, tasks[name])
        like, changes = _nearest(values, whole)
        one = ListedSettings(name, spec.title, tasks[name], changes, like)
        if like is None:
            whole.append((one, values))
        listed.append(one)
    return listed


def _values(study: Study, name: str, task: str) -> dict[str, str]:
    """Return dotted key -> value, as JSON, of the settings that are stored in a score."""
    stamped = resolve.score(study, name, task).as_json()
    if name in study.students:
        stamped["teacher"] = study.students[name].teacher  # its settings are listed as an entry of their own
        if "task" in stamped:
            stamped["task"] = task
    return {dotted(*steps): json.dumps(value, ensure_ascii=False) for steps, value in leaves(stamped)}


def _nearest(
    values: Mapping[str, str], whole: Iterable[tuple[ListedSettings, Mapping[str, str]]]
) -> tuple[ListedSettings | None, list[str]]:
    """Return whose settings are nearest to some values and the lines that differ; None and all if none is near."""
    found: ListedSettings | None = None
    lines = [f"{key}: {value}" for key, value in values.items()]
    most = NEAR * len(lines)
    for one, others in whole:
        changed = [f"{key}: {value}" for key, value in values.items() if others.get(key) != value]
        changed += [f"{key}: not set" for key in others if key not in values]
        if len(changed) < most:
            found, lines, most = one, changed, len(changed)
    return found, lines
