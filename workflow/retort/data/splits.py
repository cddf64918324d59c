"""The records of each split of a task; every row is checked: row counts, labels, empty texts, repeated ids."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from retort.checksums import sha256
from retort.data.files import plain_or_gzip
from retort.data.formats import DAMAGED, DUPLICATE, Fields, formats, spell_label
from retort.data.task_type import TaskType
from retort.errors import RetortError, first_line
from retort.settings.inputs import SplitFile, SplitSettings, TaskSettings
from retort.specs.task import Split

CARD = "README.md"  # of a data set of the hub: names its configurations, and the files of their splits
HINT = "give the whole file, or name the task under `sample` in config.yaml, which is then reported with every score"


@dataclass
class SplitRows:
    """The rows of a split, or of one subset of it.

    Args:
        records: the records that the task type makes from the rows.
        labelled: whether the rows have labels.
        sample: (rows, rows of the whole set) where the file is only a sample; else None.
        notes: lines for the log about rows that were left out or accepted with a fault.
        sha256: the digest of the file, or of the digests of several files; None for made rows.
    """

    records: list[Any]
    labelled: bool = True
    sample: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list)
    sha256: str | None = None


def read_task(task: TaskSettings, task_type: TaskType, folders: dict[str, Path]) -> Iterator[tuple[str, SplitRows]]:
    """Yield (name, rows) for each encoded split of a task: a split, or one subset of a split.

    Args:
        task: the task's settings.
        task_type: the task type, which makes records from rows.
        folders: the folders of the fetched sources by name.

    Raises:
        RetortError: a file is missing, or a row does not agree with the task; the message names file and line.
    """
    for split in task.splits.values():
        for name, file in split.files.items():
            paths = paths_of(folders[split.source], file)
            rows = SplitReader(task, task_type, split, paths, file.subset).read(file.rows)
            yield from split_groups(rows, task_type.group, task.split) if task.split else [(name, rows)]


def split_groups(rows: SplitRows, group_of: Callable[[Any], str], split: Split) -> Iterator[tuple[str, SplitRows]]:
    """Draw the splits: whole groups in a random order fill 'test' and 'dev' to at least their rows, then 'train'.

    Args:
        rows: all rows.
        group_of: returns the group of a record.
        split: the seed, and the rows of 'test' and 'dev'.

    Raises:
        RetortError: no row is left for 'train'.
    """
    groups: dict[str, list[Any]] = {}
    for record in rows.records:
        groups.setdefault(group_of(record), []).append(record)
    order = sorted(groups)
    random.Random(f"split {split.seed}").shuffle(order)
    drawn: dict[str, list[Any]] = {"train": [], "dev": [], "test": []}
    for group in order:
        wanted = (("test", split.test), ("dev", split.dev))
        drawn[next((name for name, count in wanted if len(drawn[name]) < count), "train")] += groups[group]
    if not drawn["train"]:
        what = f"{len(rows.records)} rows leave none to train on"
        raise RetortError(what, f"test: {split.test} and dev: {split.dev} are too large")
    for name, records in drawn.items():
        yield name, replace(rows, records=records, notes=rows.notes if name == "train" else [])


def paths_of(folder: Path, file: SplitFile) -> list[Path]:
    """Return the paths of the files of a split: one, or those that the card of a data set of the hub names.

    Args:
        folder: the folder of the source; for a data set of the hub, with the files of the commit and the card.
        file: the file of the split; with a `name`, that of a configuration, `file` is a split of this configuration.

    Raises:
        RetortError: there is no such file, the card has no such configuration or split, or it names files outside of
            the folder.
    """
    if not file.name:
        return [plain_or_gzip(folder / file.file)]
    where, patterns = f"{folder.name}/{CARD}", _patterns_of(folder, file.name, file.file)
    for pattern in patterns:
        if ".." in pattern.split("/") or pattern.startswith("/"):
            raise RetortError(f"{where}: '{pattern}' leaves its folder", "name the files of the splits instead")
    files = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    if not files:
        raise RetortError(
            f"{where}: the files of '{file.name}' and '{file.file}' are not here",
            f"'files' of the source takes {', '.join(patterns)}",
        )
    return files


def _patterns_of(folder: Path, name: str, split: str) -> list[str]:
    """Return the patterns that a card gives for the files of a split of a configuration.

    The library resolves all configurations of a card at once, and fails where the folder holds the files of one alone:
    so the card is read here, with the library's classes.
    """
    from datasets.data_files import sanitize_patterns
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard

    where = f"{folder.name}/{CARD}"
    if not (folder / CARD).is_file():
        raise RetortError(f"{where} does not exist", "name the files of the splits, without the key 'name'")
    try:
        configurations = MetadataConfigs.from_dataset_card_data(DatasetCard.load(folder / CARD).data)
        splits = {key: sanitize_patterns(value.get("data_files", {})) for key, value in configurations.items()}
    except Exception as error:  # YAML, and the library's own checks of it
        raise RetortError(f"{where}: not the card of a data set ({first_line(error)})") from error
    if name not in splits:
        raise RetortError(f"{where}: no configuration is called '{name}'", f"there are {', '.join(splits) or 'none'}")
    if split not in splits[name]:
        raise RetortError(f"{where}: '{name}' has no split '{split}'", f"there are {', '.join(splits[name]) or 'none'}")
    patterns: list[str] = splits[name][split]
    return patterns


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
        task_type: TaskType,
        split: SplitSettings,
        paths: list[Path],
        subset: str | None = None,
    ) -> None:
        self.task, self.task_type, self.split, self.paths = task, task_type, split, paths
        self.fixed: Fields = {"subset": subset} if subset else {}
        self.name = f"{paths[0].parent.name}/{paths[0].name}"  # of the file that is read
        self.broken: list[tuple[str, str]] = []  # the file and the location where each stands
        self.empty: list[tuple[str, str]] = []
        self.left_out: list[tuple[str, str]] = []
        self.locations: dict[Any, tuple[str, str]] = {}  # id of a row -> the file and the location where it stands
        # None: the first row decides
        self.labelled = None if split.labelled and split.unlabelled_sample and task.sample else split.labelled

    def read(self, expected: list[int]) -> SplitRows:
        """Read the files.

        Args:
            expected: the numbers of rows that the whole set may have; a sample may have fewer. Empty for any number.

        Raises:
            RetortError: the number of rows is wrong, or a row does not agree with the task.
        """
        records = []
        for path in self.paths:
            self.name = f"{path.parent.name}/{path.name}"
            for location, fields in formats[self.split.format](path, self._note_broken, **self.split.options):
                for column in self.split.columns.values():
                    if fields.get(column) is DUPLICATE:
                        what = f"{self.name}, line 1: two columns are called {column!r}"
                        raise RetortError(what, "rename one of the two")
                try:
                    record = self._record(location, fields)
                except RetortError as error:
                    raise RetortError(f"{self.name}, {location}: {error.message}", error.hint) from None
                if record is not None:
                    records.append(record)
        if not records:
            raise RetortError(f"{self.name} holds no rows", "is it the right file, and do its options leave rows?")
        count, sample = len(records), None
        if expected and count not in expected:
            whole = " or ".join(map(str, expected))
            if not self.task.sample or count > max(expected):
                hint = HINT if count < max(expected) else None
                raise RetortError(f"{self.paths[0]}: {count} rows, and the whole set has {whole}", hint)
            sample = (count, expected[0])
        return SplitRows(records, bool(self.labelled), sample, self._notes(), digest(self.paths))

    def _notes(self) -> list[str]:
        labels = " or ".join(map(repr, self.split.exclude_labels))
        noted = {
            "lines without all fields left out": self.broken,
            "rows with an empty text": self.empty,
            f"rows labelled {labels} left out": self.left_out,
        }
        return [
            f"{file}: {what}: {', '.join([location for _, location in same][:30])}"
            for what, places in noted.items()
            for file, same in itertools.groupby(places, itemgetter(0))
        ]

    def _note_broken(self, location: str, what: str) -> None:
        """Note a broken line; raise an error if the split has more of them than its YAML allows."""
        self.broken.append((self.name, location))
        if len(self.broken) > self.split.broken:
            raise RetortError(f"{self.name}, {location}: {what}")

    def _record(self, location: str, fields: Fields) -> Any:
        """Return the record of a row; None if the row is left out.

        Raises:
            RetortError: the row does not agree with the task; `read` adds the location.
        """
        row: Fields = {name: fields[column] for name, column in self.split.columns.items() if column in fields}
        self._check_columns(fields, row)
        excluded = self.split.exclude_labels
        if self.labelled and excluded and spell_label(row["label"]) in excluded:
            self.left_out.append((self.name, location))
            return None
        if "id" in row:
            self._check_id(location, row["id"])
        self._check_texts(location, row)
        return self.task_type.record(row | self.fixed, self.task, self.split.label_names, bool(self.labelled))

    def _check_columns(self, fields: Fields, row: Fields) -> None:
        """Raise an error if a column is missing in the row.

        Labels may be missing only in a sample of a split whose YAML says `unlabelled_sample`, and then in all rows.
        """
        if self.labelled is None:
            self.labelled = "label" in row
        if self.split.labelled and not self.labelled and "label" in row:
            raise RetortError("has a label, and the rows before have none", "label all rows or none")
        for name, column in self.split.columns.items():
            if name not in row and (name != "label" or self.labelled):
                known = ", ".join(str(key) for key in fields if isinstance(key, str)) or f"1 to {len(fields)}"
                hint = f"there are {known}" + "; a split without labels says `labelled: false`" * (name == "label")
                raise RetortError(f"no column {column!r} for '{name}'", hint)

    def _check_id(self, location: str, own: Any) -> None:
        """Raise an error if an id is no text and no number, or stands in another row already."""
        if isinstance(own, list | dict):
            raise RetortError(f"id ({self.split.columns['id']}) is {own!r}, not a text or a number")
        file, first = self.locations.setdefault(own, (self.name, location))
        if (file, first) != (self.name, location):
            raise RetortError(f"id {own!r} stands in {first}{f' of {file}' * (file != self.name)} already")

    def _check_texts(self, location: str, row: Fields) -> None:
        """Raise an error if a value is no text, or if more texts are empty than the split's YAML allows."""
        texts = {name: row[name] for name in self.task_type.text_columns if name in row}
        blank = [name for name, text in texts.items() if not str(text or "").strip()]
        if blank:
            self.empty.append((self.name, location))
            if len(self.empty) > self.split.empty:
                raise RetortError(f"{blank[0]} ({self.split.columns[blank[0]]}) is empty")
        for name, text in texts.items():
            if not isinstance(text or "", str):
                raise RetortError(f"{name} ({self.split.columns[name]}) is {text!r}, not a text")
            if text and "\0" in text:
                raise RetortError(f"{name} ({self.split.columns[name]}) holds a NUL byte", DAMAGED)


def digest(paths: list[Path]) -> str:
    """Return the SHA-256 of a file; for several files, the SHA-256 of their joined digests."""
    digests = [sha256(path) for path in paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
