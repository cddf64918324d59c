"""Stored answers of a model, and their metrics: computed when it is scored, and again when tables are made."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from retort.settings import TaskSettings
from retort.specs.task import ALL
from retort.tasks.base import task_type_of


@dataclass(frozen=True)
class Answers:
    """The answers of a model on an encoded split, and the true answers; these are None if the rows have no labels."""

    answers: list[Any]
    truth: list[Any] | None


def metrics_of(task: TaskSettings, split: str, answers: dict[str, Answers]) -> dict[str, float]:
    """Return metric -> value for the stored answers on a split; splits and subsets without labels have no metrics.

    Args:
        task: the task's settings.
        split: the name of the split.
        answers: encoded split (the split, or '<split>-<subset>') -> its answers. With subsets, metrics are named
            'accuracy/de', and 'accuracy/all' for all of them together.
    """
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
