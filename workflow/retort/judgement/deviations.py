"""The deviations of papers, and a check that each names a cell of a printed table or a setting of its students."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from retort.plan.value_lines import values
from retort.specs.exhibit import Exhibit
from retort.study.study import Study


def unknown_names(study: Study) -> list[str]:
    """Return a line for each name in a deviation that is neither a cell nor a setting.

    Args:
        study: the study as its files have it, before a scale changes it.
    """
    lines, settings = [], dict[str, set[str]]()  # student -> the keys of its settings
    for paper, spec in study.papers.items():
        tables = {name: exhibit for (slug, name), exhibit in study.exhibits.items() if slug == paper}
        for (text, names), students in deviations_of(study, paper).items() if not spec.ours else ():
            known: set[str] = set()
            for student in students:
                if student not in settings:
                    settings[student] = _settings(study, student)
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


def _settings(study: Study, student: str) -> set[str]:
    """Return the keys of a student's settings, in general and on each of its tasks."""
    tasks = dict.fromkeys(
        task for (paper, _), exhibit in study.exhibits.items() for task, _ in exhibit.metrics_of(student)
    )
    return {value.key for task in ("", *tasks) for value in values(study, study, student, task)}


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
