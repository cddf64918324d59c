"""Check the initialisation of a student: layers must exist and fit, a parent must have its shape and vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from retort.registry import unknown
from retort.specs.model import Architecture, Model

if TYPE_CHECKING:
    from retort.specs.book import Book


def problems(book: Book, name: str) -> Iterator[str]:
    """Yield one line for each reason why a student's initialisation cannot work; the line begins with the key."""
    for look in (_layers, _student, _checkpoint):
        yield from look(book, name)


def _layers(book: Book, name: str) -> Iterator[str]:
    student = book.students[name]
    if student.taken is None:
        return
    key = "truncated" if student.initialisation.truncated else "layers"
    teacher = book.model_of(student.teacher).architecture
    if max(student.taken) > teacher.layers:
        yield f"{key}: teacher '{student.teacher}' has no layer {max(student.taken)}; it has {teacher.layers}"
    if student.architecture.widths != teacher.widths:
        yield (
            f"{key}: a student of width {_widths(student.architecture)} cannot take layers of a teacher of "
            f"{_widths(teacher)}; use 'random: true'"
        )


def _widths(shape: Architecture) -> str:
    embedding = f" with embeddings of {shape.embedding}" if shape.embedding else ""
    return f"{shape.hidden} x {shape.intermediate}{embedding}"


def _student(book: Book, name: str) -> Iterator[str]:
    student = book.students[name]
    start = student.initialisation.student
    if start is None:
        return
    if start not in book.students:
        if "student" not in book.broken:
            yield f"student: {unknown('student', start, book.students)}"
        return
    seen: set[str] = {name}
    parent: str | None = start
    while parent is not None and parent in book.students:
        if parent in seen:
            yield f"student: '{name}' starts from itself by way of '{parent}'"
            return
        seen.add(parent)
        parent = book.students[parent].initialisation.student
    other = book.students[start]
    if other.architecture != student.architecture or other.road == "task":
        yield f"student: '{start}' is not a task-agnostic student of the same architecture"
    teacher = book.teachers.get(other.teacher)
    if teacher is not None and teacher.model in book.models:
        yield from _vocabulary(book, name, "student", start, book.models[teacher.model])


def _checkpoint(book: Book, name: str) -> Iterator[str]:
    student = book.students[name]
    start = student.initialisation.checkpoint
    if start is None:
        return
    if start not in book.models:
        if "model" not in book.broken:
            yield f"checkpoint: {unknown('model', start, book.models)}"
        return
    found, wanted = book.models[start].architecture.model_dump(), student.architecture.model_dump()
    for size in sorted({*found, *wanted} - {"heads"}):  # the number of heads changes the shape of no weight
        if found.get(size) != wanted.get(size):
            yield (
                f"checkpoint: '{start}' has {size}: {found.get(size, 'none')}, "
                f"the student's architecture {size}: {wanted.get(size, 'none')}"
            )
    yield from _vocabulary(book, name, "checkpoint", start, book.models[start])


def _vocabulary(book: Book, name: str, key: str, start: str, other: Model) -> Iterator[str]:
    teacher = book.students[name].teacher
    own = book.model_of(teacher)
    if own.vocabulary != other.vocabulary:
        yield (
            f"{key}: '{start}' has a vocabulary of {other.vocabulary} tokens, teacher '{teacher}' one of "
            f"{own.vocabulary}; both must read the same tokens"
        )
