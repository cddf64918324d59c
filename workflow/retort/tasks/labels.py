"""Task types with one label per row: classification and regression."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from retort.data.encoded import Encoded, TokenColumns
from retort.data.formats import Fields, Record, folded, spell_label
from retort.data.task_type import task_types
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.specs.catalogue import metrics_of
from retort.specs.task_files import LARGEST, rating_of
from retort.tasks.metrics import metrics


def _record(row: Fields, label: float) -> Record:
    return Record(row["text"] or "", (row["pair"] or "") if "pair" in row else None, label)


def class_of(value: Any, label_names: list[str], labels: list[str]) -> int:
    """Return the class number of a label in a file; values other than strings are spelled as in JSON, such as 'true'.

    Args:
        value: the label.
        label_names: how the file spells the labels, in their order; empty where it has the labels themselves, or their
            numbers 0, 1, ... where no label is a number.
        labels: the labels of the task.

    Raises:
        RetortError: the label is none of them.
    """
    name, names = spell_label(value), label_names or labels
    numbers = [str(number) for number in range(len(labels))]
    if name not in names and not label_names and name in numbers and not any(map(str.isdecimal, labels)):
        names = numbers
    if name not in names:
        raise RetortError(f"label {name!r} is not one of {', '.join(names)}")
    return names.index(name)


def score_of(value: Any, least: float, greatest: float) -> float:
    """Return the score in a file as a float.

    Raises:
        RetortError: the value is not a number from `least` to `greatest`.
    """
    try:
        score = rating_of(value)
    except ValueError:
        score = math.nan
    if not least <= score <= greatest:
        raise RetortError(f"score {str(value)[:60]!r} is not a number from {least:.10g} to {greatest:.10g}")
    return score


class RegisteredMetrics:
    """The metrics that are registered for a task type, also by a study that is read after this file."""

    def __init__(self, task_type: str) -> None:
        self.task_type = task_type

    def __get__(self, instance: object, owner: type) -> tuple[str, ...]:
        """Return their names."""
        return metrics_of(self.task_type)


class _Labelled:
    """What classification and regression have in common: a row is a text or a pair, its answer is one number."""

    metrics: ClassVar[Any]
    head: ClassVar[str] = "classification"
    text_columns: ClassVar[tuple[str, ...]] = ("text", "pair")
    dtype: type = np.float32

    def outputs(self, task: TaskSettings) -> int:
        return len(task.labels) or 1  # regression has no label names

    def group(self, record: Record) -> str:
        return folded(record.text if record.pair is None else f"{record.text} {record.pair}")

    def truncation(self, task: TaskSettings) -> dict[str, int]:
        return {"max_length": task.max_length}

    def encode(self, task: TaskSettings, records: Iterable[Record], tokenise: Tokeniser) -> dict[str, pa.Table]:
        tokens, labels = TokenColumns(tokenise), list[float]()

        def texts() -> Iterator[str | tuple[str, str]]:
            for record in records:
                labels.append(record.label)
                yield record.text if record.pair is None else (record.text, record.pair)

        for row in tokenise(texts(), offsets=False):
            tokens.add(row)
        return {"": pa.table({**tokens.columns(), "labels": pa.array(np.array(labels, self.dtype))})}  # (rows,)

    def width(self, task: TaskSettings, encoded: Encoded) -> tuple[int, ...]:
        return (self.outputs(task),)

    def truth(self, encoded: Encoded) -> list[Any]:
        labels: list[Any] = encoded.labels.tolist()
        return labels

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        if None in answers:
            return dict.fromkeys(self.metrics, float("nan"))
        return {name: metrics[name](np.array(answers), np.array(truth)) for name in self.metrics}


@task_types.register("classification")
class Classification(_Labelled):
    """Classification, one class per row; F1 and Matthews' correlation (of class 1) for two classes only."""

    version: ClassVar[int] = 1
    metrics: ClassVar[Any] = RegisteredMetrics("classification")
    binary: ClassVar[tuple[str, ...]] = ("f1", "matthews")
    has_label_names: ClassVar[bool] = True
    has_windows: ClassVar[bool] = False
    required_columns: ClassVar[tuple[str, ...]] = ("text", "label")
    optional_columns: ClassVar[tuple[str, ...]] = ("pair", "id")
    dtype = np.int64

    def record(self, row: Fields, task: TaskSettings, label_names: list[str], labelled: bool) -> Record:
        """Return the record of a row; its label is the class number, 0 where the rows have no labels."""
        return _record(row, class_of(row["label"], label_names, task.labels) if labelled else 0)

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        """Return the metrics; those for two classes are left out if a class above 1 is predicted or true."""
        scores = super().scores(answers, truth)
        is_binary = max(answer or 0 for answer in (*answers, *truth)) <= 1
        return {name: value for name, value in scores.items() if is_binary or name not in self.binary}

    def answers(self, logits: np.ndarray, encoded: Encoded) -> list[Any]:
        """Return the class with the largest logit for each row of (rows, num_labels); None if one is not finite."""
        return [int(row.argmax()) if np.isfinite(row).all() else None for row in logits]


@task_types.register("regression")
class Regression(_Labelled):
    """Regression: one score per row."""

    version: ClassVar[int] = 1
    metrics: ClassVar[Any] = RegisteredMetrics("regression")
    has_label_names: ClassVar[bool] = False
    has_windows: ClassVar[bool] = False
    required_columns: ClassVar[tuple[str, ...]] = ("text", "label")
    optional_columns: ClassVar[tuple[str, ...]] = ("pair", "id")

    def record(self, row: Fields, task: TaskSettings, label_names: list[str], labelled: bool) -> Record:
        """Return the record of a row; its label is the score, 0 where the rows have no labels."""
        bounds = task.bounds or (-LARGEST, LARGEST)
        return _record(row, score_of(row["label"], *bounds) if labelled else 0)

    def answers(self, logits: np.ndarray, encoded: Encoded) -> list[Any]:
        """Return the logit of each row of (rows, 1) as its score; None if it is not finite."""
        return [float(row[0]) if np.isfinite(row[0]) else None for row in logits]
