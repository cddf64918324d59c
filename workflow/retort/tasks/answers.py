"""Stored answers of a model, and the metrics that are computed from them: once measured, and again when collected."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from retort.settings import TaskSettings
from retort.specs.task import ALL
from retort.tasks.base import task_type_of


@dataclass(frozen=True)
class Answers:
    """The answers of a model on an encoded split, and the true ones; None where the rows have no labels."""

    answers: list[Any]
    truth: list[Any] | None


def metrics_of(task: TaskSettings, split: str, answers: dict[str, Answers]) -> dict[str, float]:
    """Compute the metrics of stored answers, as `measure` returns them; there are none where the labels are unknown."""
    task_type = task_type_of(task)
    by_subset = {name.removeprefix(split).removeprefix("-"): stored for name, stored in answers.items()}
    if list(by_subset) != [""]:
        truths = [stored.truth for stored in answers.values() if stored.truth is not None]
        by_subset[ALL] = Answers(
            answers=list(itertools.chain(*(stored.answers for stored in answers.values()))),
            truth=list(itertools.chain(*truths)) if len(truths) == len(answers) else None,
        )
    return {
        f"{name}/{subset}" if subset else name: value
        for subset, stored in by_subset.items()
        if stored.truth is not None
        for name, value in task_type.scores(stored.answers, stored.truth).items()
    }
