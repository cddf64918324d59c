"""Rows on which a stage is trained in place of the task's own: from a file, or made from the task's training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from retort.data.formats import Record, readers
from retort.data.generators import Generator
from retort.data.splits import SplitReader, SplitRows, digest, paths_of, read_task
from retort.data.task_type import TaskType
from retort.errors import RetortError
from retort.settings.inputs import GeneratorSettings, RowSetSettings, TaskSettings


def rows_of_file(rows: RowSetSettings, task: TaskSettings, task_type: TaskType, folders: dict[str, Path]) -> SplitRows:
    """Return the rows of the file of a set; every row is checked as those of the task's own training file.

    Args:
        rows: the settings of the set.
        task: the settings of its task.
        task_type: the task type.
        folders: the folders of the fetched sources by name.

    Raises:
        RetortError: the file is missing or has another number of rows, or a row does not agree with the task.
    """
    if rows.split:
        (file,) = rows.split.files.values()
        paths = paths_of(folders[rows.split.source], file)
        return SplitReader(task, task_type, rows.split, paths).read(file.rows)
    assert rows.reader is not None, "a set has a split, a reader or a generator"
    (folder,) = folders.values()
    records = readers[rows.reader.name](folder, **rows.reader.options)
    path = folder / str(rows.reader.options["file"])
    if len(records) != rows.rows:
        raise RetortError(f"{path}: {len(records)} rows, and the set says {rows.rows}", "correct 'rows' or the file")
    return SplitRows(records, sha256=digest([path]))


def rows_of_generator(
    generator: Generator,
    settings: GeneratorSettings,
    task: TaskSettings,
    task_type: TaskType,
    folders: dict[str, Path],
) -> SplitRows:
    """Return each training row of a task, followed by its changed copies, which have its label.

    The copies of a row depend on the seed, on its number and on its texts alone.

    Args:
        generator: what changes texts.
        settings: its settings.
        task: the settings of the task, whose rows are texts or pairs of texts.
        task_type: the task type.
        folders: the folders of the fetched sources by name, those of the task first.

    Raises:
        RetortError: a file of the task is missing, or a row does not agree with the task.
    """
    only = {task.train_split: task.splits[task.train_split]} if task.splits else None
    read = folders if task.splits else dict(list(folders.items())[:1])  # a task that draws its splits has one source
    splits = read_task(task.model_copy(update={"splits": only}), task_type, read)
    own = next(rows for name, rows in splits if name == task.train_split)

    def with_copies() -> Iterator[Record]:
        for number, record in enumerate(own.records):
            yield record
            random = np.random.default_rng([settings.seed, number])
            texts = generator(record.text, settings.copies, random)
            pairs = generator(record.pair, settings.copies, random) if record.pair else [record.pair] * len(texts)
            yield from (replace(record, text=text, pair=pair) for text, pair in zip(texts, pairs, strict=True))

    return replace(own, records=list(with_copies()), sample=None, sha256=None)
