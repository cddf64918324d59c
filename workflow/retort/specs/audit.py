"""What the audit needs beside the tables: facts of the data sets, and what the papers' texts say of their tables."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from retort.specs.base import Name, Spec, Text
from retort.specs.printed import read_number


class Facts(Spec):
    """One data set: its sizes, and what a model reaches that always gives the commonest answer."""

    sizes: dict[Literal["train", "dev", "test"], int]
    floors: dict[Text, float] = Field(default={}, description="metric -> per cent, on dev")
    source: Text


class Cells(Spec):
    """Some cells of one row of a table."""

    table: Name
    row: Text
    columns: list[Text] = Field(min_length=1)


class Statement(Spec):
    """What a paper's text says of its numbers, in our words, and the cells that bear it out or do not."""

    says: Text
    where: Text = Field(description="the place in the paper")
    compare: Name = Field(description="the comparison that the cells are put to")
    number: str = Field(default="", description="the number in the text, as printed")
    within: float | None = Field(default=None, ge=0, description="how far the number may be off; else its last digit")
    cells: list[Cells] = []
    than: list[Cells] = Field(default=[], description="the cells that are compared with the others")
    other: str = Field(default="", description="the number that the paper gives at another place of its text")
    why: str = Field(default="", description="what may explain a difference")

    @model_validator(mode="after")
    def _something(self) -> Statement:
        if bool(self.cells) == bool(self.other):
            raise ValueError("a statement is held against 'cells' of tables or against the 'other' number of a text")
        if self.cells and self.number and read_number(self.number) is None:
            raise ValueError(f"'{self.number}' is not a number as papers print it")
        return self
