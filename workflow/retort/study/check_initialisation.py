"""Check the initialisation of a student: layers exist and fit, and a parent has the student's shape and vocabulary.

The check of students reports unknown names.
"""

from __future__ import annotations

from collections.abc import Iterator

from retort.specs.model import Architecture, Model
from retort.study.study import Study


def problems(study: Study, name: str) -> Iterator[str]:
    """Yield one line for each reason why a student's initialisation cannot work; the line begins with the key."""
    for check in (_layers, _student, _checkpoint):
        yield from check(study, name)


def _layers(study: Study, name: str) -> Iterator[str]:
    student = study.students[name]
    if student.initial_layers is None:
        return
    key = "truncated" if student.initialisation.truncated else "layers"
    teacher = study.model_of(student.teacher).architecture
    if max(student.initial_layers) > teacher.layers:
        yield f"{key}: teacher '{student.teacher}' has no layer {max(student.initial_layers)}; it has {teacher.layers}"
    if student.architecture.widths != teacher.widths:
        yield (
            f"{key}: a student of width {_widths(student.architecture)} cannot take layers of a teacher of "
            f"{_widths(teacher)}; use 'random: true'"
        )


def _widths(shape: Architecture) -> str:
    embedding = f" with embeddings of {shape.embedding}" if shape.embedding else ""
    return f"{shape.hidden} x {shape.intermediate}{embedding}"


def _student(study: Study, name: str) -> Iterator[str]:
    student = study.students[name]
    start = student.initialisation.student
    if start is None or start not in study.students:
        return
    chain = [name]
    parent: str | None = start
    while parent is not None and parent in study.students:
        if parent in chain:
            if parent == name:  # a circle without this student is reported for the students in it
                yield f"student: '{name}' starts from itself: {' <- '.join([*chain, name])}"
            return
        chain.append(parent)
        parent = study.students[parent].initialisation.student
    other = study.students[start]
    if other.architecture != student.architecture or other.distilled_on == "task":
        yield f"student: '{start}' is not a task-agnostic student of the same architecture"
    teacher = study.teachers.get(other.teacher)
    if teacher is not None and teacher.model in study.models:
        yield from _vocabulary(study, name, "student", start, study.models[teacher.model])


def _checkpoint(study: Study, name: str) -> Iterator[str]:
    student = study.students[name]
    start = student.initialisation.checkpoint
    if start is None or start not in study.models:
        return
    published, required = study.models[start].architecture.model_dump(), student.architecture.model_dump()
    for size in sorted({*published, *required} - {"heads"}):  # the number of heads changes the shape of no weight
        if published.get(size) != required.get(size):
            yield (
                f"checkpoint: '{start}' has {size}: {published.get(size, 'none')}, "
                f"the student's architecture {size}: {required.get(size, 'none')}"
            )
    yield from _vocabulary(study, name, "checkpoint", start, study.models[start])


def _vocabulary(study: Study, name: str, key: str, start: str, other: Model) -> Iterator[str]:
    teacher = study.students[name].teacher
    own = study.model_of(teacher)
    if own.vocabulary != other.vocabulary:
        yield (
            f"{key}: '{start}' has a vocabulary of {other.vocabulary} tokens, teacher '{teacher}' one of "
            f"{own.vocabulary}; both must read the same tokens"
        )
