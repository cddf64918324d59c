"""A task: which texts, which labels, which split, which metrics."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from retort.specs.base import Name, Spec, Text

METRICS = {
    "classification": ("accuracy", "f1", "matthews"),
    "regression": ("pearson", "spearman"),
}


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
    kind: Literal["classification", "regression"]
    labels: list[Text] = []
    metrics: list[str] = Field(min_length=1)
    split: Split
    max_length: int = Field(gt=2, le=512, description="tokens")
    version: int = Field(ge=1, description="raised when a score would change")
    jobs: Jobs = Jobs()
    sample: list[dict[str, Any]] = Field(min_length=2, description="made-up records, for tests")

    @model_validator(mode="after")
    def _agree(self) -> Task:
        known = METRICS[self.kind]
        wrong = [name for name in self.metrics if name not in known]
        if wrong:
            raise ValueError(f"metric '{wrong[0]}' is not one of {self.kind}'s: {', '.join(known)}")
        if (self.kind == "classification") != (len(self.labels) > 1):
            raise ValueError("'labels' takes two or more names for classification and none for regression")
        return self
