"""The specs of a scale: which studies' students run, and how much smaller than printed they are."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from retort.specs.base import Distinct, Name, Spec, Text, Whole
from retort.specs.protocol import Grid, Schedule, ScheduleChanges


class Replacements(Spec):
    """A scaled study: replacements for what the papers print, so that every type of table runs on one machine."""

    model: Name = Field(description="instead of every teacher's; architectures and layers shrink in proportion")
    corpus: Name = Field(description="instead of every corpus")
    distillation: ScheduleChanges = Field(description="fields of the schedule of stages on a corpus")
    training: ScheduleChanges = Field(description="fields of the schedules of stages on a task and of fine-tuning")
    teaching: ScheduleChanges = Field(description="fields of the schedules by which teachers are fine-tuned")
    grid: Grid = Field(description="instead of every protocol's")
    seeds: Whole = Field(ge=1, description="at most so many")
    tasks: Distinct[Name] = Field(min_length=1, description="no other task is run")

    @field_validator("distillation", "training", "teaching")
    @classmethod
    def _schedule(cls, fields: dict[str, Any]) -> dict[str, Any]:
        Schedule.model_validate(fields)
        return fields


class Scale(Spec):
    """A scale: one YAML file of workflow/scales."""

    title: Text = Field(description="what it is, in one line")
    papers: Literal["ours", "printed"] = Field(
        default="printed", description="studies of ours run at every scale, the papers' own students where it says so"
    )
    replacements: Replacements | None = Field(
        default=None, description="how the papers' students are made smaller; left out: they run as printed"
    )
