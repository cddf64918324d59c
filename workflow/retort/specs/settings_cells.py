"""Settings cells: the cells of a settings table that show a setting of one of our students."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from retort.specs.base import Name, Spec, Text
from retort.specs.names import StudentName

MAPPINGS = "mappings"  # first of the dotted keys that read the mappings of all students of a paper together


class Reads(Spec):
    """What a row or a column says about its cells. Where both say something, the row wins."""

    student: StudentName = Field(default="", description="whose settings are read")
    task: Name = Field(default="", description="on which task, or after distillation with which fine-tuning")
    reads: str = Field(default="", pattern=r"^[\w.-]*$", description="dotted keys; a row's stand before its column's")
    formatter: Name = Field(default="", description="how the paper prints the value")
    printed_as: dict[str, Text] = Field(default={}, description="a value -> how the paper prints it")
    as_printed: list[Text] = Field(default=[], description="a row's columns whose cells stand as the paper prints them")


class Defaults(Protocol):
    """A table that may say whose settings its cells show."""

    student: Name
    task: Name


@dataclass(frozen=True)
class SettingsCell:
    """A cell that shows a setting of ours: whose, under which keys, and how the paper prints the value.

    Args:
        row: the name of its row.
        column: the name of its column.
        student: whose settings are read; empty for those of all students of the paper together.
        task: the task on which the settings are read; empty for those of a task-agnostic distillation.
        reads: the dotted keys of the setting.
        formatter: the name of the formatter; empty for 'plain'.
        printed_as: value -> how the paper prints it.
    """

    row: str
    column: str
    student: str
    task: str
    reads: str
    formatter: str
    printed_as: dict[str, str]


def settings_cell(table: Defaults, name: str, row: Reads, column: Reads, label: str) -> SettingsCell | None:
    """Return the settings cell at a row and a column, or None if the cell holds only the paper's text.

    Args:
        table: the table, which may give a student and a task for all cells.
        name: the full name of the row.
        row: the row.
        column: the column.
        label: the full name of the column.
    """
    reads = ".".join(filter(None, (row.reads, column.reads)))
    student = row.student or column.student or table.student
    task = row.task or column.task or table.task
    if label in row.as_printed or not reads or not (student or reads.split(".")[0] == MAPPINGS):
        return None
    printed_as = {**column.printed_as, **row.printed_as}
    return SettingsCell(name, label, student, task, reads, row.formatter or column.formatter, printed_as)
