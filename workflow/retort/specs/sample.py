"""Check the made-up records in the file of a task: which fields they have, and that their labels are the task's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retort.registry import unknown

TEXTS = {"text", "pair", "question", "context"}  # fields of a record that hold a text, whatever the task


def check_sample(
    sample: Sequence[dict[str, Any]], required: Sequence[str], optional: Sequence[str], labels: Sequence[str]
) -> None:
    """Raise an error for the first record that the task could not read.

    Args:
        sample: the records.
        required: the fields that a record must have; an `id` may be left out.
        optional: the fields that it may have, too.
        labels: the names of the labels; empty where the task has none.

    Raises:
        ValueError: a record has an unknown field, lacks one, has none where a text belongs, or has a label that is not
            one of the task's.
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
