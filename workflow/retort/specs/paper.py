"""A paper: its title, its teachers, what it shows and in which order."""

from __future__ import annotations

from fnmatch import fnmatchcase

from pydantic import Field

from retort.specs.base import Distinct, Name, Spec, Text
from retort.specs.deviation import Deviation
from retort.specs.judging import Judging
from retort.specs.student import Teacher


class Choice(Spec):
    """What was chosen where the paper is silent, or where a study differs from it, and for which students."""

    students: Distinct[Text] = Field(
        min_length=1, description="names of students; * stands for any text, [0-9] for a digit"
    )
    excluded: list[Text] = Field(default=[], alias="except", description="names of students to leave out again")
    texts: list[Deviation] = Field(min_length=1, description="what was chosen, and why")

    def concerns(self, student: str) -> bool:
        """Return whether the choice was made for a student, given by its short name."""
        included, excluded = (
            any(fnmatchcase(student, pattern) for pattern in patterns) for patterns in (self.students, self.excluded)
        )
        return included and not excluded


class Paper(Judging):
    """The paper.yaml of one paper: its reference, its teachers, and the order of its tables and figures."""

    title: Text = Field(description="what it is, in one line")
    reference: Text = Field(description="authors, year, where it was published")
    ours: bool = Field(default=False, description="a study of ours: its published numbers are those of a recorded run")
    teachers: dict[Name, Teacher] = Field(default={}, description="name -> teacher")
    deviations: list[Choice] = Field(default=[], description="what was chosen where the paper is silent")
    recorded: dict[str, str] = Field(default={}, description="the run that the published numbers are of")
    show: Distinct[Name] = Field(
        default=[], description="tables and figures that the report begins with, in order; the others follow by name"
    )
