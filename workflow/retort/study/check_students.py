"""Checks of students: that their stages can be trained, and that both models of a term fit each other.

Every check yields (file, what is wrong with it); those of one student yield lines that begin with a key of its file.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from retort.errors import RetortError
from retort.specs import catalogue
from retort.specs.catalogue import ModelSize, Requirements
from retort.specs.loading import Found, readable
from retort.specs.model import Architecture, Model
from retort.specs.protocol import STAGES
from retort.specs.student import Student, Term
from retort.study.check_data import check_positions, wrong_lengths, wrong_schedule
from retort.study.questions import at_point, layer_pairs, lineage
from retort.study.study import Study


def check_students(study: Study) -> Iterator[Found]:
    """Yield what is wrong with the students of a study."""
    for name in study.students:
        for line in _student(study, name):
            yield study.files["students", name], f"{study.keys[name]}.{line}"


def check_scaled(study: Study) -> Iterator[Found]:
    """Yield a line for each student that cannot be trained at the size that the scale gives it.

    Args:
        study: the study after `scale_study`, free of problems before.
    """
    if study.scale.replacements or study.scale.miniature:
        misfits = ((study.files["students", name], f"{study.keys[name]}.{line}")
                   for name in study.running for line in _misfits(study, name))  # fmt: skip
        for path, line in (*check_positions(study), *misfits):
            yield path, f"{line} (at scale {study.config.scale})"


def _student(study: Study, name: str) -> Iterator[str]:
    student = study.students[name]
    yield from _wrong_axes(study, student)
    yield from _misfits(study, name)
    lines = list(_stages(study, student))
    yield from lines
    known = {*lines, *_terms(study, student)}
    for key, changed in _changed_by_axes(student):
        wrong = [changed] if isinstance(changed, str) else (*_terms(study, changed), *_stages(study, changed))
        yield from (f"grid.{key}: {line}" for line in wrong if line not in known)


def _wrong_axes(study: Study, student: Student) -> Iterator[str]:
    """Yield each axis of the grid over which a student is tuned that changes nothing of its training."""
    protocol, is_specific = study.protocols[student.protocol], student.distilled_on == "task"
    for key in student.grid.axes if student.grid else ():
        if key.startswith(STAGES) and not is_specific:
            yield f"grid.{key}: a student of a corpus is tuned where it is fine-tuned, without stages; leave it out"
    own = [student.grid] if student.grid else [protocol.grid, *protocol.grids.values()]
    for field in dict.fromkeys(key for grid in own if grid and is_specific for key in grid.axes):
        if all(field in stage.schedule for stage in student.stages):
            yield f"grid.{field}: every stage gives its own '{field}'; try 'stages.1.schedule.{field}' instead"


def _changed_by_axes(student: Student) -> Iterator[tuple[str, Student | str]]:
    """Yield (key, the student with a value on an axis of its own grid, or what is wrong with the value)."""
    for key, values in student.grid.axes.items() if student.grid and student.distilled_on == "task" else ():
        for value in values if key.startswith(STAGES) else ():
            try:
                yield key, at_point(student, {key: value})
            except ValidationError as error:
                yield from ((key, line) for line in readable(error))
            except ValueError as error:
                yield key, str(error)


def _stages(study: Study, student: Student) -> Iterator[str]:
    """Yield what is wrong with the schedules of a student's stages."""
    protocol = study.protocols[student.protocol]
    for number, stage in enumerate(student.stages, start=1):
        wrong = wrong_schedule("schedule", protocol, "", stage.schedule)
        for task in stage.tasks:
            wrong += wrong_schedule(f"tasks.{task}", protocol, task, *stage.changes(task))
        wrong += wrong_lengths(study, stage.schedule.get("max_length"), stage.tasks)
        yield from (f"stages.{number}.{line}" for line in wrong)


def _misfits(study: Study, name: str) -> Iterator[str]:
    """Yield each reason, in sizes, why a student cannot start or cannot learn from its teacher."""
    for check in (_layers, _parent, _checkpoint):
        yield from (f"initialisation.{line}" for line in check(study, name))
    yield from _terms(study, study.students[name])


def _terms(study: Study, student: Student) -> Iterator[str]:
    """Yield each reason, in sizes, why a term cannot be computed for a student and its teacher."""
    teacher = study.model_of(student.teacher).architecture
    for number, stage in enumerate(student.stages, start=1):
        for index, term in enumerate(stage.terms, start=1):
            for line in term_problems(term, student.architecture, teacher, student.initial_layers):
                yield f"stages.{number}.terms.{index}{line}"


def _layers(study: Study, name: str) -> Iterator[str]:
    """Yield a line if the teacher lacks a layer that is copied, or if its layers have another shape."""
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


def _parent(study: Study, name: str) -> Iterator[str]:
    """Yield a line if the student that this one starts from starts from this one, or does not fit."""
    student = study.students[name]
    start = student.initialisation.student
    if start is None:
        return
    *line, last = lineage(study, name)
    first = study.students[last].initialisation.student
    if first in (*line, last):
        if first == name:  # a circle without this student is reported for the students in it
            yield f"student: '{name}' starts from itself: {' <- '.join([*line, last, name])}"
        return
    other = study.students[start]
    if other.architecture != student.architecture or other.distilled_on == "task":
        yield f"student: '{start}' is not a task-agnostic student of the same architecture"
    yield from _vocabulary(study, name, "student", start, study.model_of(other.teacher))


def _checkpoint(study: Study, name: str) -> Iterator[str]:
    """Yield a line if the published model that a student starts from has other sizes or tokens."""
    student = study.students[name]
    start = student.initialisation.checkpoint
    if start is None:
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


def term_problems(
    term: Term, student: Architecture, teacher: Architecture, initial_layers: list[int] | None = None
) -> Iterator[str]:
    """Yield one line for each reason why a term cannot be computed for two models; the line begins with the key.

    Args:
        term: the term.
        student: the architecture of the student.
        teacher: the architecture of the teacher.
        initial_layers: the teacher layers that the student starts from; None if it starts from something else.
    """
    entry = catalogue.objectives()[term.objective]
    options = {**entry.options, **term.options}
    try:
        pairs = layer_pairs(term, student.layers, teacher.layers, initial_layers)
    except RetortError as error:
        if term.mapping != "initial" or initial_layers is None:  # else the initialisation has a line for it
            yield f".mapping: {error}"
    else:
        read = {name for name in entry.activations if name != "scores" or options.get("attention", True)}
        inside = {name for each in read for name in catalogue.BASIS.get(each, (each,))} - {"hidden"}
        if inside and any(0 in pair for pair in pairs):
            yield (
                f".mapping: layer 0 is the output of the embeddings, which has no {', '.join(sorted(inside))}; "
                f"objective '{term.objective}' takes layers from 1 on"
            )
    sizes = [ModelSize(shape.hidden, shape.heads) for shape in (student, teacher)]
    for misfit in Requirements.of(entry.facts).unmet(options, *sizes):
        key = f".options.{misfit.option}" if misfit.option in term.options else ""
        yield f"{key}: objective '{term.objective}': {misfit.message}; {misfit.hint}"
