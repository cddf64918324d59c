"""A paper: its title, its teachers, what it shows and in which order."""

from __future__ import annotations

from pydantic import Field

from retort.specs.base import Name, Spec, Text
from retort.specs.student import Teacher


class Paper(Spec):
    """The paper.yaml of one paper: its reference, its teachers, and the order of its tables and figures."""

    title: Text = Field(description="what it is, in one line")
    reference: Text = Field(description="authors, year, where it was published")
    ours: bool = Field(default=False, description="a study of ours: its published numbers are those of a recorded run")
    teachers: dict[Name, Teacher] = Field(default={}, description="name -> teacher")
    recorded: dict[str, str] = Field(default={}, description="the run that the published numbers are of")
    show: list[Name] = Field(min_length=1, description="tables and figures in the order of the report")
