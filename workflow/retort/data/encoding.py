"""Encoding: a task is read and tokenised once per vocabulary, and becomes a `datasets.DatasetDict` on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from retort.data.encoded import DATASET_DICT, Encoded, RowCounts
from retort.data.splits import read_task
from retort.data.task_type import TaskType
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings

UNKNOWN = 0.03  # the share of unknown tokens above which a split has a line; a fitting vocabulary knows more


def encode_task(
    task: TaskSettings,
    task_type: TaskType,
    folders: dict[str, Path],
    tokenizer: Path,
    output: Path,
    say: Callable[[str], None] = print,
) -> dict[str, int]:
    """Encode a task and return the number of rows of each encoded split: a split, or one subset of a split.

    Args:
        task: the task's settings.
        task_type: the task type, which makes tables from records.
        folders: the folders of the fetched sources by name.
        tokenizer: the tokenizer.json of the vocabulary.
        output: the folder of the encoded task, a `DatasetDict` with `rows.json` next to it.
        say: called with lines about rows that were left out.
    """
    tokenise, writer, counts = Tokeniser.read(tokenizer), SplitWriter(output, task.labels), RowCounts()
    tokenise.encoder.enable_truncation(**task_type.truncation(task))
    for name, rows in read_task(task, task_type, folders):
        for note in rows.notes:
            say(note)
        counts.rows[name] = len(rows.records)
        tables = task_type.encode(task, _taken(rows.records), tokenise)
        for note in unknown_tokens(name, tables[""], tokenise):
            say(note)
        if name == task.train_split:
            check_labels(task, tables[""])
        if not rows.labelled:
            tables[""] = tables[""].drop_columns("labels")
        writer.write(name, tables)
        counts.tokens[name] = Encoded.from_table(tables[""]).tokens
        counts.sample |= {name: rows.sample} if rows.sample else {}
        counts.sha256 |= {name: rows.sha256} if rows.sha256 else {}
        del tables  # else they would take memory next to those of the next split
    counts.write(output)
    return counts.rows


def _taken(records: list[Any]) -> Iterator[Any]:
    """Yield records, and take each from the list: a text that is encoded takes its memory twice, until it is gone."""
    records.reverse()
    while records:
        yield records.pop()


def check_labels(task: TaskSettings, rows: pa.Table) -> None:
    """Raise an error if a label of the task is on no training row: it is misspelt, or belongs to another task."""
    seen = set(rows["labels"].unique().to_pylist()) if task.labels else set()
    absent = [label for number, label in enumerate(task.labels) if number not in seen]
    if absent:
        line = f"no row of split '{task.train_split}' has the label '{absent[0]}'"
        raise RetortError(line, "correct 'labels' of the task, or leave that label out")


def unknown_tokens(split: str, rows: pa.Table, tokenise: Tokeniser) -> Iterator[str]:
    """Yield a line if the tokenizer does not know more than a few of the tokens of a split."""
    ids = Encoded.from_table(rows).input_ids
    unknown = 0 if tokenise.unknown is None else int((ids == tokenise.unknown).sum())
    if unknown > UNKNOWN * len(ids):
        share = f"{unknown / len(ids):.0%} of the tokens of {split} are unknown to the tokenizer"
        yield f"{share}: is it one for texts of this language, with such letters and accents?"


class SplitWriter:
    """Writes the splits of a task, one after another, as a `DatasetDict` on disk.

    Args:
        folder: the folder of the encoded task.
        label_names: the names of the classes; empty where labels are not classes.
    """

    def __init__(self, folder: Path, label_names: list[str]) -> None:
        self.folder, self.label_names = folder, label_names
        self.splits: list[str] = []

    def write(self, split: str, tables: dict[str, pa.Table]) -> None:
        """Write the tables of a split, which `encode` of its task type returned."""
        self.splits.append(split)
        for name, table in tables.items():
            folder = self.folder / name
            self._save(table, folder / split)
            # not by DatasetDict.save_to_disk, which needs all splits in memory at once
            (folder / DATASET_DICT).write_text(json.dumps({"splits": self.splits}))

    def _save(self, table: pa.Table, folder: Path) -> None:
        from datasets import ClassLabel, Dataset, Features, config, disable_progress_bars

        disable_progress_bars()
        # one record batch for the whole split, not one every 1,000 rows: `Encoded` maps it without a copy
        config.DEFAULT_MAX_BATCH_SIZE, config.MAX_ROW_GROUP_SIZE = max(len(table), 1), max(table.nbytes, 1)
        features = Features.from_arrow_schema(table.schema)
        if self.label_names and "labels" in features:
            features["labels"] = ClassLabel(names=self.label_names)
        # `split` is left out: the library allows dashes, as in test-de, in the keys of a DatasetDict, not in its names
        typed = table.cast(features.arrow_schema)
        Dataset(typed, fingerprint=_digest(typed)).save_to_disk(str(folder), num_shards=1)


def _digest(table: pa.Table) -> str:
    """Return the digest of a table's content; the library's own fingerprint pickles the table, which doubles memory."""
    digest = sha256(table.schema.serialize())
    for buffer in (buffer for column in table.columns for chunk in column.chunks for buffer in chunk.buffers()):
        digest.update(buffer or b"")
    return digest.hexdigest()[:16]
