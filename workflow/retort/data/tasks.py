"""Encoded tasks: read once, split by a named seed, tokenised once per vocabulary, used by every job."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from retort.data.readers import Record, readers
from retort.errors import RetortError

SPLITS = ("train", "dev", "test")


def split_groups(records: list[Record], seed: int, test: int, dev: int) -> dict[str, list[Record]]:
    """The records of each split: whole groups drawn by the seed, at least `test` and `dev` rows held out.

    Raises:
        RetortError: nothing would be left to train on.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.group, []).append(record)
    order = sorted(groups)
    random.Random(f"split {seed}").shuffle(order)
    splits: dict[str, list[Record]] = {name: [] for name in SPLITS}
    for group in order:
        short = next((name for name, rows in (("test", test), ("dev", dev)) if len(splits[name]) < rows), "train")
        splits[short] += groups[group]
    if not splits["train"]:
        raise RetortError(f"{len(records)} rows leave none to train on", f"test: {test} and dev: {dev} are too large")
    return splits


def read_task(task: dict[str, Any], folder: Path) -> dict[str, list[Record]]:
    """The records of each split of a task, from the files of its source.

    Args:
        task: the task's settings.
        folder: the fetched source.
    """
    records = readers[task["reader"]["name"]](folder, **task["reader"]["options"])
    split = task["split"]
    return split_groups(records, split["seed"], split["test"], split["dev"])


CHUNK = 2000  # texts that are tokenised at a time: an Encoding takes kilobytes, the arrays a few bytes a token


def encode_task(task: dict[str, Any], kind: Any, folder: Path, tokenizer: Path, to: Path) -> dict[str, int]:
    """Rows a split, written to `to` as a folder of arrays a split, beside `rows.json`.

    Args:
        task: the task's settings.
        kind: the task's kind, which makes arrays of records.
        folder: the fetched source.
        tokenizer: the tokenizer.json of the vocabulary.
        to: the folder of the encoded task.
    """
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.no_padding()
    encoder.enable_truncation(**kind.truncation(task))

    def tokenise(texts: list[Any]) -> Iterator[Any]:
        for start in range(0, len(texts), CHUNK):
            yield from encoder.encode_batch(texts[start : start + CHUNK])

    counts = {}
    for name, records in read_task(task, folder).items():
        write_arrays(to / name, kind.encode(records, tokenise))
        counts[name] = len(records)
    (to / "rows.json").write_text(json.dumps(counts, indent=1) + "\n")
    return counts


def write_arrays(to: Path, arrays: dict[str, np.ndarray]) -> None:
    """Nothing; the folder holds an .npy file an array."""
    to.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        np.save(to / f"{name}.npy", values, allow_pickle=False)


class Flat:
    """Token ids of rows one after another, row after row."""

    def __init__(self) -> None:
        self.ids, self.types = array("i"), array("B")
        self.offsets = [0]

    def add(self, row: Any) -> None:
        """Nothing; one more row, a `tokenizers.Encoding`."""
        self.ids.extend(row.ids)
        self.types.extend(row.type_ids)
        self.offsets.append(len(self.ids))

    def arrays(self) -> dict[str, np.ndarray]:
        """`ids` and `types` of all rows, and `offsets` (rows + 1) into them."""
        return {
            "ids": np.frombuffer(self.ids, np.int32),
            "types": np.frombuffer(self.types, np.uint8),
            "offsets": np.array(self.offsets, np.int64),
        }


@dataclass
class Encoded:
    """One split, mapped from disk: token ids of all rows one after another, offsets into them, labels.

    Args:
        labels: (rows, ...) in the dtype of a batch.
        more: further arrays of the task's kind, by name.
        folder: where the split stands.
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
        """Tokens a row."""
        lengths: np.ndarray = self.offsets[1:] - self.offsets[:-1]
        return lengths

    @classmethod
    def load(cls, folder: Path | str, split: str) -> Encoded:
        """One split of an encoded task; a batch reads only its own rows from disk.

        Raises:
            RetortError: the split is not there.
        """
        place = Path(folder) / split
        if not (place / "offsets.npy").is_file():
            there = ", ".join(sorted(path.parent.name for path in Path(folder).glob("*/offsets.npy"))) or "none"
            raise RetortError(f"{place} does not exist", f"splits are {there}")
        arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(place.glob("*.npy"))}
        own = {name: arrays.pop(name) for name in ("ids", "types", "offsets", "labels")}
        return cls(**own, more=arrays, folder=place)
