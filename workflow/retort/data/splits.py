"""The records of each split of a task; every row is checked: row counts, labels, empty texts, repeated ids."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from retort.data.files import plain_or_gzip, sha256
from retort.data.formats import Fields, formats
from retort.data.readers import Record, readers
from retort.errors import RetortError
from retort.settings import SplitSettings, TaskSettings

DRAWN = ("train", "dev", "test")
HINT = "give the whole file, or set `sample: true` in config.yaml, which is then printed with every score"


@dataclass
class SplitRows:
    """The rows of a split, or of one subset of it.

    Args:
        records: the records that the task type makes from the rows.
        labelled: False where the rows have no labels.
        sample: (rows, rows of the whole set) where the file is only a sample; else None.
        notes: lines for the log about rows that were left out or accepted with a fault.
        sha256: the digest of the file; None where the splits were drawn from one file.
    """

    records: list[Any]
    labelled: bool = True
    sample: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list)
    sha256: str | None = None


def split_groups(records: list[Record], seed: int, test: int, dev: int) -> dict[str, list[Record]]:
    """Draw the splits: whole groups in a random order fill 'test' and 'dev' to at least these many rows, then 'train'.

    Raises:
        RetortError: no row is left for 'train'.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.group, []).append(record)
    order = sorted(groups)
    random.Random(f"split {seed}").shuffle(order)
    splits: dict[str, list[Record]] = {name: [] for name in DRAWN}
    for group in order:
        short = next((name for name, rows in (("test", test), ("dev", dev)) if len(splits[name]) < rows), "train")
        splits[short] += groups[group]
    if not splits["train"]:
        raise RetortError(f"{len(records)} rows leave none to train on", f"test: {test} and dev: {dev} are too large")
    return splits


class RecordMaker(Protocol):
    """What reading needs of a task type; tasks/base.py says what each member is."""

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that must not be empty."""
        ...

    def record(self, row: Fields, task: TaskSettings, label_names: list[str], labelled: bool) -> Any:
        """Return the record of a row."""
        ...


def read_task(task: TaskSettings, task_type: RecordMaker, folders: dict[str, Path]) -> Iterator[tuple[str, SplitRows]]:
    """Yield (name, rows) for each encoded split of a task: a split, or one subset of a split.

    Args:
        task: the task's settings.
        task_type: the task type, which makes records from rows.
        folders: the folders of the fetched sources by name; a task that draws its splits has one.

    Raises:
        RetortError: a file is missing, or a row does not agree with the task; the message names file and line.
    """
    if task.reader and task.split:
        (folder,) = folders.values()
        records = readers[task.reader.name](folder, **task.reader.options)
        for name, drawn in split_groups(records, task.split.seed, task.split.test, task.split.dev).items():
            yield name, SplitRows(drawn)
    for split in (task.splits or {}).values():
        for name, file in split.files.items():
            path = plain_or_gzip(folders[split.source] / file.file)
            yield name, FileReader(task, task_type, split, path, file.subset).read(file.rows)


class FileReader:
    """Reads one file of a split and checks it row by row.

    Args:
        task: the task's settings.
        task_type: the task type.
        split: the settings of the split.
        path: the file.
        subset: the subset of the split that the file holds; None where the split has no subsets.
    """

    def __init__(
        self, task: TaskSettings, task_type: RecordMaker, split: SplitSettings, path: Path, subset: str | None = None
    ) -> None:
        self.task, self.task_type, self.split, self.path = task, task_type, split, path
        self.fixed: Fields = {"subset": subset} if subset else {}
        self.name = f"{path.parent.name}/{path.name}"
        self.broken: list[str] = []
        self.empty: list[str] = []
        self.left_out: list[str] = []
        self.locations: dict[Any, str] = {}  # id of a row -> where it stands
        self.labelled: bool | None = None if split.labelled else False

    def read(self, expected: list[int]) -> SplitRows:
        """Read the file.

        Args:
            expected: the numbers of rows that the whole set may have; a task with `sample: true` may have fewer.

        Raises:
            RetortError: the number of rows is wrong, or a row does not agree with the task.
        """
        records = [
            record
            for location, fields in formats[self.split.format](self.path, self._broken, **self.split.options)
            if (record := self._record(location, fields)) is not None
        ]
        if not records:
            raise RetortError(f"{self.name} holds no rows", "is it the right file?")
        count, sample = len(records), None
        if count not in expected:
            whole = " or ".join(map(str, expected))
            if not self.task.sample or count > max(expected):
                raise RetortError(f"{self.path}: {count} rows, and the whole set has {whole}", HINT)
            sample = (count, expected[0])
        notes = [
            f"{self.name}: {what}: {', '.join(locations[:30])}"
            for what, locations in (
                ("lines without all fields left out", self.broken),
                ("rows with an empty text", self.empty),
                (f"rows labelled {' or '.join(map(repr, self.split.exclude_labels))} left out", self.left_out),
            )
            if locations
        ]
        return SplitRows(records, bool(self.labelled), sample, notes, sha256(self.path))

    def _error(self, location: str, what: object, hint: str | None = None) -> RetortError:
        return RetortError(f"{self.name}, {location}: {what}", hint)

    def _broken(self, location: str, what: str) -> None:
        """Note a line without all its fields; raise an error if there are more than the split allows."""
        self.broken.append(location)
        if len(self.broken) > self.split.broken:
            raise self._error(location, what)

    def _record(self, location: str, fields: Fields) -> Any:
        """Return the record of a row; None if the row is left out."""
        columns = self.split.columns
        row: Fields = {name: fields[column] for name, column in columns.items() if column in fields}
        self._check_columns(location, fields, row)
        if self.labelled and row["label"] in self.split.exclude_labels:
            self.left_out.append(location)
            return None
        if "id" in row:
            first = self.locations.setdefault(row["id"], location)
            if first != location:
                raise self._error(location, f"id {row['id']!r} stands in {first} already")
        blank = [name for name in self.task_type.text_columns if name in row and not str(row[name] or "").strip()]
        if blank:
            self.empty.append(location)
            if len(self.empty) > self.split.empty:
                raise self._error(location, f"{blank[0]} ({columns[blank[0]]}) is empty")
        try:
            return self.task_type.record(row | self.fixed, self.task, self.split.label_names, bool(self.labelled))
        except RetortError as error:
            raise self._error(location, error) from None

    def _check_columns(self, location: str, fields: Fields, row: Fields) -> None:
        """Raise an error if a column is missing in the row; the first row decides whether a sample has labels."""
        absent = [name for name in self.split.columns if name not in row]
        if self.labelled is None:
            self.labelled = "label" not in absent
            if not self.labelled and not self.task.sample:
                raise self._error(location, f"no column {self.split.columns['label']!r}: the labels are missing", HINT)
        absent = [name for name in absent if name != "label" or self.labelled]
        if absent:
            column = self.split.columns[absent[0]]
            known = ", ".join(str(key) for key in fields if isinstance(key, str)) or f"1 to {len(fields)}"
            raise self._error(location, f"no column {column!r} for '{absent[0]}'", f"there are {known}")
