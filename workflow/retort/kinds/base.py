"""What a kind of task fixes: its head, how rows become arrays, how answers are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from retort.data.tasks import Encoded
from retort.registry import Registry

Task = dict[str, Any]
Tokenise = Callable[[list[Any]], Iterator[Any]]


class Kind(Protocol):
    """A kind of task; one registered class is all that the package knows of it.

    `version`, `metrics`, `named`, `windowed`, `fields` and `optional` are literals of the class itself: `retort check`
    reads them from the source.

    Args:
        version: raised when what is encoded or scored changes.
        metrics: every metric that is measured, by its registered name.
        named: whether the task's YAML names its labels.
        windowed: whether a text that is longer than a row becomes several, as the task's `windows` says.
        fields: what `columns` must name; `label` may be absent in rows without labels.
        optional: what `columns` may name besides; an `id` must not stand twice in a file.
        texts: the fields that must not be empty.
        head: the head, by its name in models/build.py.
        loss: the objective of plain fine-tuning.
    """

    version: int
    metrics: tuple[str, ...]
    named: bool
    windowed: bool
    fields: tuple[str, ...]
    optional: tuple[str, ...]
    texts: tuple[str, ...]
    head: str
    loss: str

    def outputs(self, task: Task) -> int:
        """How many numbers the head gives for a row, or for a token of it."""
        ...

    def record(self, row: dict[str, Any], task: Task, words: list[str], labelled: bool) -> Any:
        """The record of a row, None to leave it out.

        Args:
            row: the fields that `columns` names, and `part` where the file is that of a part.
            task: the task's settings.
            words: how the labels are written in this file; none where they are numbers.
            labelled: False where the rows have no labels.

        Raises:
            RetortError: a field is not what the task says; without the place, which the caller knows.
        """
        ...

    def truncation(self, task: Task) -> dict[str, Any]:
        """What tokenizers' `enable_truncation` is called with."""
        ...

    def encode(self, task: Task, records: list[Any], tokenise: Tokenise) -> dict[str, np.ndarray]:
        """The arrays of a split: `ids`, `types`, `offsets`, `labels` in the dtype of a batch, and any of its own.

        Args:
            task: the task's settings.
            records: what the task's reader made.
            tokenise: from texts, or pairs of texts, to their `tokenizers.Encoding`s, in order.
        """
        ...

    def width(self, task: Task, encoded: Encoded) -> tuple[int, ...]:
        """The shape of the logits of one row; rows with fewer stand at its beginning."""
        ...

    def answers(self, logits: np.ndarray, encoded: Encoded) -> list[Any]:
        """The answer to each example, plain enough for JSON; None where a logit is not finite."""
        ...

    def truth(self, encoded: Encoded) -> list[Any]:
        """What each answer is compared with, in the same order, plain enough for JSON."""
        ...

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        """Every metric of the kind; NaN for all where an answer is None."""
        ...


kinds: Registry[type[Kind]] = Registry("kind of task")


def kind_of(task: Task) -> Kind:
    """The kind of a task, from its settings."""
    return kinds[task["kind"]]()
