"""Stored answers of a model: their metrics, computed anew when tables are made, and the files of a submission."""

from __future__ import annotations

import itertools
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.data.encoded import Encoded
from retort.data.task_type import task_type_of
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import SubmittedTask
from retort.specs.task import ALL


@dataclass(frozen=True)
class ModelAnswers:
    """The answers of a model on an encoded split, and the true answers; these are None if the rows have no labels."""

    answers: list[Any]
    truth: list[Any] | None


def metrics_of(task: TaskSettings, split: str, answers: dict[str, ModelAnswers]) -> dict[str, float]:
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
        by_subset[ALL] = ModelAnswers(
            answers=list(itertools.chain(*(stored.answers for stored in answers.values()))),
            truth=list(itertools.chain(*truths)) if len(truths) == len(answers) else None,
        )
    return {
        f"{name}/{subset}" if subset else name: value
        for subset, stored in by_subset.items()
        if stored.truth is not None
        for name, value in task_type.scores(stored.answers, stored.truth).items()
    }


def truth_of(folder: Path, split: str, task: TaskSettings) -> list[Any] | None:
    """Return the true answers of a split of an encoded task; None if its rows have no labels.

    Raises:
        RetortError: the split does not exist, or its files are damaged.
    """
    encoded = Encoded.load(folder, split)
    return task_type_of(task).truth(encoded) if encoded.labelled else None


STAMP = (1980, 1, 1, 0, 0, 0)  # the date of every file in the zip, so that the same answers give the same bytes


def submission_text(answers: list[Any], task: SubmittedTask) -> str:
    """Return the text of one file of a submission: a header, then a line `index<TAB>prediction` for each answer.

    Args:
        answers: label numbers, or the numbers of a regression, which are clipped to the bounds of the task.
        task: the settings of the task.
    """
    least, greatest = task.bounds or (float("-inf"), float("inf"))
    names = task.label_names
    predictions = [names[answer] if names else f"{min(max(answer, least), greatest):.3f}" for answer in answers]
    return "".join(f"{line}\n" for line in ["index\tprediction", *(f"{i}\t{p}" for i, p in enumerate(predictions))])


def write_zip(path: Path, files: dict[str, str]) -> None:
    """Write a zip file of texts by name; the same texts give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, STAMP), files[name], zipfile.ZIP_DEFLATED)
