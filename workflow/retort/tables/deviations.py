"""Check that each deviation of a printed paper names a cell of its tables or a setting of its students."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from retort.plan.origins import values
from retort.specs.deviation import Deviation
from retort.specs.exhibit import Exhibit
from retort.study.study import Study


def unnamed(study: Study) -> list[str]:
    """Return a line for each name in a deviation that is neither a cell nor a setting; `study` is as written."""
    lines, settings = [], dict[str, set[str]]()  # student -> the keys of its settings
    for paper, spec in study.papers.items():
        tables = {name: exhibit for (slug, name), exhibit in study.exhibits.items() if slug == paper}
        for deviation, students in _deviations(study, paper).items() if not spec.ours else ():
            known: set[str] = set()
            for student in students:
                if student not in settings:
                    settings[student] = _settings(study, student)
                known |= settings[student]
                if all(_named(name, tables, known) for name in deviation[1]):
                    break
            lines += [
                f"{paper}: the deviation '{deviation[0]}' names '{name}', which is no setting of {students[0]}"
                + (f" and {len(students) - 1} more" if len(students) > 1 else "")
                + " and no cell"
                for name in deviation[1]
                if not _named(name, tables, known)
            ]
    return lines


def _deviations(study: Study, paper: str) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return (text, names) of each deviation of a paper -> the students that it concerns."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, student in study.students.items():
        for one in student.deviations if study.paper_of(name) == paper else ():
            found.setdefault(_key(one), []).append(name)
    return found


def _key(deviation: Deviation) -> tuple[str, tuple[str, ...]]:
    return deviation.text, tuple(deviation.of)


def _settings(study: Study, student: str) -> set[str]:
    """Return the keys of a student's settings, in general and on each of its tasks."""
    tasks = dict.fromkeys(
        task for (paper, _), exhibit in study.exhibits.items() for task, _ in exhibit.metrics_of(student)
    )
    return {value.key for task in ("", *tasks) for value in values(study, study, student, task)}


def _named(name: str, tables: dict[str, Exhibit], settings: set[str]) -> bool:
    table, _, place = name.partition(": ")
    if table in tables:
        return not place or place in _places(tables[table])
    return any(fnmatchcase(key, name) or fnmatchcase(key, f"{name}.*") for key in settings)


def _places(exhibit: Exhibit) -> Iterator[str]:
    """Yield the names of an exhibit's rows and columns."""
    for row, columns in exhibit.rows_and_columns().items():
        yield row
        yield from columns
