"""Exhibits: what the YAML file of a table or figure says, what it answers about itself, and the registries of kinds.

A kind of table is a file of `retort/tables/kinds`, a kind of figure one of `retort/tables/figures`. Its class reads the
YAML file, answers the questions of `Answers`, collects its frame, and prints or draws it. No other code of the
package depends on the kind of an exhibit.

Only `exhibit_type` looks for kinds. It imports the files of these two folders by name, because those packages import
this one, and those of the study's folders `tables` and `figures`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Protocol, Self, TypeVar, get_args

from pydantic import Field

from retort import own_code
from retort.registry import Registry
from retort.specs.base import Label, OptionalText, Spec, Text
from retort.specs.model import Model
from retort.specs.reported import ReportedCell, Timing
from retort.specs.rows import CellSpec, Judging, Row

MAPPINGS = "mappings"  # first of the dotted keys that read the mappings of all students of a paper together


@dataclass(frozen=True)
class SettingsCell:
    """A cell that shows a setting of ours: whose, under which keys, and how the paper reports the value.

    Args:
        row: the name of its row.
        column: the name of its column.
        student: whose settings are read; empty for those of all students of the paper together.
        task: the task on which the settings are read; empty for those of a task-agnostic distillation.
        reads: the dotted keys of the setting.
        formatter: the name of the formatter; empty for 'plain'.
        reported_as: value -> how the paper reports it.
    """

    row: str
    column: str
    student: str
    task: str
    reads: str
    formatter: str
    reported_as: dict[str, str]


class StudyNames(Protocol):
    """The names in a study that an exhibit may use."""

    @property
    def exhibits(self) -> Mapping[tuple[str, str], Exhibit]:
        """The tables and figures by paper and name."""

    @property
    def files(self) -> Mapping[tuple[str, str], object]:
        """The file of each entry; its key is ('facts', 'name') for a data set of facts.yaml."""

    def model_of(self, teacher: str) -> Model:
        """Return the pre-trained model of a teacher."""

    def teacher_of(self, name: str) -> str:
        """Return the name of a student's teacher; a teacher is its own."""

    def trained_on(self, name: str) -> str:
        """Return what a student's stages train on, 'task' or 'corpus'; empty for a teacher or without stages."""


class Answers:
    """The answers of a table or figure: those that kinds override. What follows from them are the functions below."""

    # --- what it shows of our students and teachers

    def cells(self) -> list[CellSpec]:
        """Return every cell or point that shows a model, row by row."""
        return []

    @property
    def first(self) -> str:
        """The student or teacher that speed-ups are relative to; empty if no cell is timed."""
        return next((cell.student for cell in self.cells() if cell.is_timed), "")

    def timed_without_gpu(self) -> Self:
        """Return the exhibit with each latency on a GPU measured on the device of the job instead."""
        return self

    def rows_and_columns(self) -> dict[str, list[str]]:
        """Return the rows by name, each with the names of its columns, as statements may name them."""
        rows: dict[str, list[str]] = {}
        for cell in self.cells():
            rows.setdefault(cell.row, []).append(cell.column)
        return rows

    def settings_cells(self) -> list[SettingsCell]:
        """Return the cells that show a setting of ours."""
        return []

    def trainings(self) -> list[tuple[str, str]]:
        """Return (student, task) of each training whose cost it shows; no task for a task-agnostic student."""
        return []

    def judging(self, column: str) -> list[Judging]:
        """Return the levels below the paper that can set a column's assumed deviation, nearest first."""
        return []

    # --- how it depends on other exhibits

    def compared_rows(self) -> dict[str, Row]:
        """Return its rows of scores by name; empty if paired tests cannot compare them."""
        return {}

    def compares(self) -> list[str]:
        """Return the tables of its paper whose scores it compares, instead of reading scores of its own."""
        return []

    def drawn_tables(self) -> list[str]:
        """Return the tables of its paper whose frames it reads."""
        return []

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each mistake that only the rest of the study reveals.

        Students, teachers, tasks and metrics of `cells` are checked elsewhere.

        Args:
            study: the study.
            paper: the paper to which it belongs.
        """
        yield from ()

    # --- what the paper reports, or a recorded run of ours

    def paper_cells(self) -> list[ReportedCell]:
        """Return every cell as the paper reports it."""
        return []

    def reported_cells(self) -> list[ReportedCell]:
        """Return every reported cell: as a paper reports it, or as recorded from a run of ours."""
        return self.paper_cells()

    @property
    def digits(self) -> int:
        """The decimals of our values as reported."""
        return 1


class Exhibit(Answers, Spec):
    """A table or figure of a paper: what every file of one says, and the answers that follow.

    Args:
        title: what it is, in one line.
        question: what it answers, in one sentence.
        caption: what stands below it: data, units, number of runs.
    """

    kind: str
    title: Label
    question: Text
    caption: OptionalText = ""


def exhibits_of(study: StudyNames, paper: str) -> dict[str, Exhibit]:
    """Return the tables and figures of a paper by name."""
    return {name: exhibit for (slug, name), exhibit in study.exhibits.items() if slug == paper}


# --- what a table or figure shows of students and teachers, as it follows from its answers, whatever its kind


def shown_students(exhibit: Exhibit) -> list[str]:
    """Return the students and teachers that it names, each once."""
    students = [student for cell in exhibit.cells() for student in cell.students]
    trained = [student for student, _ in exhibit.trainings()]
    return list(dict.fromkeys([*students, *filter(None, [exhibit.first]), *trained]))


def scored_metrics(exhibit: Exhibit) -> list[tuple[str, str]]:
    """Return the (task, metric) pairs of its scores, each once."""
    return list(dict.fromkeys(pair for cell in exhibit.cells() for pair in cell.scored))


def metrics_by_student(exhibit: Exhibit) -> dict[str, list[tuple[str, str]]]:
    """Return student -> the (task, metric) pair of every score that it shows of the student, in the order of cells."""
    pairs = dict[str, list[tuple[str, str]]]()
    for cell in exhibit.cells():
        for student in dict.fromkeys(cell.students):
            pairs.setdefault(student, []).extend(cell.scored)
    return pairs


def timed_models(exhibit: Exhibit) -> dict[str, set[Timing]]:
    """Return the latency measurements that it requires: student or teacher -> measurements."""
    timed, first = dict[str, set[Timing]](), exhibit.first
    for cell in exhibit.cells():
        for name in (cell.student, first) if cell.is_timed else ():
            timed.setdefault(name, set()).add(cell.measurement)
    return timed


def profiled_models(exhibit: Exhibit) -> list[str]:
    """Return the students and teachers whose profile it reads, each once."""
    students = [cell.student for cell in exhibit.cells() if cell.student and cell.profiled]
    return list(dict.fromkeys([*students, *timed_models(exhibit)]))


# --- kinds

table_kinds: Registry[type[Exhibit]] = Registry("kind of table")
figure_kinds: Registry[type[Exhibit]] = Registry("kind of figure")
KINDS = {"table": (table_kinds, "retort.tables.kinds"), "figure": (figure_kinds, "retort.tables.figures")}
Kind = TypeVar("Kind", bound=Exhibit)


def _register(registry: Registry[type[Exhibit]], cls: type[Kind]) -> type[Kind]:
    """Register a class under the value of its field `kind`."""
    (name,) = get_args(cls.model_fields["kind"].annotation)
    registry.register(name)(cls)
    return cls


def table_kind(cls: type[Kind]) -> type[Kind]:
    """Register a kind of table: a class decorator."""
    return _register(table_kinds, cls)


def figure_kind(cls: type[Kind]) -> type[Kind]:
    """Register a kind of figure: a class decorator."""
    return _register(figure_kinds, cls)


def exhibit_type(noun: str) -> Any:
    """Return the type by which pydantic reads a table or figure: the union of all kinds, discriminated by `kind`.

    Args:
        noun: 'table' or 'figure'.
    """
    registry, folder = KINDS[noun]
    for file in pkgutil.iter_modules(importlib.import_module(folder).__path__):
        importlib.import_module(f"{folder}.{file.name}")
    for path in own_code.files(f"{noun}s"):
        own_code.load_file(path)
    return _one_of(*(registry[name] for name in registry))


@cache
def _one_of(*kinds: Any) -> Any:
    """Return the union of kinds; it is cached, as pydantic builds a validator for each new type."""
    return Annotated[reduce(or_, kinds), Field(discriminator="kind")]
