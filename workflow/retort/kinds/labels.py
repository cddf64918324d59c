"""One label a row: a class, or a score."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from retort.data.readers import Record
from retort.data.tasks import Encoded, Flat
from retort.errors import RetortError
from retort.kinds.base import Task, Tokenise, kinds
from retort.scoring.metrics import metrics


def _record(row: dict[str, Any], label: float) -> Record:
    return Record(row["text"] or "", (row["pair"] or "") if "pair" in row else None, label, "")


def class_of(value: Any, words: list[str]) -> int:
    """The class of a label as it stands in a file; JSON's true is the word 'true'.

    Raises:
        RetortError: it is none of the words.
    """
    word = value if isinstance(value, str) else json.dumps(value)
    if word not in words:
        raise RetortError(f"label {word!r} is not one of {', '.join(words)}")
    return words.index(word)


def score_of(value: Any, least: float, greatest: float) -> float:
    """The score that stands in a file.

    Raises:
        RetortError: it is no number between the bounds.
    """
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = math.nan
    if not (math.isfinite(score) and least <= score <= greatest):
        raise RetortError(f"score {value!r} is not a number from {least:g} to {greatest:g}")
    return score


class _Labelled:
    """What classes and scores share: a row is a text or a pair, its answer one number."""

    version = 1
    metrics: tuple[str, ...] = ()
    head = "classification"
    loss = "supervised"
    texts = ("text", "pair")
    dtype: type = np.float32

    def outputs(self, task: Task) -> int:
        return len(task["labels"]) or 1

    def truncation(self, task: Task) -> dict[str, Any]:
        return {"max_length": task["max_length"]}

    def encode(self, task: Task, records: list[Record], tokenise: Tokenise) -> dict[str, np.ndarray]:
        flat = Flat()
        for row in tokenise([r.text if r.pair is None else (r.text, r.pair) for r in records]):
            flat.add(row)
        return {**flat.arrays(), "labels": np.array([r.label for r in records], self.dtype)}

    def width(self, task: Task, encoded: Encoded) -> tuple[int, ...]:
        return (self.outputs(task),)

    def truth(self, encoded: Encoded) -> list[Any]:
        found: list[Any] = encoded.labels.tolist()
        return found

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        if None in answers:
            return dict.fromkeys(self.metrics, float("nan"))
        return {name: metrics[name](np.array(answers), np.array(truth)) for name in self.metrics}


@kinds.register("classification")
class Classification(_Labelled):
    """One of several classes a row; F1 and Matthews' correlation are of class 1, where there are two."""

    version = 1
    metrics = ("accuracy", "f1", "matthews")
    binary = ("f1", "matthews")
    named = True
    windowed = False
    fields = ("text", "label")
    optional = ("pair", "id")
    dtype = np.int64

    def record(self, row: dict[str, Any], task: Task, words: list[str], labelled: bool) -> Record:
        known = words or [str(number) for number in range(len(task["labels"]))]
        return _record(row, class_of(row["label"], known) if labelled else 0)

    def scores(self, answers: list[Any], truth: list[Any]) -> dict[str, float]:
        found = super().scores(answers, truth)
        several = max(answer or 0 for answer in (*answers, *truth)) > 1
        return {name: value for name, value in found.items() if not (several and name in self.binary)}

    def answers(self, logits: np.ndarray, encoded: Encoded) -> list[Any]:
        return [int(row.argmax()) if np.isfinite(row).all() else None for row in logits]


@kinds.register("regression")
class Regression(_Labelled):
    """One score a row."""

    version = 1
    metrics = ("pearson", "spearman")
    named = False
    windowed = False
    fields = ("text", "label")
    optional = ("pair", "id")

    def record(self, row: dict[str, Any], task: Task, words: list[str], labelled: bool) -> Record:
        bounds = task.get("bounds") or (-math.inf, math.inf)
        return _record(row, score_of(row["label"], *bounds) if labelled else 0)

    def answers(self, logits: np.ndarray, encoded: Encoded) -> list[Any]:
        return [float(row[0]) if np.isfinite(row[0]) else None for row in logits]
