"""What a cell of a settings table says of itself: which setting of which student it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from retort.specs.base import Name, Spec, Text
from retort.specs.names import StudentName

TRIED = "tried"  # the first key for values that come from all students of the paper together


class Reads(Spec):
    """What a row or a column says about its cells. Where both say something, the row wins."""

    student: StudentName = Field(default="", description="whose settings are read")
    task: Name = Field(default="", description="on which task, or after distillation with which fine-tuning")
    reads: str = Field(default="", pattern=r"^[\w.-]*$", description="dotted keys; a row's stand before its column's")
    form: Name = Field(default="", description="how the paper prints the value")
    words: dict[str, Text] = Field(default={}, description="a value -> the paper's own word for it")
    alone: list[Text] = Field(default=[], description="a row's columns whose cells stand as the paper prints them")


class Owner(Protocol):
    """A table that may say whose settings its cells show."""

    student: Name
    task: Name


@dataclass(frozen=True)
class Bound:
    """A settings cell: whose settings it reads, under which keys, and how the paper prints the value."""

    row: str
    column: str
    student: str
    task: str
    reads: str
    form: str
    words: dict[str, str]


def meet(table: Owner, name: str, row: Reads, column: Reads, label: str) -> Bound | None:
    """Return the settings cell where a row meets a column, or None if the cell holds only the paper's text."""
    reads = ".".join(filter(None, (row.reads, column.reads)))
    student = row.student or column.student or table.student
    task = row.task or column.task or table.task
    if label in row.alone or not reads or not (student or reads.split(".")[0] == TRIED):
        return None
    return Bound(name, label, student, task, reads, row.form or column.form, {**column.words, **row.words})
