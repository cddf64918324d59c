"""The records of each split of a task; every row is checked: row counts, labels, empty texts, repeated ids."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.data.files import sha256
from retort.data.formats import Fields, formats, found
from retort.data.readers import Record, readers
from retort.errors import RetortError

DRAWN = ("train", "dev", "test")
HINT = "give the whole file, or set `sample: true` in config.yaml, which is then printed with every score"


@dataclass
class Piece:
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


def read_task(task: dict[str, Any], task_type: Any, folders: dict[str, Path]) -> Iterator[tuple[str, Piece]]:
    """Yield (name, rows) for each piece of a task: a split, or a subset of one.

    Args:
        task: the task's settings.
        task_type: the task type, which makes records from rows.
        folders: the folders of the fetched sources by name; a task that draws its splits has one.

    Raises:
        RetortError: a file is missing, or a row does not agree with the task; the message names file and line.
    """
    if "reader" in task:
        (folder,) = folders.values()
        split = task["split"]
        records = readers[task["reader"]["name"]](folder, **task["reader"]["options"])
        for name, rows in split_groups(records, split["seed"], split["test"], split["dev"]).items():
            yield name, Piece(rows)
        return
    for reading in task["splits"].values():
        for name, piece in reading["pieces"].items():
            path = found(folders[reading["source"]] / piece["file"])
            yield name, Rows(task, task_type, reading, path, piece.get("subset")).read(piece["rows"])


class Rows:
    """One file of a split, read and checked row by row.

    Args:
        task: the task's settings.
        task_type: the task type.
        reading: the settings of the split.
        path: the file.
        subset: the subset of the split that the file holds; None where the split has no subsets.
    """

    def __init__(
        self, task: dict[str, Any], task_type: Any, reading: dict[str, Any], path: Path, subset: str | None = None
    ) -> None:
        self.task, self.task_type, self.reading, self.path = task, task_type, reading, path
        self.known = {"subset": subset} if subset else {}
        self.shown = f"{path.parent.name}/{path.name}"
        self.broken: list[str] = []
        self.empty: list[str] = []
        self.left_out: list[str] = []
        self.ids: dict[Any, str] = {}
        self.labelled: bool | None = None if reading["labelled"] else False

    def read(self, expected: list[int]) -> Piece:
        """Read the file.

        Args:
            expected: the numbers of rows that the whole set may have; a task with `sample: true` may have fewer.

        Raises:
            RetortError: the number of rows is wrong, or a row does not agree with the task.
        """
        records = [
            record
            for place, fields in formats[self.reading["format"]](self.path, self._broken, **self.reading["options"])
            if (record := self._record(place, fields)) is not None
        ]
        if not records:
            raise RetortError(f"{self.shown} holds no rows", "is it the right file?")
        count, sample = len(records), None
        if count not in expected:
            whole = " or ".join(map(str, expected))
            if not self.task["sample"] or count > max(expected):
                raise RetortError(f"{self.path}: {count} rows, and the whole set has {whole}", HINT)
            sample = (count, expected[0])
        notes = [
            f"{self.shown}: {what}: {', '.join(places[:30])}"
            for what, places in (
                ("lines without all fields left out", self.broken),
                ("rows with an empty text", self.empty),
                (f"rows labelled {' or '.join(map(repr, self.reading['without']))} left out", self.left_out),
            )
            if places
        ]
        return Piece(records, bool(self.labelled), sample, notes, sha256(self.path))

    def _error(self, place: str, what: object, hint: str | None = None) -> RetortError:
        return RetortError(f"{self.shown}, {place}: {what}", hint)

    def _broken(self, place: str, what: str) -> None:
        """Note a line without all its fields; raise an error if there are more than the split allows."""
        self.broken.append(place)
        if len(self.broken) > self.reading["broken"]:
            raise self._error(place, what)

    def _record(self, place: str, fields: Fields) -> Any:
        """Return the record of a row; None if the row is left out."""
        columns = self.reading["columns"]
        row = {name: fields[column] for name, column in columns.items() if column in fields}
        self._complete(place, fields, row)
        if self.labelled and row["label"] in self.reading["without"]:
            self.left_out.append(place)
            return None
        if "id" in row:
            first = self.ids.setdefault(row["id"], place)
            if first != place:
                raise self._error(place, f"id {row['id']!r} stands in {first} already")
        blank = [name for name in self.task_type.texts if name in row and not str(row[name] or "").strip()]
        if blank:
            self.empty.append(place)
            if len(self.empty) > self.reading["empty"]:
                raise self._error(place, f"{blank[0]} ({columns[blank[0]]}) is empty")
        try:
            return self.task_type.record(row | self.known, self.task, self.reading["words"], bool(self.labelled))
        except RetortError as error:
            raise self._error(place, error) from None

    def _complete(self, place: str, fields: Fields, row: dict[str, Any]) -> None:
        """Raise an error if a column is missing in the row; the first row decides whether a sample has labels."""
        absent = [name for name in self.reading["columns"] if name not in row]
        if self.labelled is None:
            self.labelled = "label" not in absent
            if not self.labelled and not self.task["sample"]:
                raise self._error(
                    place, f"no column {self.reading['columns']['label']!r}: the labels are missing", HINT
                )
        absent = [name for name in absent if name != "label" or self.labelled]
        if absent:
            column = self.reading["columns"][absent[0]]
            there = ", ".join(str(key) for key in fields if isinstance(key, str)) or f"1 to {len(fields)}"
            raise self._error(place, f"no column {column!r} for '{absent[0]}'", f"there are {there}")
