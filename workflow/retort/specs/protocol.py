"""The specs of a training protocol: optimiser, schedule, grid, seeds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from retort.registry import unknown_name
from retort.specs.base import (
    Distinct,
    FieldsOf,
    Flag,
    Label,
    Name,
    Real,
    Seed,
    Settings,
    Spec,
    TaskName,
    Text,
    Version,
    Whole,
    below_keys,
    entry_of,
    left_out,
)

Steps = Annotated[Whole, Field(gt=0, le=100_000_000)]
Epochs = Annotated[Real, Field(gt=0, le=10_000)]
BatchSize = Annotated[Whole, Field(gt=0, le=1_000_000)]
LearningRate = Annotated[Real, Field(ge=1e-9, lt=1)]  # a step of 1e-9 is lost when a weight of 0.02 is rounded
Beta = Annotated[Real, Field(ge=0, lt=1)]

STAGES = "stages."  # the beginning of a key of a student's stages


def steps_per_epoch(rows: int, batch_size: int) -> int:
    """Return the number of batches of an epoch over all rows: ceil(rows / batch_size)."""
    return -(-rows // batch_size)


class Schedule(Spec):
    """The hyperparameters of one training run; a change to any field makes it a different run.

    Args:
        steps: optimiser steps; give these or epochs.
        epochs: instead of steps: passes over rows or blocks.
        batch_size: rows a step, at most.
        learning_rate: at its peak; below 1e-9, weights of a usual size never change.
        warmup_ratio: fraction of the steps with a rising rate.
        lr_scheduler_type: the learning rate after warm-up: falls to zero at the end, or stays.
        decay_steps: the steps after which a falling rate would be zero, instead of those of the training; not fewer.
        load_best_model_at_end: score the model on the validation split after each epoch, and keep the best weights; for
            tasks.
        weight_decay: of AdamW.
        betas: of Adam.
        epsilon: of Adam.
        max_grad_norm: largest norm of the gradient; 0 leaves it alone.
        freeze: weights that are not trained.
        dropout: instead of the model's own, while training.
        group_by_length: batches of rows of like length, which need less padding; false: of random rows, for losses that
            compare the examples of a batch with each other; for tasks.
        max_train_samples: train on the first rows of the training split, so many at most; where it is drawn, they are
            random, and fewer of them are a part of more; for tasks.
        max_length: tokens of a training row, instead of the task's where it is shorter; for single texts.
        pad_to_max_length: pad every row to the maximum length, and not to the longest row of its batch; for tasks.
        micro_batch: rows of a batch that go through a device at once, for GPUs that are too small for all. The gradient
            is that of the whole batch, but each part draws dropout masks of its own, so that the numbers are others.
    """

    steps: Steps | None = left_out()
    epochs: Epochs | None = left_out()  # a schedule has steps or epochs, and shows the one that it has
    batch_size: BatchSize
    learning_rate: LearningRate
    warmup_ratio: Real = Field(default=0.1, ge=0, lt=1)
    lr_scheduler_type: Literal["linear", "constant_with_warmup"] = left_out("linear")
    decay_steps: Steps | None = left_out()
    load_best_model_at_end: Flag = left_out(False)
    weight_decay: Real = Field(default=0.01, ge=0, le=1)
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    epsilon: Real = Field(default=1e-8, ge=1e-12, lt=1)
    max_grad_norm: Real = Field(default=1.0, ge=0, le=1_000_000)
    freeze: Distinct[Literal["embeddings", "encoder"]] = []
    dropout: Real | None = Field(default=None, ge=0, lt=1)
    group_by_length: Flag = True
    max_train_samples: Whole | None = left_out(ge=1)
    max_length: Whole | None = left_out(gt=2, le=512)
    pad_to_max_length: Flag = left_out(False)
    micro_batch: Whole | None = left_out(ge=1)

    def _wrong(self) -> Iterator[str]:
        if (self.steps is None) == (self.epochs is None):
            yield "give 'steps' or 'epochs', one of the two"
        if self.decay_steps is not None and self.lr_scheduler_type != "linear":
            yield f"decay_steps: with '{self.lr_scheduler_type}' the rate does not fall; leave it out"
        if self.decay_steps is not None and self.decay_steps < (self.steps or 0):
            yield f"decay_steps: {self.decay_steps} is below the {self.steps} steps of the training"

    def changed(self, *changes: Settings) -> Schedule:
        """Return the schedule with these changes; later changes override earlier ones.

        Raises:
            pydantic.ValidationError: a change names an unknown field or a value out of range.
        """
        merged: Settings = dict(self)
        for change in changes:
            merged |= {"steps": None, "epochs": None} if {"steps", "epochs"} & set(change) else {}
            merged |= change
        return Schedule.model_validate(merged)

    def steps_on(self, rows: int) -> int:
        """Return the number of steps on a data set: for epochs ceil(epochs * steps per epoch), and at least 1."""
        if self.epochs is None:
            assert self.steps is not None
            return self.steps
        steps = self.epochs * steps_per_epoch(rows, self.batch_size)
        return max(1, math.ceil(round(steps, 6)))  # 0.1 epochs of 30 steps are 3, and not 3.0000000000000004, steps

    def padded_to(self, max_length: int) -> int | None:
        """Return the length of every batch of a task with this maximum length; None for that of its longest row."""
        return min(self.max_length or max_length, max_length) if self.pad_to_max_length else None

    def scaled(self, factor: float) -> Schedule:
        """Return the schedule with its steps or its epochs times a factor."""
        decay: Settings = {}
        if self.decay_steps is not None:  # up, as the steps of epochs are: it never gets below the steps
            decay["decay_steps"] = max(1, math.ceil(round(self.decay_steps * factor, 6)))
        if self.epochs is not None:
            return self.model_copy(update={"epochs": self.epochs * factor, **decay})
        assert self.steps is not None
        return self.model_copy(update={"steps": max(1, round(self.steps * factor)), **decay})


OF_ROWS = ("group_by_length", "pad_to_max_length", "max_train_samples")  # for the rows of tasks alone
ScheduleChanges = Annotated[Settings, FieldsOf(Schedule)]


@dataclass(frozen=True)
class SettingKey:
    """A key that gives a setting.

    Args:
        of: where it stands: in the file of a protocol, in the entry of a student, or in a point of a grid.
        steps: the keys that lead to it; entries of lists count from 0.
    """

    of: Literal["protocol", "student", "point"]
    steps: tuple[str | int, ...] = ()


Changes = dict[tuple[str, ...], Settings]  # key of a file -> fields of a schedule; later ones override earlier ones


class SearchGrid(Spec):
    """A grid of settings: each point is scored on the validation split, the best one trained again per seed.

    An axis is a field of the schedule. In a student's own grid it may be any setting of its stages, by dotted key, such
    as `stages.1.terms.2.options.temperature`; stages and terms count from 1.

    Args:
        learning_rate: values that are tried.
        batch_size: values that are tried.
        epochs: values that are tried.
        seed: of the trials.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[Distinct[Any], Field(min_length=1)]]

    learning_rate: Distinct[LearningRate] = Field(default=[], min_length=1)
    batch_size: Distinct[BatchSize] = Field(default=[], min_length=1)
    epochs: Distinct[Epochs] = Field(default=[], min_length=1)
    seed: Seed = 1

    @model_validator(mode="before")
    @classmethod
    def _has_axes(cls, content: Any) -> Any:
        if isinstance(content, dict) and not set(content) - {"seed"}:
            raise ValueError("no values are tried; give some, such as 'learning_rate: [2.0e-5, 5.0e-5]'")
        return content

    def _wrong(self) -> Iterator[str]:
        for key in self.axes:
            if key not in Schedule.model_fields and not key.startswith(STAGES):
                yield str(unknown_name("key", key, Schedule.model_fields))

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The values that are tried, by key; those of the schedule's length and rate come first."""
        return {key: values for key, values in self if key != "seed" and values}

    def points(self) -> list[Settings]:
        """Return every combination of values, in the order of the file; the last axis changes fastest."""
        return [dict(zip(self.axes, point, strict=True)) for point in itertools.product(*self.axes.values())]


class Protocol(Spec):
    """A training protocol: one YAML file of workflow/protocols.

    Args:
        title: what it is, in one line.
        schedule: of one training run.
        tasks: fields of the schedule that a task changes.
        grid: settings that are tried on each task: when a teacher or a task-agnostic student is fine-tuned, or a
            task-specific student is distilled; left out: the schedule as it is.
        grids: instead of the grid on a task.
        metric_for_best_model: task -> the metric by which a point of the grid is chosen; else the task's own.
        seeds: one run each; for students that are distilled on a corpus, one fine-tuning each.
        distillation_seeds: one distillation on a corpus each, with fine-tunings of its own; left out: one, under the
            seed of the grid, else the first of `seeds`.
        version: raised when the same settings would give other numbers.
    """

    title: Label
    schedule: Schedule
    tasks: dict[Annotated[Name, entry_of("task", "tasks", "corpora")], ScheduleChanges] = {}
    grid: SearchGrid | None = None
    grids: dict[TaskName, SearchGrid] = {}
    metric_for_best_model: dict[TaskName, Text] = {}
    seeds: Distinct[Seed] = Field(min_length=1)
    distillation_seeds: Distinct[Seed] = Field(default=[], min_length=1)
    version: Version = 1

    def _wrong(self) -> Iterator[str]:
        for task in self.tasks:
            with below_keys("tasks", task):
                self.for_task(task)
        for keys, each in ((("grid",), self.grid), *((("grids", task), grid) for task, grid in self.grids.items())):
            for key, values in each.axes.items() if each else ():
                if key.startswith(STAGES):
                    where = ".".join((*keys, key))
                    yield f"{where}: a protocol has no stages; give it in the 'grid' of a student"
                for value in values:
                    with below_keys(*keys):
                        self.for_task("", {key: value})

    def grid_of(self, task: str) -> tuple[SearchGrid | None, SettingKey]:
        """Return the grid for one task with its key; None without a grid: every seed is trained with the schedule."""
        if task in self.grids:
            return self.grids[task], SettingKey("protocol", ("grids", task))
        return self.grid, SettingKey("protocol", ("grid",))

    def changes(self, task: str) -> Changes:
        """Return the fields of the schedule for one task, by the key that gives them."""
        given = {name: getattr(self.schedule, name) for name in self.schedule.model_fields_set}
        return {("schedule",): given, ("tasks", task): self.tasks.get(task, {})}

    def for_task(self, task: str, *changes: Settings) -> Schedule:
        """Return the schedule for one task with these changes; later changes override earlier ones.

        Raises:
            pydantic.ValidationError: a change names an unknown field or a value out of range.
        """
        _, own = self.changes(task).values()
        return self.schedule.changed(own, *changes)
