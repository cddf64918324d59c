"""The records of each split of a task; every row is checked: row counts, labels, empty texts, repeated ids."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from retort.data.builders import split_files
from retort.data.files import plain_or_gzip, sha256
from retort.data.formats import DUPLICATE, Fields, Row, formats
from retort.data.readers import Record, readers
from retort.errors import RetortError
from retort.settings.inputs import SplitFile, SplitSettings, TaskSettings

DRAWN = ("train", "dev", "test")
HINT = "give the whole file, or name the task under `sample` in config.yaml, which is then printed with every score"


@dataclass
class SplitRows:
    """The rows of a split, or of one subset of it.

    Args:
        records: the records that the task type makes from the rows.
        labelled: whether the rows have labels.
        sample: (rows, rows of the whole set) where the file is only a sample; else None.
        notes: lines for the log about rows that were left out or accepted with a fault.
        sha256: the digest of the file, or of the digests of several files; None for a split that was drawn.
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
        if not records:
            options = ", ".join(f"{name}: {value}" for name, value in task.reader.options.items())
            raise RetortError(
                f"{folder.name}: reader '{task.reader.name}' takes no row of it",
                f"its options leave all rows out ({options})",
            )
        for name, drawn in split_groups(records, task.split.seed, task.split.test, task.split.dev).items():
            yield name, SplitRows(drawn)
    for split in (task.splits or {}).values():
        for name, file in split.files.items():
            paths = paths_of(folders[split.source], file)
            yield name, SplitReader(task, task_type, split, paths, file.subset).read(file.rows)


def paths_of(folder: Path, file: SplitFile) -> list[Path]:
    """Return the paths of the files of a split: one, or those that the card of a data set of the hub names.

    Raises:
        RetortError: there is no such file, or no such configuration or split.
    """
    return split_files(folder, file.name, file.file) if file.name else [plain_or_gzip(folder / file.file)]


def digest(paths: list[Path]) -> str:
    """Return the SHA-256 of a file; for several files, the SHA-256 of their joined digests."""
    digests = [sha256(path) for path in paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


class SplitReader:
    """Reads a split, or one subset of it, and checks it row by row.

    Args:
        task: the task's settings.
        task_type: the task type.
        split: the settings of the split.
        paths: its files.
        subset: the subset of the split that the files hold; None where the split has no subsets.
    """

    def __init__(
        self,
        task: TaskSettings,
        task_type: RecordMaker,
        split: SplitSettings,
        paths: list[Path],
        subset: str | None = None,
    ) -> None:
        self.task, self.task_type, self.split, self.paths = task, task_type, split, paths
        self.fixed: Fields = {"subset": subset} if subset else {}
        self.name = f"{paths[0].parent.name}/{paths[0].name}"  # of the file that is read
        self.broken: list[str] = []
        self.empty: list[str] = []
        self.left_out: list[str] = []
        self.locations: dict[Any, tuple[str, str]] = {}  # id of a row -> the file and the location where it stands
        self.labelled: bool | None = split.labelled
        if split.labelled and split.unlabelled_sample and task.sample:
            self.labelled = None  # the first row decides

    def read(self, expected: list[int]) -> SplitRows:
        """Read the files.

        Args:
            expected: the numbers of rows that the whole set may have; a sample may have fewer.

        Raises:
            RetortError: the number of rows is wrong, or a row does not agree with the task.
        """
        records = [
            record for location, fields in self._rows() if (record := self._record(location, fields)) is not None
        ]
        if not records:
            raise RetortError(f"{self.name} holds no rows", "is it the right file?")
        count, sample = len(records), None
        if count not in expected:
            whole = " or ".join(map(str, expected))
            if not self.task.sample or count > max(expected):
                raise RetortError(
                    f"{self.paths[0]}: {count} rows, and the whole set has {whole}",
                    HINT if count < max(expected) else None,
                )
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
        return SplitRows(records, bool(self.labelled), sample, notes, digest(self.paths))

    def _rows(self) -> Iterator[Row]:
        """Yield the rows of all files."""
        for path in self.paths:
            self.name = f"{path.parent.name}/{path.name}"
            yield from formats[self.split.format](path, self._note_broken, **self.split.options)

    def _error(self, location: str, what: object, hint: str | None = None) -> RetortError:
        return RetortError(f"{self.name}, {location}: {what}", hint)

    def _note_broken(self, location: str, what: str) -> None:
        """Note a broken line; raise an error if the split has more of them than its YAML allows."""
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
            if isinstance(row["id"], list | dict):
                raise self._error(location, f"id ({columns['id']}) is {row['id']!r}, not a text or a number")
            file, first = self.locations.setdefault(row["id"], (self.name, location))
            if (file, first) != (self.name, location):
                other = f" of {file}" if file != self.name else ""
                raise self._error(location, f"id {row['id']!r} stands in {first}{other} already")
        self._check_texts(location, row)
        try:
            return self.task_type.record(row | self.fixed, self.task, self.split.label_names, bool(self.labelled))
        except RetortError as error:
            raise self._error(location, error) from None

    def _check_texts(self, location: str, row: Fields) -> None:
        """Raise an error if a value is no text, or if more texts are empty than the split's YAML allows."""
        columns = self.split.columns
        blank = [name for name in self.task_type.text_columns if name in row and not str(row[name] or "").strip()]
        if blank:
            self.empty.append(location)
            if len(self.empty) > self.split.empty:
                raise self._error(location, f"{blank[0]} ({columns[blank[0]]}) is empty")
        for name in self.task_type.text_columns:
            # the JSON builder makes a time of a column in which every text is a date
            if not isinstance(row.get(name) or "", str):
                raise self._error(location, f"{name} ({columns[name]}) is {row[name]!r}, not a text")

    def _check_columns(self, location: str, fields: Fields, row: Fields) -> None:
        """Raise an error if a column is missing in the row, or if the header has its name twice.

        Labels may be missing only in a sample of a split whose YAML says `unlabelled_sample`, and then in all rows.
        """
        if self.labelled is None:
            self.labelled = "label" in row
        if self.split.labelled and not self.labelled and "label" in row:
            raise self._error(location, "has a label, and the rows before have none", "label all rows or none")
        duplicates = [column for column in self.split.columns.values() if fields.get(column) is DUPLICATE]
        if duplicates:
            raise self._error("line 1", f"two columns are called {duplicates[0]!r}", "rename one of the two")
        absent = [name for name in self.split.columns if name not in row and (name != "label" or self.labelled)]
        if absent:
            column = self.split.columns[absent[0]]
            known = ", ".join(str(key) for key in fields if isinstance(key, str)) or f"1 to {len(fields)}"
            hint = f"there are {known}" + "; a split without labels says `labelled: false`" * (absent[0] == "label")
            raise self._error(location, f"no column {column!r} for '{absent[0]}'", hint)
