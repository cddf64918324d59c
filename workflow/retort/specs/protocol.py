"""How something is trained: optimiser, schedule, grid, seeds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from retort.specs.base import Name, Settings, Spec, Text


class Schedule(Spec):
    """What the training loop needs; a changed field is another training."""

    steps: int = Field(gt=0)
    batch_size: int = Field(gt=0)
    learning_rate: float = Field(gt=0, lt=1)
    warmup: float = Field(default=0.1, ge=0, lt=1, description="share of the steps with a rising rate")
    weight_decay: float = Field(default=0.01, ge=0)
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = Field(default=1e-8, gt=0)
    clip: float = Field(default=1.0, ge=0, description="largest norm of the gradient; 0 leaves it alone")
    freeze: list[Literal["embeddings", "encoder"]] = []
    dropout: float | None = Field(default=None, ge=0, lt=1, description="in place of the model's own, while training")


class Grid(Spec):
    """Points tried on the dev split; the best one is trained again under each seed."""

    learning_rate: list[float] = Field(min_length=1)
    batch_size: list[int] = Field(min_length=1)
    seed: int = 1

    def points(self) -> list[Settings]:
        """Every pair of learning rate and batch size, in the order of the file."""
        return [{"learning_rate": r, "batch_size": b} for r in self.learning_rate for b in self.batch_size]


class Protocol(Spec):
    """One YAML file of workflow/protocols."""

    title: Text
    schedule: Schedule
    tasks: dict[Name, Settings] = Field(default={}, description="fields of the schedule that a task changes")
    grid: Grid | None = None
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    version: int = Field(default=1, ge=1)

    def for_task(self, task: str, *changes: Settings) -> Schedule:
        """The schedule on one task, with later changes winning.

        Raises:
            pydantic.ValidationError: a change names an unknown field or a value out of range.
        """
        merged: Settings = dict(self.schedule)
        for change in (self.tasks.get(task, {}), *changes):
            merged.update(change)
        return Schedule.model_validate(merged)
