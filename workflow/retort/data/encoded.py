"""Encoded tasks: a task is read and tokenised once per vocabulary; every job maps the arrays from disk."""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from retort.data.splits import RecordMaker, SplitRows, read_task
from retort.errors import RetortError
from retort.settings import TaskSettings

Say = Callable[[str], None]
Tokenise = Callable[[list[Any]], Iterator[Any]]  # texts, or pairs of texts -> their `tokenizers.Encoding`s, in order

ROWS = "rows.json"
CHUNK = 2000  # texts tokenised at a time: an Encoding takes kilobytes, the arrays only a few bytes per token


class TaskEncoder(RecordMaker, Protocol):
    """What encoding needs of a task type; tasks/base.py says what each method does."""

    def truncation(self, task: TaskSettings) -> dict[str, int]:
        """Return the arguments for the `enable_truncation` of a `tokenizers.Tokenizer`."""
        ...

    def encode(self, task: TaskSettings, records: list[Any], tokenise: Tokenise) -> dict[str, np.ndarray]:
        """Return the arrays of an encoded split."""
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

    Each encoded split becomes a folder of arrays in `output`, beside `rows.json`.

    Args:
        task: the task's settings.
        task_type: the task type, which makes arrays from records.
        folders: the folders of the fetched sources by name.
        tokenizer: the tokenizer.json of the vocabulary.
        output: the folder of the encoded task.
        say: called with lines about the progress and about rows that were left out.
    """
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.no_padding()
    encoder.enable_truncation(**task_type.truncation(task))
    counts = RowCounts()
    for name, rows in read_task(task, task_type, folders):
        for note in rows.notes:
            say(note)
        write_arrays(output / name, task_type.encode(task, rows.records, tokeniser(encoder, name, say)))
        counts.add(name, rows)
    counts.write(output)
    return counts.rows


@dataclass
class RowCounts:
    """What `rows.json` says of each encoded split.

    Args:
        rows: the number of its rows.
        sample: for a sample of a larger set: [rows, rows of the whole set].
        unlabelled: True where the rows have no labels; a split with labels has no entry.
        sha256: the digest of its file; a split that was drawn has no entry.
    """

    rows: dict[str, int] = field(default_factory=dict)
    sample: dict[str, tuple[int, int]] = field(default_factory=dict)
    unlabelled: dict[str, bool] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, rows: SplitRows) -> None:
        """Add the rows of an encoded split."""
        self.rows[name] = len(rows.records)
        if rows.sample:
            self.sample[name] = rows.sample
        if not rows.labelled:
            self.unlabelled[name] = True
        if rows.sha256:
            self.sha256[name] = rows.sha256

    def write(self, folder: Path) -> None:
        """Write `rows.json` to the folder of an encoded task."""
        (folder / ROWS).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path | str) -> RowCounts:
        """Read `rows.json` from the folder of an encoded task."""
        return cls(**json.loads((Path(folder) / ROWS).read_text()))


def tokeniser(encoder: Any, name: str, say: Say) -> Tokenise:
    """Return a function that encodes texts or pairs of texts and reports its progress every ten seconds."""

    def tokenise(texts: list[Any]) -> Iterator[Any]:
        reported = time.monotonic()
        for start in range(0, len(texts), CHUNK):
            yield from encoder.encode_batch(texts[start : start + CHUNK])
            if time.monotonic() - reported > 10:
                reported = time.monotonic()
                say(f"{name}: {start + CHUNK:,} of {len(texts):,} rows are tokenised")

    return tokenise


def write_arrays(folder: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write each array to the folder as an .npy file of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)


class Flat:
    """The input ids and token type ids of all rows in flat arrays, one row after another."""

    def __init__(self) -> None:
        self.input_ids, self.token_type_ids = array("i"), array("B")
        self.offsets = [0]

    def add(self, row: Any) -> None:
        """Append a row: a `tokenizers.Encoding`, or any object with `ids` and `type_ids`."""
        self.input_ids.extend(row.ids)
        self.token_type_ids.extend(row.type_ids)
        self.offsets.append(len(self.input_ids))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return `input_ids` and `token_type_ids`, (tokens,) each, and `offsets`, (rows + 1,).

        Row i is [offsets[i], offsets[i + 1]).
        """
        return {
            "input_ids": np.frombuffer(self.input_ids, np.int32),
            "token_type_ids": np.frombuffer(self.token_type_ids, np.uint8),
            "offsets": np.array(self.offsets, np.int64),
        }


@dataclass
class Encoded:
    """One encoded split, mapped from disk.

    Args:
        input_ids: (tokens,) input ids of all rows, one row after another.
        token_type_ids: (tokens,) their token type ids.
        offsets: (rows + 1,) row i is [offsets[i], offsets[i + 1]) of `input_ids` and `token_type_ids`.
        labels: (rows, ...) in the dtype of a batch; zeros where the rows have no labels.
        more: further arrays of the task type, by name.
        folder: the folder of the split.
    """

    input_ids: np.ndarray
    token_type_ids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    more: dict[str, np.ndarray] = field(default_factory=dict)
    folder: Path | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each row, (rows,)."""
        lengths: np.ndarray = self.offsets[1:] - self.offsets[:-1]
        return lengths

    def cut(self, length: int | None) -> Encoded:
        """Cut rows of single texts to `length` tokens: the first ones, and the separator that ends the row."""
        if length is None or self.lengths.max(initial=0) <= length:
            return self
        lengths = np.minimum(self.lengths, length)
        offsets = np.concatenate([[0], np.cumsum(lengths)])  # (rows + 1,)
        indices = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], lengths)  # new -> old index
        indices[offsets[1:] - 1] = self.offsets[1:] - 1  # the last token of a row, its separator, is kept
        return replace(
            self, input_ids=self.input_ids[indices], token_type_ids=self.token_type_ids[indices], offsets=offsets
        )

    @classmethod
    def load(cls, folder: Path | str, split: str) -> Encoded:
        """Map a split of an encoded task to memory; a batch reads only its own rows from disk.

        Raises:
            RetortError: the split does not exist.
        """
        own = Path(folder) / split
        if not (own / "offsets.npy").is_file():
            known = ", ".join(sorted(path.parent.name for path in Path(folder).glob("*/offsets.npy"))) or "none"
            raise RetortError(f"{own} does not exist", f"splits are {known}")
        arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(own.glob("*.npy"))}
        common = {name: arrays.pop(name) for name in ("input_ids", "token_type_ids", "offsets", "labels")}
        return cls(**common, more=arrays, folder=own)
