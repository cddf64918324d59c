"""Read the folder of one paper into the study: its teachers, students, tables, figures and statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from retort.registry import unknown
from retort.specs import loading
from retort.specs.base import Deviation, Names, known_names
from retort.specs.exhibit import exhibit_type
from retort.specs.paper import Paper, Recording, Statement
from retort.specs.student import Student
from retort.study import families
from retort.study.study import Study


def read_paper(study: Study, path: Path, problems: loading.Problems) -> None:
    """Read one paper's folder into the study.

    Args:
        study: the study.
        path: the folder.
        problems: the list to which the problems of the paper's files are added.
    """
    slug, before = path.name, len(problems.lines)
    if not loading.is_there(path / "paper.yaml"):
        problems.add(path, "has no paper.yaml")
        problems.unread.add(f"{slug}-*")
        return
    paper = loading.one(path / "paper.yaml", Paper, problems)
    if paper is None:  # the other files are checked all the same
        problems.unread.add(f"{slug}-*")
        paper = Paper(title=slug, reference=slug)
    study.papers[slug] = paper
    for name, teacher in paper.teachers.items():
        if f"{slug}-{name}" in study.teachers:
            problems.add(path / "paper.yaml", f"another paper's teacher is called '{slug}-{name}'; rename one")
        study.teachers[f"{slug}-{name}"] = teacher
        study.files["teachers", f"{slug}-{name}"] = path / "paper.yaml"
    entries = student_entries(path / "students.yaml", problems) if loading.is_there(path / "students.yaml") else {}
    papers = [folder.name for folder in path.parent.iterdir() if folder.is_dir()]
    names = known_names(slug, [*paper.teachers, *entries], papers)
    _read_students(study, path / "students.yaml", entries, names, problems)
    if len(problems.lines) == before:
        _check_choices(path / "paper.yaml", paper, entries, problems)
    _read_statements(study, path, problems)
    _read_recordings(study, path, problems)
    _read_exhibits(study, path, names, problems)


def student_entries(path: Path, problems: loading.Problems, marked: bool = False) -> dict[str, tuple[str, Any]]:
    """Return the students of a file, families expanded: short name -> (key in the file, entry).

    Args:
        path: the students.yaml of a paper.
        problems: the list to which problems are added; an entry that has one is left out.
        marked: make the keys of mappings know their lines.
    """
    content = loading.entries(path, problems, marked)
    shared = problems.attempt(path, "", families.shared_axes, content)
    problems.attempt(path, "", families.check_shared, content, Student.model_fields)
    students: dict[str, tuple[str, Any]] = {}
    for key, entry in content.items():
        if key == families.AXES:
            continue
        members = {str(key): entry}
        if families.is_family(key):
            members = problems.attempt(path, key, families.expand, key, entry, shared or {}, Student.model_fields) or {}
            if not members:
                problems.unread.add(f"{path.parent.name}-{re.sub('{.*?}', '*', key)}")
        elif isinstance(entry, dict) and families.FOR_EACH in entry:
            problems.add(path, f"{key}.{families.FOR_EACH}: the name has no axis; write it as '{{axis}}-...'")
            members = {}
            problems.unread.add(f"{path.parent.name}-*")
        for name, member in members.items():
            if name in students:
                problems.add(path, f"{key}: '{students[name][0]}' has a student '{name}', too; rename one")
            elif loading.checked_entry_name(path, name, problems):
                students[name] = str(key), member
            else:  # any unknown name in other files may mean this student
                problems.unread.add(f"{path.parent.name}-*")
    return students


def _read_students(
    study: Study, path: Path, entries: dict[str, tuple[str, Any]], names: Names, problems: loading.Problems
) -> None:
    for name, (key, entry) in entries.items():
        full = f"{names.paper}-{name}"
        student = problems.validate(path, key, Student, entry, names)
        if student is None:
            problems.unread.add(full)
            continue
        if full in study.students:
            problems.add(path, f"another paper's student is called '{full}'; rename one")
        choices = [*_deviations_of(study.papers[names.paper], name), *student.deviations]
        study.students[full] = student.model_copy(update={"deviations": choices})
        study.files["students", full], study.keys[full] = path, key


def _deviations_of(paper: Paper, student: str) -> Iterator[Deviation]:
    """Yield the deviations in a paper.yaml that concern a student, given by its short name."""
    for choice in paper.deviations:
        if choice.concerns(student):
            yield from choice.texts


def _check_choices(path: Path, paper: Paper, students: dict[str, Any], problems: loading.Problems) -> None:
    """Add a problem for each pattern of a paper's `deviations` that matches no student."""
    for number, choice in enumerate(paper.deviations, start=1):
        for pattern in (*choice.students, *choice.excluded):
            if not any(fnmatchcase(student, pattern) for student in students):
                problems.add(path, f"deviations.{number}: {unknown('student', pattern, students)}")


def _read_statements(study: Study, path: Path, problems: loading.Problems) -> None:
    for file, statements in (("claims.yaml", study.claims), ("audit.yaml", study.statements)):
        if loading.is_there(path / file):
            statements[path.name] = loading.named(path / file, Statement, problems)


def _read_recordings(study: Study, path: Path, problems: loading.Problems) -> None:
    for file in sorted(path.glob("recorded/*.yaml")):
        recording = loading.one(file, Recording, problems)
        if recording is not None:
            study.recordings[path.name, file.stem] = recording


def _read_exhibits(study: Study, path: Path, names: Names, problems: loading.Problems) -> None:
    for noun in ("table", "figure"):
        spec = exhibit_type(noun)
        for file in sorted(path.glob(f"{noun}*.yaml")):
            exhibit = loading.one(file, spec, problems, names)
            problems.attempt(file, "file name", loading.checked_name, file.stem)
            if exhibit is not None:
                study.exhibits[path.name, file.stem] = exhibit
            study.files["exhibits", f"{path.name}/{file.stem}"] = file
