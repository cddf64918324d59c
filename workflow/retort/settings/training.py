"""The settings of training: initial weights, loss terms, stages, points of a grid."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from retort.settings.base import Settings, left_out_if_none
from retort.specs.base import Options
from retort.specs.protocol import Schedule


class InitialisationSettings(Settings):
    """Where the initial weights of a student come from.

    Args:
        layers: the layers, counted from 1, that are copied; None if none are.
        of: the model whose layers are copied: the teacher, or the published model behind it.
        student: the student that this one starts from; None if it starts from none.
        checkpoint: the published model that it starts from; None if it starts from none.
        random: whether the weights are drawn at random.
        new_heads: whether pooler and heads are drawn at random where layers are copied.
    """

    layers: list[int] | None
    of: Literal["teacher", "model"]
    student: str | None
    checkpoint: str | None = left_out_if_none()
    random: bool
    new_heads: bool = Field(default=False, exclude_if=lambda value: not value)


class TermSettings(Settings):
    """One term of a loss.

    Args:
        objective: the registered name of the objective.
        version: the version of the objective.
        pairs: the (student layer, teacher layer) pairs; empty for an objective without layers.
        weight: the factor of the sum over the pairs.
        options: the options of the objective, defaults included.
    """

    objective: str
    version: int
    pairs: list[tuple[int, int]]
    weight: float
    options: Options


class StageSettings(Settings):
    """One stage of a student: its data ('task' or the name of a corpus), its loss terms and its schedule.

    `metric_for_best_model` is the metric, on the validation split, by which the weights of the best epoch are chosen;
    None where those of the last step are taken.
    """

    data: str
    terms: list[TermSettings]
    schedule: Schedule
    teacher_dropout: bool
    metric_for_best_model: str | None = left_out_if_none()


class PointSettings(Settings):
    """A point of a grid: the fields of the schedule that it changes; None for those that it does not."""

    learning_rate: float | None = left_out_if_none()
    batch_size: int | None = left_out_if_none()
    epochs: float | None = left_out_if_none()

    def applied_to(self, schedule: Schedule) -> Schedule:
        """Return the schedule with the values of this point."""
        return schedule.model_copy(update=self.model_dump())
