"""Where the values of a student's job come from: the line of a YAML file, a default, or the scale."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from retort.plan import resolve
from retort.plan.plan import relative_to_here
from retort.plan.resolve import TracedSchedule, traced_schedule
from retort.settings.trainings import TermSettings
from retort.specs.loading import Problems
from retort.specs.model import with_sizes
from retort.specs.protocol import OF_ROWS, SettingKey
from retort.specs.student import Student
from retort.specs.yaml_reader import read_yaml
from retort.study import questions
from retort.study.cells import of_folder
from retort.study.families import student_entries
from retort.study.questions import fitted_on
from retort.study.study import Study

KEYS_OF_PLACES = ("hub", "path", "package")  # the key of a source's file that says where its files come from
DEFAULT = "default of"  # the beginning of the origin of a value that no file gives
SCALED = ("steps", "epochs", "decay_steps")  # what the factor of a stage multiplies
Step = str | int  # a key of a mapping, or the index of a list's entry


@dataclass(frozen=True)
class Value:
    """A value of a job and its origin.

    Args:
        key: dotted keys, such as 'stages.1.terms.1.weight'; entries of lists count from 1.
        value: the value as the job uses it.
        origin: 'file:line', 'default of ...' or the scale.
    """

    key: str
    value: Any
    origin: str

    @property
    def is_default(self) -> bool:
        """Whether no file gives the value."""
        return self.origin.startswith(DEFAULT)

    def is_named(self, pattern: str) -> bool:
        """Return whether a deviation's pattern of keys means the value, or what it is a part of."""
        return fnmatchcase(self.key, pattern) or fnmatchcase(self.key, f"{pattern}.*")


@dataclass(frozen=True)
class YamlContent:
    """The content of a YAML file, or of one entry of it; each key knows its line."""

    path: Path
    content: Any

    @functools.cached_property
    def place(self) -> str:
        """The path as it is printed."""
        return relative_to_here(self.path)

    @functools.cached_property
    def lines(self) -> dict[tuple[Step, ...], int]:
        """The steps that lead to a value -> its line."""
        return dict(numbered(self.content, 0))

    def line(self, *steps: Step) -> str:
        """Return 'file:line' of the value that the steps lead to; empty if the file does not give it."""
        return f"{self.place}:{self.lines[steps]}" if steps in self.lines else ""

    def value(self, steps: tuple[Step, ...], value: Any, key: str = "") -> Value:
        """Return a value that the file gives under these steps, or that is a default."""
        key = key or dotted(*steps)
        return Value(key, value, self.line(*steps) or f"{DEFAULT} '{key.rpartition('.')[2]}'")


def numbered(content: Any, line: int, *steps: Step) -> Iterator[tuple[tuple[Step, ...], int]]:
    """Yield the steps to every value, also to mappings and lists, with its line; that of `content` itself is given."""
    yield steps, line
    if isinstance(content, dict):
        for key, value in content.items():
            yield from numbered(value, getattr(key, "line", line), *steps, key)
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from numbered(value, line, *steps, index)


def leaves(content: Any, *steps: Step) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Yield every value of nested mappings, and of lists of mappings, with the steps that lead to it."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from leaves(value, *steps, key)
    elif isinstance(content, list) and any(isinstance(entry, dict) for entry in content):
        for index, entry in enumerate(content):
            yield from leaves(entry, *steps, index)
    else:
        yield steps, content


def dotted(*steps: Step) -> str:
    """Return steps as dotted keys; entries of lists count from 1."""
    return ".".join(str(step + 1) if isinstance(step, int) else step for step in steps)


class WrittenFiles:
    """The YAML files of a study; each file and entry is read once.

    Args:
        study: the study as its files have it.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._content = functools.cache(functools.partial(read_yaml, marked=True))
        self.entry, self.file = functools.cache(self._entry), functools.cache(self._file)
        self._students = functools.cache(lambda path: student_entries(path, Problems(), marked=True))

    def _entry(self, student: str) -> YamlContent:
        """Return a student's entry in its students.yaml, families expanded."""
        path = self.study.files["students", student]
        entry = self._students(path)[student.removeprefix(f"{path.parent.name}-")][1]
        return YamlContent(path, {**entry, "architecture": with_sizes(entry["architecture"], self.study.models)})

    def _file(self, folder: str, name: str) -> YamlContent:
        """Return the file of a task, corpus, model, protocol or source, or of the paper of a teacher.

        Of a protocol that stands in a paper.yaml, this is its entry there.
        """
        path = self.study.files[folder, name]
        inside = path.name == "paper.yaml" and folder == "protocols"
        return YamlContent(path, self._content(path)[folder][name] if inside else self._content(path))


class Origins:
    """The values of the jobs of one student, with their origins.

    Args:
        files: the files of the study.
        name: the full name of a student.
        task: the task; empty for the settings that hold on every task.
    """

    def __init__(self, files: WrittenFiles, name: str, task: str) -> None:
        self.name, self.task, self.file, self.entry = name, task, files.file, files.entry(name)

    def values(self, study: Study) -> Iterator[Value]:
        """Yield every value of the student's jobs, with its origin in the study as written.

        Args:
            study: the study that the values are taken from, as written or after its scale was applied.
        """
        student = study.students[self.name]
        protocol, protocol_file = study.protocols[student.protocol], self.file("protocols", student.protocol)
        fields = {"teacher", "protocol", "architecture", "initialisation", "pooler_relu", "version"}
        for steps, value in leaves(student.model_dump(include=fields)):
            copies = student.initial_layers is not None or steps != ("initialisation", "of")
            if value not in (None, False) and copies:
                yield self.entry.value(steps, value)
        yield from self._stages(study, student)
        if student.distilled_on == "corpus":
            yield from self._schedule("finetuning", traced_schedule(protocol, self.task), student.protocol, False)
        yield from self._grid(study, student)
        for key in ("seeds", *(["distillation_seeds"] if protocol.distillation_seeds else [])):
            yield Value(key, getattr(protocol, key), protocol_file.line(key))
        yield from self._teacher(study, student)
        for corpus in dict.fromkeys(stage.data for stage in student.stages if stage.data != "task"):
            yield from self._file_values("corpora", corpus, study.corpora[corpus], "components")
        needed = questions.of_student(study, self.name)
        if self.task:
            skipped = ("read", "splits", "submission")
            yield from self._file_values("tasks", self.task, study.tasks[self.task], *skipped)
            needed |= questions.of_task(study, self.task)
        for name in sorted(of_folder("sources", needed)):
            source, written = study.sources[name], self.file("sources", name)
            is_local = source.location(study.config) == "local"
            origin = study.config.file if is_local else next(filter(None, map(written.line, KEYS_OF_PLACES)), "")
            yield Value(f"sources.{name}", source.place(study.config), origin)

    def _grid(self, study: Study, student: Student) -> Iterator[Value]:
        """Yield the axes of the grid over which the student is tuned: its own, or its protocol's."""
        grid, key = questions.keyed_grid(study, self.name, self.task)
        prefix = "finetuning." * (student.distilled_on == "corpus")
        for axis, values in {**grid.axes, "seed": grid.seed}.items() if grid else ():
            yield self._at(key, student.protocol).value((*key.steps, axis), values, f"{prefix}grid.{axis}")

    def _stages(self, study: Study, student: Student) -> Iterator[Value]:
        """Yield the settings of the stages, as their jobs have them."""
        every = resolve.settings_of_stages(study, student, self.task)
        schedules = resolve.traced_stages(student, study.protocols[student.protocol], self.task)
        for index, (stage, settings, traced) in enumerate(zip(student.stages, every, schedules, strict=True)):
            at = ("stages", index)
            yield self.entry.value((*at, "data"), stage.data)
            numbers = [number for number, term in enumerate(stage.terms) if self.task not in term.not_on]
            for number, term in zip(numbers, settings.terms, strict=True):
                yield from self._term(term, (*at, "terms", number))
            yield from self._schedule(f"{dotted(*at)}.schedule", traced, student.protocol, stage.data in study.corpora)
            yield self.entry.value((*at, "steps_factor"), stage.steps_factor)
            yield self.entry.value((*at, "teacher_dropout"), stage.teacher_dropout)

    def _term(self, term: TermSettings, at: tuple[Step, ...]) -> Iterator[Value]:
        yield self.entry.value((*at, "objective"), term.objective)
        yield Value(dotted(*at, "version"), term.version, f"code of objective '{term.objective}'")
        if term.pairs:
            yield Value(dotted(*at, "pairs"), [list(pair) for pair in term.pairs], self.entry.line(*at, "mapping"))
        yield self.entry.value((*at, "weight"), term.weight)
        for option, value in term.options.items():
            origin = self.entry.line(*at, "options", option) or f"{DEFAULT} objective '{term.objective}'"
            yield Value(dotted(*at, "options", option), value, origin)

    def _schedule(self, where: str, traced: TracedSchedule, protocol: str, of_corpus: bool) -> Iterator[Value]:
        """Yield the fields of a schedule, each from the key that gave it.

        Args:
            where: the dotted keys of the schedule.
            traced: the schedule.
            protocol: the name of its protocol.
            of_corpus: whether it is of a corpus.
        """
        for field, value in traced.schedule:
            if (value is None and field in ("steps", "epochs")) or (of_corpus and field in OF_ROWS):
                continue
            key = traced.given_by.get(field)
            origin = self._at(key, protocol).line(*key.steps, field) if key else f"{DEFAULT} '{field}'"
            is_scaled = traced.factor != 1 and value is not None and field in SCALED
            yield Value(f"{where}.{field}", value, origin + f", times {traced.factor:g}" * is_scaled)

    def _at(self, key: SettingKey, protocol: str) -> YamlContent:
        """Return the content in which a key stands."""
        return self.entry if key.of == "student" else self.file("protocols", protocol)

    def _teacher(self, study: Study, student: Student) -> Iterator[Value]:
        teacher, file = study.teachers[student.teacher], self.file("teachers", student.teacher)
        entry = ("teachers", student.teacher.removeprefix(f"{file.path.parent.name}-"))
        for field in ("model", "protocol", "seed", "version"):
            yield file.value((*entry, field), getattr(teacher, field), f"teacher.{field}")
        on_task = student.distilled_on == "task"
        trained_on = None if on_task else fitted_on(study, self.name)  # the corpus of a new masked-LM head
        if trained_on or (on_task and resolve.reads_teacher(student)):
            traced = traced_schedule(study.protocols[teacher.protocol], trained_on or self.task)
            yield from self._schedule("teacher.schedule", traced, teacher.protocol, trained_on is not None)
        yield from self._file_values("models", teacher.model, study.models[teacher.model])

    def _file_values(self, folder: str, name: str, spec: Any, *skipped: str) -> Iterator[Value]:
        """Yield the values in the file of a task, corpus or model, except title, sample and the skipped fields."""
        file = self.file(folder, name)
        for steps, value in leaves(spec.model_dump(exclude={"title", "sample", *skipped}, exclude_unset=True)):
            yield file.value(steps, value, f"{folder}.{name}.{dotted(*steps)}")


def setting_values(written: Study, study: Study, name: str, task: str) -> list[Value]:
    """Return the values of a student's jobs.

    Args:
        written: the study as its files have it.
        study: the same study after its scale was applied.
        name: the full name of a student.
        task: the task; empty for the settings that hold on every task.
    """
    origins = Origins(WrittenFiles(written), name, task)
    as_written = {value.key: value for value in origins.values(written)}
    scale = f"scale '{study.config.scale}'"

    def at_scale(value: Value) -> Value:
        before = as_written.get(value.key, Value(value.key, None, value.origin))
        return before if before.value == value.value else Value(value.key, value.value, scale)

    return list(map(at_scale, origins.values(study)))
