"""The table across papers: which rows of their tables answer the same question, as `papers/across.yaml` says."""

from __future__ import annotations

from pydantic import Field

from retort.specs.base import Distinct, Label, Name, Spec, Text


class Compared(Spec):
    """Rows of one table, each compared with the same row of it."""

    paper: Name = Field(description="a folder of workflow/papers")
    table: Name = Field(description="one of its tables of scores")
    about: Label = Field(description="what its students share and are compared with, in a few words")
    over: Distinct[Text] = Field(min_length=1, description="the columns whose mean is compared")
    baseline: Text = Field(description="the row that the others are compared with")
    rows: dict[Label, Text] = Field(min_length=1, description="row of the table across papers -> row of this table")


class Across(Spec):
    """One question, and the rows of each paper that answer it."""

    title: Label = Field(description="what is varied, and against what")
    compared: list[Compared] = Field(min_length=1, description="from left to right")
