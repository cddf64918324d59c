"""A table or figure is a file: rows, columns, what was printed, how it is judged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from retort.specs.base import Name, Spec, Text
from retort.specs.student import Teacher

Printed = Annotated[list[float], Field(min_length=1, max_length=2, description="[mean] or [mean, std]")]


class Column(Spec):
    """One task and one metric, on one part where the task has parts; all explicit, never implied."""

    task: Name
    metric: Text
    part: Name | None = Field(default=None, description="a part of the task, or 'all'")
    label: Text
    average: bool = Field(default=False, description="counts in the row's average")

    @property
    def measure(self) -> str:
        """The metric's name in a score: 'accuracy', or 'accuracy/de'."""
        return f"{self.metric}/{self.part}" if self.part else self.metric


class Row(Spec):
    """One student or teacher under the label that the table prints."""

    student: Name
    label: Text
    group: str = ""
    baseline: bool = Field(default=False, description="no distillation objective: left out of the paired tests")


class _Common(Spec):
    title: Text
    question: Text
    caption: str = ""


class ScoresTable(_Common):
    """Students x tasks: mean and standard deviation over seeds."""

    kind: Literal["scores"]
    columns: list[Column] = Field(min_length=1)
    rows: list[Row] = Field(min_length=1)
    decimals: int = 1
    published: dict[str, dict[str, Printed]] = Field(
        default={}, description="row's student -> column's label -> printed"
    )

    @model_validator(mode="after")
    def _once(self) -> ScoresTable:
        for what, names in (("row", [r.student for r in self.rows]), ("column", [c.label for c in self.columns])):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} '{twice[0]}' stands twice")
        return self


class ProfilesTable(_Common):
    """Architectures: parameters and latency."""

    kind: Literal["profiles"]
    rows: list[Row] = Field(min_length=1)
    decimals: int = 2
    published: dict[str, dict[str, Printed]] = {}


class TestsTable(_Common):
    """Paired t-tests over (task, seed) between all rows of each listed table."""

    kind: Literal["paired-tests"]
    of: list[Name] = Field(min_length=1)
    alpha: float = Field(default=0.05, gt=0, lt=1)
    decimals: int = 3
    published: dict[str, dict[str, Printed]] = {}


Table = Annotated[ScoresTable | ProfilesTable | TestsTable, Field(discriminator="kind")]


class LayersFigure(_Common):
    """Score against the teacher layer that was distilled."""

    kind: Literal["layers"]
    task: Name
    metric: Text
    points: dict[int, Name] = Field(description="teacher layer -> student")
    references: list[Row] = Field(default=[], description="students drawn as level lines")


class ParetoFigure(_Common):
    """Score against latency, a point an architecture."""

    kind: Literal["pareto"]
    task: Name
    metric: Text
    points: list[Row] = Field(min_length=2)


class TestsFigure(_Common):
    """A heat map of a paired-tests table."""

    kind: Literal["tests"]
    of: Name


Figure = Annotated[LayersFigure | ParetoFigure | TestsFigure, Field(discriminator="kind")]


class Claim(Spec):
    """One sentence that a table bears out or not: `better` beats `worse` on a column by `margin`."""

    claim: Text
    where: Text = Field(description="the place in the paper")
    table: Name
    column: Text
    better: list[Name] = Field(min_length=1)
    worse: list[Name] = Field(min_length=1)
    margin: float = 0.0


class Paper(Spec):
    """The paper.yaml of one paper: what it is, its teachers, what it shows and in which order."""

    title: Text
    reference: Text
    ours: bool = Field(default=False, description="a study of ours: its published numbers are those of a recorded run")
    teachers: dict[Name, Teacher]
    recorded: dict[str, str] = Field(default={}, description="the run that the published numbers are of")
    show: list[Name] = Field(min_length=1, description="tables and figures in the order of the report")
