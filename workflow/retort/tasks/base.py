"""The interface of a task type: its head, how rows become arrays, how answers are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from retort.data.encoded import Encoded
from retort.registry import Registry

Task = dict[str, Any]
Tokenise = Callable[[list[Any]], Iterator[Any]]


class TaskType(Protocol):
    """A task type; one registered class holds all that the package knows about it.

    `version`, `metrics`, `named`, `windowed`, `fields` and `optional` must be literals in the class body: `retort
    check` reads them from the source code.

    Args:
        version: increased when what is encoded or scored changes.
        metrics: the registered names of all metrics that are measured.
        named: True if the task's YAML names its labels.
        windowed: True if a text longer than a row becomes several rows, as the task's `windows` says.
        fields: the fields that `columns` must name; `label` may be absent in rows without labels.
        optional: the fields that `columns` may also name; an `id` may occur only once in a file.
        texts: the fields that must not be empty.
        head: the name of the head in models/build.py.
        loss: the objective of fine-tuning without a teacher.
    """

    version: int
    metrics: tuple[str, ...]
    has_label_names: bool
    has_windows: bool
    required_columns: tuple[str, ...]
    optional_columns: tuple[str, ...]
    text_columns: tuple[str, ...]
    head: str
    loss: str

    def outputs(self, task: Task) -> int:
        """Return how many numbers the head gives for each row, or for each token of a row."""
        ...

    def record(self, row: dict[str, Any], task: Task, words: list[str], labelled: bool) -> Any:
        """Return the record of a row; None to leave the row out.

        Args:
            row: the fields that `columns` names, and `part` where the file holds one subset of a split.
            task: the task's settings.
            words: the spelling of the label names in this file; empty where labels are numbers.
            labelled: False where the rows have no labels.

        Raises:
            RetortError: a field does not agree with the task; the caller adds the location in the file.
        """
        ...

    def truncation(self, task: Task) -> dict[str, Any]:
        """Return the arguments for the `enable_truncation` of a `tokenizers.Tokenizer`."""
        ...

    def encode(self, task: Task, records: list[Any], tokenise: Tokenise) -> dict[str, np.ndarray]:
        """Return the arrays of a split: `ids`, `types`, `offsets`, `labels`, and others that the task type needs.

        `labels` have the dtype of a batch.

        Args:
            task: the task's settings.
            records: the records of the split.
            tokenise: turns texts, or pairs of texts, into their `tokenizers.Encoding`s, in order.
        """
        ...

    def width(self, task: Task, encoded: Encoded) -> tuple[int, ...]:
        """Return the shape of the logits of one row; a row with fewer logits fills the beginning of this shape."""
        ...

    def answers(self, logits: np.ndarray, encoded: Encoded) -> list[Any]:
        """Return the answer to each example as a JSON value; None where a logit is not finite."""
        ...

    def truth(self, encoded: Encoded) -> list[Any]:
        """Return the true answer of each example as a JSON value, in the order of `answers`."""
        ...

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        """Return every metric of the task type; all are NaN if an answer is None."""
        ...


task_types: Registry[type[TaskType]] = Registry("task type")


def task_type_of(task: Task) -> TaskType:
    """Return the task type of a task, from its settings."""
    return task_types[task["task_type"]]()
