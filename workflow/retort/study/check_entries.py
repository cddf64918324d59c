"""Checks of models, tasks, corpora, protocols and students against each other: names, schedules, lengths, sizes.

Every check yields (file, what is wrong with it); those of one student yield lines that begin with a key of its file. It
runs once each file is right by itself, so that all names are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from retort.errors import RetortError
from retort.specs import catalogue
from retort.specs.base import check_known
from retort.specs.exhibit import metrics_by_student, shown_students, timed_models
from retort.specs.loading import Found, readable_mistakes
from retort.specs.model import Architecture, Model
from retort.specs.protocol import OF_ROWS, STAGES, Protocol
from retort.specs.source import HubSource
from retort.specs.student import ModelSize, Requirements, Student, Term
from retort.study.cells import tasks_scored
from retort.study.questions import at_point, files_of, start_lineage
from retort.study.study import Study

SCHEDULES, GRIDS = ("schedule", "tasks"), ("grid", "grids")  # keys of a file: for all data sets, and for each


def check_data(study: Study) -> Iterator[Found]:
    """Yield what is wrong with the models, tasks, corpora and protocols of a study, and with their names."""
    yield from _taken_names(study)
    yield from _tokenizers(study)
    for name in study.protocols:
        path = study.files["protocols", name]
        inside = f"protocols.{name}." if path.name == "paper.yaml" else ""
        yield from ((path, f"{inside}{line}") for line in _protocol(study, name))
    yield from check_positions(study)


def _taken_names(study: Study) -> Iterator[Found]:
    """Yield a line for each entry whose results would have the path of another's.

    A student and a teacher, or a task and a corpus, must differ in name. No task is called 'model', and no corpus
    'task'.
    """
    for folder, name, why in (
        ("tasks", "model", "results/students/<student>/model holds what was distilled on a corpus"),
        ("corpora", "task", "`data: task` in a stage means the student's own task"),
    ):
        if name in getattr(study, folder):
            yield study.files[folder, name], f"'{name}' is taken: {why}; rename the file"
    for folder in ("tasks", "corpora", "models", "sources", "students", "teachers"):
        first = dict[str, str]()
        for name in getattr(study, folder):
            if (other := first.setdefault(name.casefold(), name)) != name:
                why = f"differs from '{other}' in case alone: some file systems hold both as one"
                yield study.files[folder, name], f"'{name}' {why}; rename one of the two"
    for folder, other, whose in (("students", "teachers", "scores"), ("tasks", "corpora", "teachers")):
        for name in sorted(getattr(study, folder).keys() & getattr(study, other).keys()):
            why = f"is also one of the {other}: their {whose} would have one address"
            yield study.files[folder, name], f"'{name}' {why}; rename one of the two"


def _tokenizers(study: Study) -> Iterator[Found]:
    """Yield a line for each model that names another's tokenizer and has not as many tokens, or names its own."""
    for name, model in study.models.items():
        if model.tokenizer is None:
            continue
        other, where = study.models[model.tokenizer], study.files["models", name]
        if other is model:
            yield where, "tokenizer: leave it out; without it, a model has its own"
        elif other.tokenizer:
            yield where, f"tokenizer: '{model.tokenizer}' has that of '{other.tokenizer}'; name this one"
        elif other.vocabulary != model.vocabulary:
            sizes = f"'{model.tokenizer}' has {other.vocabulary} tokens, '{name}' {model.vocabulary}"
            yield where, f"tokenizer: {sizes}; they cannot share one"


def _protocol(study: Study, name: str) -> Iterator[str]:
    protocol = study.protocols[name]
    yield from wrong_lengths(study, protocol.schedule.max_length, protocol.tasks)
    everywhere = protocol.grid.axes.get("max_length") if protocol.grid else None
    yield from wrong_lengths(study, everywhere, {task: grid.axes for task, grid in protocol.grids.items()}, GRIDS)
    for task in (name for name in protocol.tasks if name in study.tasks):
        grid, lengths = protocol.grid_of(task)[0], {"steps", "epochs"}
        tried = set(grid.axes) if grid else set()
        for field in sorted((tried | (lengths if tried & lengths else set())) & set(protocol.tasks[task])):
            where = f"grids.{task}" if task in protocol.grids else "grid"
            yield f"tasks.{task}.{field}: '{where}' tries its own; give it there, in 'grids.{task}'"
    for task, metric in protocol.metric_for_best_model.items():
        measures = study.tasks[task].measures(study.tasks[task].validation_split)
        yield from check_known(f"metric_for_best_model.{task}", "metric", [metric], measures)
    students = [student for student in study.students.values() if student.protocol == name]
    is_taught = any(teacher.protocol == name for teacher in study.teachers.values())
    if (protocol.grid or protocol.grids) and students and not is_taught and all(each.grid for each in students):
        key = "grid" if protocol.grid else "grids"
        yield f"{key}: nothing is tuned over it, for each student of this protocol has its own; leave it out"


def wrong_schedule(where: str, protocol: Protocol, task: str, *changes: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the schedule of a protocol for a task with these changes.

    Args:
        where: the key that gives the changes.
        protocol: the protocol.
        task: the task; empty for a schedule without the changes of a task.
        *changes: further changes; later ones override earlier ones.
    """
    try:
        protocol.for_task(task, *map(dict, changes))
    except ValidationError as error:
        return readable_mistakes(error, None, where)
    return []


def wrong_lengths(
    study: Study, everywhere: Any, tasks: Mapping[str, Mapping[str, Any]], keys: tuple[str, str] = SCHEDULES
) -> Iterator[str]:
    """Yield a line for each field on the rows of tasks, or on their lengths, that is not allowed.

    Only a task whose rows are single texts may have a `max_length`: a row of two texts cannot be cut without a decision
    about which of the two to cut. The blocks of a corpus have one length: there is nothing to cut, to group or to pad.

    Args:
        study: the study.
        everywhere: the length that is given, or the lengths that are tried, for all data sets; None if there is none.
        tasks: the name of a task or corpus -> the fields of the schedule that the file changes, or tries, for it.
        keys: the keys of the file that hold the two.
    """
    whole, each = keys
    if everywhere is not None:
        yield f"{whole}.max_length: not every row can be cut; give it to the tasks that it is for, under '{each}'"
    for name, changed in tasks.items():
        for field in (field for field in OF_ROWS if name in study.corpora and field in changed):
            yield f"{each}.{name}.{field}: it is for the rows of tasks, not for the blocks of a corpus; leave it out"
        if changed.get("max_length") is None:
            continue
        if name in study.corpora:
            yield f"{each}.{name}.max_length: the blocks of a corpus have one length, its 'block'"
        elif name in study.tasks and not study.tasks[name].of_single_texts:
            yield f"{each}.{name}.max_length: only single texts are cut, and the rows of '{name}' hold two"


def check_positions(study: Study) -> Iterator[Found]:
    """Yield a line for each task, corpus or exhibit with longer texts than one of its models has positions for.

    Names that an exhibit gives and that are not known have lines of their own.
    """
    for (paper, name), exhibit in study.exhibits.items():
        timed, scored = timed_models(exhibit), metrics_by_student(exhibit)
        for student in (each for each in shown_students(exhibit) if each in study.students or each in study.teachers):
            for task in dict.fromkeys(task for task, _ in scored.get(student, ()) if task in study.tasks):
                length = study.tasks[task].max_length
                for line in _too_long(study, student, f"max_length: rows of {length} tokens", length):
                    yield study.files["tasks", task], line
            for timing in sorted(timed.get(student, ())):
                path, key = study.place_of(paper, name)
                for line in _too_long(
                    study, student, f"{key}length: timed rows of {timing.length} tokens", timing.length
                ):
                    yield path, line
    for name, student_spec in study.students.items():
        for corpus in dict.fromkeys(stage.data for stage in student_spec.stages if stage.data in study.corpora):
            length = study.corpora[corpus].block
            for line in _too_long(study, name, f"block: {length} tokens", length):
                yield study.files["corpora", corpus], line


def _too_long(study: Study, name: str, what: str, length: int) -> Iterator[str]:
    """Yield a line for each known model behind a student or teacher that has fewer positions than `length`."""
    student = study.students.get(name)
    for model in (student and student.initialisation.checkpoint, study.teachers[study.teacher_of(name)].model):
        if model and length > study.models[model].positions:
            yield f"{what}, and model '{model}' takes {study.models[model].positions}"


def check_sources(study: Study) -> Iterator[Found]:
    """Yield a line for each hub commit without a note of where it was read, and each scored task without files."""
    for name, source in study.sources.items():
        if isinstance(source, HubSource) and source.hub.commit and not source.hub.found:
            yield study.files["sources", name], "hub.found: say where the commit was read"
    for name in sorted(tasks_scored(study)):
        task = study.tasks[name]
        try:
            for split in task.read_splits:
                files_of(study, task, split)
        except RetortError as error:  # the other splits would repeat the same problem
            yield study.files["tasks", name], str(error)


# --- students


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
        if key == "max_length":
            yield "grid.max_length: not every row can be cut; let 'grids' of the protocol try it, on single texts"
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
                yield from ((key, line) for line in readable_mistakes(error))
            except ValueError as error:
                yield key, str(error)


def _stages(study: Study, student: Student) -> Iterator[str]:
    """Yield what is wrong with the schedules of a student's stages."""
    protocol = study.protocols[student.protocol]
    for number, stage in enumerate(student.stages, start=1):
        wrong = wrong_schedule("schedule", protocol, "", stage.schedule)
        for task in stage.tasks:
            wrong += wrong_schedule(f"tasks.{task}", protocol, task, *stage.changes(task).values())
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
    *line, last = start_lineage(study, name)
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
    """Yield a line if the released model that a student starts from has other sizes or tokens."""
    student = study.students[name]
    start = student.initialisation.checkpoint
    if start is None:
        return
    reported, required = study.models[start].architecture.model_dump(), student.architecture.model_dump()
    for size in sorted({*reported, *required} - {"heads"}):  # the number of heads changes the shape of no weight
        if reported.get(size) != required.get(size):
            yield (
                f"checkpoint: '{start}' has {size}: {reported.get(size, 'none')}, "
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
        pairs = term.layer_pairs(student.layers, teacher.layers, initial_layers)
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
