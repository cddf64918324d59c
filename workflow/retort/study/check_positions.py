"""Check that no model reads longer texts than it has positions for: rows of tasks, blocks of corpora, timed rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from retort.study.study import Study


def problems(study: Study) -> Iterator[tuple[Path, str]]:
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
