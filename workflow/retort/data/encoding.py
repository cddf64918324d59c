"""Encoding: a task is read and tokenised once per vocabulary, and becomes a `datasets.DatasetDict` on disk."""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from retort.data.encoded import DATASET_DICT, Encoded, RowCounts
from retort.data.splits import RecordMaker, read_task
from retort.data.tokenizers import read_tokenizer
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings

Say = Callable[[str], None]

CHUNK = 2000  # texts tokenised at a time: an Encoding takes kilobytes, the columns only a few bytes per token
UINT16, INT32 = "H", "i"  # type codes of `array.array`


class TaskEncoder(RecordMaker, Protocol):
    """What encoding needs of a task type; tasks/base.py says what each method does."""

    def truncation(self, task: TaskSettings) -> dict[str, int]:
        """Return the arguments for the `enable_truncation` of a `tokenizers.Tokenizer`."""
        ...

    def encode(self, task: TaskSettings, records: list[Any], tokenise: Tokeniser) -> dict[str, pa.Table]:
        """Return the tables of an encoded split."""
        ...


def encode_task(
    task: TaskSettings,
    task_type: TaskEncoder,
    folders: dict[str, Path],
    tokenizer: Path,
    output: Path,
    say: Say = print,
) -> dict[str, int]:
    """Encode a task and return the number of rows of each encoded split: a split, or one subset of a split.

    Args:
        task: the task's settings.
        task_type: the task type, which makes tables from records.
        folders: the folders of the fetched sources by name.
        tokenizer: the tokenizer.json of the vocabulary.
        output: the folder of the encoded task, a `DatasetDict` with `rows.json` beside it.
        say: called with lines about the progress and about rows that were left out.
    """
    encoder = read_tokenizer(tokenizer)
    tokenise, writer, counts = Tokeniser.of(encoder, say), SplitWriter(output, task.labels), RowCounts()
    encoder.enable_truncation(**task_type.truncation(task))
    for name, rows in read_task(task, task_type, folders):
        for note in rows.notes:
            say(note)
        tables = task_type.encode(task, rows.records, replace(tokenise, split=name))
        if name == task.train_split:
            _check_labels(task, tables[""])
        if not rows.labelled:
            tables[""] = tables[""].drop_columns("labels")
        writer.write(name, tables)
        counts.add(name, rows, Encoded.from_table(tables[""]).tokens)
        del tables  # else they would take memory beside those of the next split
    counts.write(output)
    return counts.rows


def _check_labels(task: TaskSettings, rows: pa.Table) -> None:
    """Raise an error if a label of the task is on no training row: it is misspelt, or belongs to another task."""
    seen = set(rows["labels"].unique().to_pylist()) if task.labels else set()
    absent = [label for number, label in enumerate(task.labels) if number not in seen]
    if absent:
        line = f"no row of split '{task.train_split}' has the label '{absent[0]}'"
        raise RetortError(line, "correct 'labels' of the task, or leave that label out")


@dataclass(frozen=True)
class Tokeniser:
    """A tokenizer that encodes texts or pairs of texts in chunks and reports its progress every ten seconds.

    Args:
        encoder: the `tokenizers.Tokenizer`.
        id_type: the smallest type code of `array.array` that holds all its input ids.
        has_type_ids: False where all its token type ids are 0, as in RoBERTa and XLM-R.
        say: called with lines about the progress.
        split: the name of the split that is encoded, for these lines.
    """

    encoder: Any
    id_type: str
    has_type_ids: bool
    say: Say
    split: str = ""

    @classmethod
    def of(cls, encoder: Any, say: Say) -> Tokeniser:
        """Return the tokeniser of a `tokenizers.Tokenizer`, which does not truncate yet."""
        encoder.no_padding()
        id_type = UINT16 if max(encoder.get_vocab().values()) < 2**16 else INT32
        pair = encoder.encode("a", "a")  # the post-processor gives the second text its type id: 1 in BERT's family
        return cls(encoder, id_type, any(pair.type_ids), say)

    def __call__(self, texts: list[Any]) -> Iterator[Any]:
        """Yield the `tokenizers.Encoding` of each text, or pair of texts, in order."""
        return self._encode(self.encoder.encode_batch, texts)

    def without_offsets(self, texts: list[Any]) -> Iterator[Any]:
        """Yield the encodings without the character offsets of tokens, which is faster."""
        return self._encode(self.encoder.encode_batch_fast, texts)

    def _encode(self, encode_batch: Callable[[list[Any]], list[Any]], texts: list[Any]) -> Iterator[Any]:
        reported = time.monotonic()
        for start in range(0, len(texts), CHUNK):
            yield from encode_batch(texts[start : start + CHUNK])
            if time.monotonic() - reported > 10:
                reported = time.monotonic()
                self.say(f"{self.split}: {start + CHUNK:,} of {len(texts):,} rows are tokenised")


class TokenColumns:
    """The columns with a value per token: `input_ids`, and `token_type_ids` where the tokenizer has any but 0.

    The values of all rows stand one after another, a few bytes per token, until `columns` hands them to Arrow.
    """

    def __init__(self, tokenise: Tokeniser) -> None:
        self.values = {"input_ids": array(tokenise.id_type)}
        if tokenise.has_type_ids:
            self.values["token_type_ids"] = array("B")
        self.offsets = array(INT32, [0])

    def add(self, row: Any) -> None:
        """Append a row: a `tokenizers.Encoding`, or any object with `ids` and `type_ids`."""
        self.values["input_ids"].extend(row.ids)
        if "token_type_ids" in self.values:
            self.values["token_type_ids"].extend(row.type_ids)
        self.offsets.append(len(self.values["input_ids"]))

    def columns(self, **more: array[int]) -> dict[str, pa.Array]:
        """Return the columns by name, a list per row.

        Args:
            **more: further columns, (tokens,) each.
        """
        offsets = pa.array(np.asarray(self.offsets))  # (rows + 1,): row i is [offsets[i], offsets[i + 1])
        return {
            name: pa.ListArray.from_arrays(offsets, pa.array(np.asarray(values)))
            for name, values in (self.values | more).items()
        }


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
