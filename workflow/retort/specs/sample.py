"""Check the made-up records in the file of a task: their fields, texts and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retort.registry import unknown

TEXTS = {"text", "pair", "question", "context"}  # fields of a record that hold a text, whatever the task


def check_sample(
    sample: Sequence[dict[str, Any]],
    required: Sequence[str],
    optional: Sequence[str],
    labels: Sequence[str],
    bounds: tuple[float, float] | None = None,
) -> None:
    """Raise an error for the first record that the task cannot read.

    Args:
        sample: the records.
        required: the fields that a record must have; an `id` may be left out.
        optional: the fields that it may have beside them.
        labels: the names of the labels; empty where the task has none.
        bounds: the least and the greatest label, where labels are numbers; else None.

    Raises:
        ValueError: a record has an unknown field, lacks a field, has a field that must be a text and is not, or has a
            label that the task does not have.
    """
    for number, record in enumerate(sample, start=1):
        for field in record:
            if field not in (*required, *optional):
                raise ValueError(f"sample.{number}: {unknown('field', field, (*required, *optional))}")
        lacking = [field for field in required if field not in record and field != "id"]
        if lacking:
            raise ValueError(f"sample.{number}: '{lacking[0]}' is missing")
        for field in TEXTS & record.keys():
            if not isinstance(record[field], str) or not record[field].strip():
                raise ValueError(f"sample.{number}.{field}: give a text, not {record[field]!r}")
        if len(labels) > 1 and record["label"] not in labels:
            raise ValueError(f"sample.{number}.label: {unknown('label', record['label'], labels)}")
        if bounds is not None and bounds[0] < bounds[1]:  # wrong bounds are reported elsewhere
            _check_number(f"sample.{number}.label", record["label"], *bounds)


def _check_number(place: str, label: Any, least: float, greatest: float) -> None:
    """Raise an error if a label is no number, or is out of its bounds."""
    if isinstance(label, bool) or not isinstance(label, int | float) or not least <= label <= greatest:
        raise ValueError(f"{place}: give a number from {least:.10g} to {greatest:.10g}, not {label!r}")
