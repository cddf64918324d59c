"""Checks of models, tasks, corpora and protocols against each other: names, tokenizers, schedules, lengths of texts.

Every check yields (file, what is wrong with it). It runs once each file is right by itself, so that all names are
known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from retort.errors import RetortError
from retort.specs.exhibit import check_known
from retort.specs.loading import Found, readable
from retort.specs.protocol import OF_ROWS, Protocol
from retort.study.cells import tasks_scored
from retort.study.questions import files_of
from retort.study.study import Study


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
    for task in (name for name in protocol.tasks if name in study.tasks):
        grid, lengths = protocol.grid_of(task), {"steps", "epochs"}
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
        return readable(error, None, where)
    return []


def wrong_lengths(study: Study, everywhere: Any, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each field on the lengths of rows that is not allowed.

    Only a task whose rows are single texts may have a `max_length`: a row of two texts cannot be cut without a decision
    about which of the two to cut. The blocks of a corpus have one length: there is nothing to cut, to group or to pad.

    Args:
        study: the study.
        everywhere: the length that the schedule gives for all data sets; None if it gives none.
        tasks: the name of a task or corpus -> the fields of the schedule that the file changes for it.
    """
    if everywhere is not None:
        yield "schedule.max_length: not every row can be cut; give it to the tasks that it is for, under 'tasks'"
    for name, changed in tasks.items():
        for field in (field for field in OF_ROWS if name in study.corpora and field in changed):
            yield f"tasks.{name}.{field}: the blocks of a corpus have one length; leave it out"
        if changed.get("max_length") is None:
            continue
        if name in study.corpora:
            yield f"tasks.{name}.max_length: the blocks of a corpus have one length, its 'block'"
        elif name in study.tasks and not study.tasks[name].of_single_texts:
            yield f"tasks.{name}.max_length: only single texts are cut, and the rows of '{name}' hold two"


def check_positions(study: Study) -> Iterator[Found]:
    """Yield a line for each task, corpus or exhibit with longer texts than one of its models has positions for.

    Names that an exhibit gives and that are not known have lines of their own.
    """
    for (paper, name), exhibit in study.exhibits.items():
        for student in (each for each in exhibit.students() if each in study.students or each in study.teachers):
            for task in dict.fromkeys(task for task, _ in exhibit.metrics_of(student) if task in study.tasks):
                length = study.tasks[task].max_length
                for line in _too_long(study, student, f"max_length: rows of {length} tokens", length):
                    yield study.files["tasks", task], line
            for timing in sorted(exhibit.timed.get(student, ())):
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
    """Yield a line for each scored task without files where its source is."""
    for name in sorted(tasks_scored(study)):
        task = study.tasks[name]
        try:
            for split in task.used if task.splits else []:
                files_of(study, task, split)
        except RetortError as error:  # the other splits would repeat the same problem
            yield study.files["tasks", name], str(error)
