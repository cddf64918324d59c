"""Check where `max_length` and `group_by_length` are set.

Only a task whose rows are single texts may have a `max_length`: a row of two texts cannot be cut without a decision
about which of the two to cut. The blocks of a corpus have one length, so there is nothing to cut or to group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from retort.study.study import Study


def length_problems(study: Study, everywhere: Any, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line for each `max_length` or `group_by_length` that is not allowed; the line begins with the key.

    Args:
        study: the study.
        everywhere: the length that the schedule gives for all data sets; None if it gives none.
        tasks: the name of a task or corpus -> the fields of the schedule that the file changes for it.
    """
    if everywhere is not None:
        yield "schedule.max_length: not every row can be cut; give it to the tasks that it is for, under 'tasks'"
    for name, changed in tasks.items():
        if name in study.corpora and "group_by_length" in changed:
            yield f"tasks.{name}.group_by_length: the blocks of a corpus have one length; leave it out"
        if changed.get("max_length") is None:
            continue
        if name in study.corpora:
            yield f"tasks.{name}.max_length: the blocks of a corpus have one length, its 'block'"
        elif name in study.tasks and not study.tasks[name].of_single_texts:
            yield f"tasks.{name}.max_length: only single texts are cut, and the rows of '{name}' hold two"


# Check that no model reads longer texts than it has positions for: rows of tasks, blocks of corpora, timed rows.


def position_problems(study: Study) -> Iterator[tuple[Path, str]]:
    """Yield (file, line) for each task, corpus or exhibit with longer texts than one of its models takes."""
    for (paper, name), exhibit in study.exhibits.items():
        path = study.files["exhibits", f"{paper}/{name}"]
        for student in exhibit.students():
            for task in dict.fromkeys(task for task, _ in exhibit.metrics_of(student) if task in study.tasks):
                length = study.tasks[task].max_length
                for line in _too_long(study, student, f"max_length: rows of {length} tokens", length):
                    yield study.files["tasks", task], line
            for timing in sorted(exhibit.timed.get(student, ())):
                for line in _too_long(study, student, f"length: timed rows of {timing.length} tokens", timing.length):
                    yield path, line
    for name, student_spec in study.students.items():
        for corpus in dict.fromkeys(stage.data for stage in student_spec.stages if stage.data in study.corpora):
            length = study.corpora[corpus].block
            for line in _too_long(study, name, f"block: {length} tokens", length):
                yield study.files["corpora", corpus], line


def _too_long(study: Study, name: str, what: str, length: int) -> Iterator[str]:
    """Yield a line for each model behind a student or teacher that has fewer positions than `length`."""
    for model in _models(study, name):
        positions = study.models[model].positions
        if length > positions:
            yield f"{what}, and model '{model}' takes {positions}"


def _models(study: Study, name: str) -> Iterator[str]:
    """Yield the known models whose files decide how many positions a student or teacher has."""
    start = None
    if name in study.students:
        start, name = study.students[name].initialisation.checkpoint, study.students[name].teacher
    teacher = study.teachers.get(name)
    yield from (model for model in (start, teacher and teacher.model) if model and model in study.models)
