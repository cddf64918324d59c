"""A paper: its title, its teachers, what it shows and in which order."""

from __future__ import annotations

from pydantic import Field

from retort.specs.base import Name, Spec, Text
from retort.specs.student import Teacher


class Paper(Spec):
    """The paper.yaml of one paper: its reference, its teachers, and the order of its tables and figures."""

    title: Text
    reference: Text
    ours: bool = Field(default=False, description="a study of ours: its published numbers are those of a recorded run")
    teachers: dict[Name, Teacher] = {}
    recorded: dict[str, str] = Field(default={}, description="the run that the published numbers are of")
    show: list[Name] = Field(
        default=[], description="tables and figures that the report begins with, in this order; the others follow by name"
    )
