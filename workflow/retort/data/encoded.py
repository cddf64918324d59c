"""Encoded tasks: a task is read and tokenised once per vocabulary; every job maps the arrays from disk."""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from retort.data.splits import read_task
from retort.errors import RetortError

Say = Callable[[str], None]

CHUNK = 2000  # texts tokenised at a time: an Encoding takes kilobytes, the arrays only a few bytes per token


def encode_task(
    task: dict[str, Any], task_type: Any, folders: dict[str, Path], tokenizer: Path, to: Path, say: Say = print
) -> dict[str, int]:
    """Encode a task and return the number of rows of each piece (a split, or a subset of one).

    Each piece becomes a folder of arrays in `to`, beside `rows.json`.

    Args:
        task: the task's settings.
        task_type: the task type, which makes arrays from records.
        folders: the folders of the fetched sources by name.
        tokenizer: the tokenizer.json of the vocabulary.
        to: the folder of the encoded task.
        say: called with lines about the progress and about rows that were left out.
    """
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.no_padding()
    encoder.enable_truncation(**task_type.truncation(task))
    about: dict[str, dict[str, Any]] = {"rows": {}, "sample": {}, "unlabelled": {}, "sha256": {}}
    for name, piece in read_task(task, task_type, folders):
        for note in piece.notes:
            say(note)
        write_arrays(to / name, task_type.encode(task, piece.records, tokeniser(encoder, name, say)))
        about["rows"][name] = len(piece.records)
        about["sample"] |= {name: piece.sample} if piece.sample else {}
        about["unlabelled"] |= {} if piece.labelled else {name: True}
        about["sha256"] |= {name: piece.sha256} if piece.sha256 else {}
    (to / "rows.json").write_text(json.dumps(about, indent=1) + "\n")
    return about["rows"]


def tokeniser(encoder: Any, name: str, say: Say) -> Callable[[list[Any]], Iterator[Any]]:
    """Return a function that encodes texts or pairs of texts and reports its progress every ten seconds."""

    def tokenise(texts: list[Any]) -> Iterator[Any]:
        said = time.monotonic()
        for start in range(0, len(texts), CHUNK):
            yield from encoder.encode_batch(texts[start : start + CHUNK])
            if time.monotonic() - said > 10:
                said = time.monotonic()
                say(f"{name}: {start + CHUNK:,} of {len(texts):,} rows are tokenised")

    return tokenise


def write_arrays(to: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write each array to the folder as an .npy file of its name."""
    to.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        np.save(to / f"{name}.npy", values, allow_pickle=False)


class Flat:
    """The input ids and token type ids of all rows in flat arrays, one row after another."""

    def __init__(self) -> None:
        self.ids, self.types = array("i"), array("B")
        self.offsets = [0]

    def add(self, row: Any) -> None:
        """Append a row: a `tokenizers.Encoding`, or any object with `ids` and `type_ids`."""
        self.ids.extend(row.ids)
        self.types.extend(row.type_ids)
        self.offsets.append(len(self.ids))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return `ids`, `types`, (tokens,) each, and `offsets`, (rows + 1,): row i is [offsets[i], offsets[i + 1])."""
        return {
            "ids": np.frombuffer(self.ids, np.int32),
            "types": np.frombuffer(self.types, np.uint8),
            "offsets": np.array(self.offsets, np.int64),
        }


@dataclass
class Encoded:
    """One encoded split, mapped from disk.

    Args:
        ids: (tokens,) input ids of all rows, one row after another.
        types: (tokens,) their token type ids.
        offsets: (rows + 1,) row i is [offsets[i], offsets[i + 1]) of `ids` and `types`.
        labels: (rows, ...) in the dtype of a batch; zeros where the rows have no labels.
        more: further arrays of the task type, by name.
        folder: the folder of the split.
    """

    ids: np.ndarray
    types: np.ndarray
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
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], lengths)  # new -> old index
        places[offsets[1:] - 1] = self.offsets[1:] - 1  # the last token of a row, its separator, is kept
        return replace(self, ids=self.ids[places], types=self.types[places], offsets=offsets)

    @classmethod
    def load(cls, folder: Path | str, split: str) -> Encoded:
        """Map a split of an encoded task to memory; a batch reads only its own rows from disk.

        Raises:
            RetortError: the split does not exist.
        """
        place = Path(folder) / split
        if not (place / "offsets.npy").is_file():
            there = ", ".join(sorted(path.parent.name for path in Path(folder).glob("*/offsets.npy"))) or "none"
            raise RetortError(f"{place} does not exist", f"splits are {there}")
        arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(place.glob("*.npy"))}
        own = {name: arrays.pop(name) for name in ("ids", "types", "offsets", "labels")}
        return cls(**own, more=arrays, folder=place)
