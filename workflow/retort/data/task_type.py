"""The interface of a task type: its head, how rows are encoded, how answers are scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from retort.data.encoded import Encoded
from retort.data.formats import Fields
from retort.data.tokenizers import Tokeniser
from retort.registry import Registry
from retort.settings.inputs import TaskSettings


class TaskType(Protocol):
    """A task type; one registered class holds all that the package knows about it.

    `version`, `has_label_names`, `has_windows`, `required_columns` and `optional_columns` must be literals in the class
    body: `retort check` reads them from the source code. So must `metrics`, unless they are those of `metrics_of`.

    Args:
        version: increased when what is encoded or scored changes.
        metrics: the registered names of all metrics that are measured.
        has_label_names: True if the task's YAML names its labels.
        has_windows: True if a text longer than a row becomes several rows (see `windows` of the task).
        required_columns: the keys that `columns` must have; `label` may be absent in rows without labels.
        optional_columns: the keys that `columns` may also have; an `id` may occur only once in a file.
        text_columns: the keys whose value must not be empty.
        head: the name of the head in models/build.py.
    """

    version: ClassVar[int]
    metrics: ClassVar[tuple[str, ...]]
    has_label_names: ClassVar[bool]
    has_windows: ClassVar[bool]
    required_columns: ClassVar[tuple[str, ...]]
    optional_columns: ClassVar[tuple[str, ...]]
    text_columns: ClassVar[tuple[str, ...]]
    head: ClassVar[str]

    def outputs(self, task: TaskSettings) -> int:
        """Return how many numbers the head gives for each row, or for each token of a row."""
        ...

    def record(self, row: Fields, task: TaskSettings, label_names: list[str], labelled: bool) -> Any:
        """Return the record of a row; None to leave the row out.

        Args:
            row: the values of the columns, by the keys of `columns`, and `subset` where the file holds one subset.
            task: the task's settings.
            label_names: the label names as this file spells them; empty where they are those of the task, or numbers.
            labelled: False where the rows have no labels.

        Raises:
            RetortError: a value does not agree with the task; the caller adds the location in the file.
        """
        ...

    def group(self, record: Any) -> str:
        """Return what records that must be in one split have in common, where splits are drawn."""
        ...

    def truncation(self, task: TaskSettings) -> dict[str, int]:
        """Return the arguments for the `enable_truncation` of a `tokenizers.Tokenizer`."""
        ...

    def encode(self, task: TaskSettings, records: Iterable[Any], tokenise: Tokeniser) -> dict[str, pa.Table]:
        """Return the tables of a split by their subfolder in the encoded task; '' is the table of its rows.

        A row has the columns of `TokenColumns`, `labels` in the dtype of a batch, and others.

        Args:
            task: the task's settings.
            records: the records of the split, each of which may be gone from memory once the next one is taken.
            tokenise: turns texts, or pairs of texts, into their `tokenizers.Encoding`s, in order.
        """
        ...

    def width(self, task: TaskSettings, encoded: Encoded) -> tuple[int, ...]:
        """Return the shape of the logits of one row; shorter rows fill the beginning of this shape."""
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


def task_type_of(task: TaskSettings) -> TaskType:
    """Return the task type of a task, from its settings."""
    return task_types[task.task_type]()
