"""A task: which texts, which labels, which split, which metrics."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from retort.registry import unknown
from retort.specs import catalogue
from retort.specs.base import Name, Spec, Text


class Split(Spec):
    """How held-out rows are drawn: by a named seed, whole groups at a time."""

    seed: int
    test: int = Field(gt=0, description="rows whose score is reported")
    dev: int = Field(gt=0, description="rows on which a grid point is chosen")


class Reader(Spec):
    """Which reader turns the source's files into examples, with its options."""

    name: Name
    options: dict[str, Any] = {}


class Jobs(Spec):
    """How work is cut; never part of what decides a number."""

    grid_parts: int = Field(default=1, ge=1)


class Task(Spec):
    """One YAML file of workflow/tasks."""

    title: Text
    source: Name
    reader: Reader
    kind: Name
    labels: list[Text] = []
    metrics: list[str] = Field(min_length=1)
    split: Split
    max_length: int = Field(gt=2, le=512, description="tokens")
    version: int = Field(ge=1, description="raised when a score would change")
    jobs: Jobs = Jobs()
    sample: list[dict[str, Any]] = Field(min_length=2, description="made-up records, for tests")

    @model_validator(mode="after")
    def _agree(self) -> Task:
        kinds = catalogue.kinds()
        if self.kind not in kinds:
            raise ValueError(str(unknown("kind of task", self.kind, kinds)))
        facts = kinds[self.kind].facts
        wrong = [name for name in self.metrics if name not in facts["metrics"]]
        if wrong:
            raise ValueError(f"metric '{wrong[0]}' is not one of {self.kind}'s: {', '.join(facts['metrics'])}")
        if facts["named"] != (len(self.labels) > 1):
            how = "two or more names" if facts["named"] else "none"
            raise ValueError(f"'labels' takes {how} for {self.kind}")
        return self
