"""Deviations: the settings that they name, and the settings of reported rows of which a paper's files say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from retort.plan.value_lines import Origins, Value, WrittenFiles
from retort.specs.exhibit import Exhibit, metrics_by_student
from retort.study.study import Study

NOT_REPORTED = {"version", "seed", "steps_factor"}  # settings of retort's own, of which a paper says nothing
# an option without effect -> the option, and its value, next to which it has none
WITHOUT_EFFECT = {"squared": ("temperature", 1.0)}


@dataclass(frozen=True)
class Unstated:
    """A setting that is a default of retort, and that neither the files of a paper state nor a deviation names.

    Args:
        key: its dotted keys, * for the number of a stage or term.
        value: the default.
        students: the short names of the students that have it.
    """

    key: str
    value: Any
    students: tuple[str, ...]


def unstated_settings(study: Study, paper: str) -> list[Unstated]:
    """Return the defaults of the students in a paper's reported rows that its files neither state nor declare.

    A default that is off or empty does not count, nor does the weight of the only term of a stage.

    Args:
        study: the study as its files have it, before a scale changes it.
        paper: the name of a paper.
    """
    tables = [exhibit for (slug, _), exhibit in study.exhibits.items() if slug == paper]
    tasks = _tasks(table for table in tables if table.reported_cells())
    files, found = WrittenFiles(study), dict[tuple[str, str], tuple[Any, list[str]]]()
    for name, student in study.students.items():
        of = {pattern for one in student.deviations for pattern in one.of}
        for task in tasks.get(name, ()):
            for value in _open_defaults(list(Origins(files, name, task).values(study))):
                if not any(map(value.is_named, of)):
                    key = re.sub(r"\.\d+\.", ".*.", value.key)
                    names = found.setdefault((key, str(value.value)), (value.value, []))[1]
                    names += [name.removeprefix(f"{paper}-")] * (name.removeprefix(f"{paper}-") not in names)
    return [Unstated(key, value, tuple(names)) for (key, _), (value, names) in found.items()]


def _tasks(exhibits: Iterable[Exhibit]) -> dict[str, dict[str, None]]:
    """Return student or teacher -> the tasks of the scores that exhibits show of it, in the order of their cells."""
    tasks: dict[str, dict[str, None]] = {}
    for student, pairs in (item for exhibit in exhibits for item in metrics_by_student(exhibit).items()):
        tasks.setdefault(student, {}).update(dict.fromkeys(task for task, _ in pairs))
    return tasks


def _open_defaults(values: list[Value]) -> Iterator[Value]:
    """Yield the values of a student that are defaults and decide its numbers."""
    by_key = {value.key: value.value for value in values}
    widths = {width for key, width in by_key.items() if key.endswith("architecture.hidden")}
    for value in values:
        if value.is_default and value.value:
            above, _, field = value.key.rpartition(".")
            nearby, idle = WITHOUT_EFFECT.get(field, ("", ""))
            has_effect = by_key.get(f"{above}.{nearby}") != idle
            has_effect = has_effect and (value.value != "widths-differ" or len(widths) > 1)
            alone = field == "weight" and f"{above.rpartition('.')[0]}.2.weight" not in by_key
            if field not in NOT_REPORTED and has_effect and not alone:
                yield value


# --- names of deviations


def unknown_names(study: Study) -> list[str]:
    """Return a line for each name in a deviation that is neither a cell nor a setting.

    Args:
        study: the study as its files have it, before a scale changes it.
    """
    lines, settings, files = [], dict[str, set[str]](), WrittenFiles(study)  # student -> the keys of its settings
    tasks = _tasks(study.exhibits.values())
    for paper, spec in study.papers.items():
        tables = {name: exhibit for (slug, name), exhibit in study.exhibits.items() if slug == paper}
        for (text, names), students in deviations_of(study, paper).items() if not spec.ours else ():
            known: set[str] = set()
            for student in students:
                if student not in settings:
                    settings[student] = _settings(files, student, tasks.get(student, ()))
                known |= settings[student]
                if all(_is_known(name, tables, known) for name in names):
                    break
            lines += [
                f"{paper}: the deviation '{text}' names '{name}', which is no setting of {students[0]}"
                + (f" and {len(students) - 1} more" if len(students) > 1 else "")
                + " and no cell"
                for name in names
                if not _is_known(name, tables, known)
            ]
    return lines


def deviations_of(study: Study, paper: str) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return (text, names) of each deviation of a paper -> its students that have it."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, student in study.students.items():
        for one in student.deviations if study.paper_of(name) == paper else ():
            found.setdefault((one.text, tuple(one.of)), []).append(name)
    return found


def _settings(files: WrittenFiles, student: str, tasks: Iterable[str]) -> set[str]:
    """Return the keys of a student's settings, in general and on each of its tasks."""
    return {value.key for task in ("", *tasks) for value in Origins(files, student, task).values(files.study)}


def _is_known(name: str, tables: dict[str, Exhibit], settings: set[str]) -> bool:
    """Return whether a name is a table, one of its rows or columns ('table1: KD'), or a pattern of settings."""
    table, _, place = name.partition(": ")
    if table in tables:
        return not place or place in _places(tables[table])
    return any(fnmatchcase(key, name) or fnmatchcase(key, f"{name}.*") for key in settings)


def _places(exhibit: Exhibit) -> Iterator[str]:
    """Yield the names of an exhibit's rows and columns."""
    for row, columns in exhibit.rows_and_columns().items():
        yield row
        yield from columns
