"""Encoded tasks: read once, split by a named seed, tokenised once per vocabulary, used by every job."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retort.data.readers import Record, readers
from retort.errors import RetortError

if TYPE_CHECKING:
    import numpy as np

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


def encode_task(task: dict[str, Any], folder: Path, tokenizer: Path, to: Path) -> dict[str, int]:
    """Rows a split, written to `to` as one safetensors file a split, beside `rows.json`.

    Each file holds the token ids of all rows one after another, `offsets` (rows + 1) into them, and labels.
    """
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.no_padding()
    encoder.enable_truncation(max_length=task["max_length"])
    to.mkdir(parents=True, exist_ok=True)
    counts = {}
    for name, records in read_task(task, folder).items():
        save_file(_tokenised(encoder, records), str(to / f"{name}.safetensors"))
        counts[name] = len(records)
    (to / "rows.json").write_text(json.dumps(counts, indent=1) + "\n")
    return counts


def _tokenised(encoder: Any, records: list[Record]) -> dict[str, np.ndarray]:
    import numpy as np

    rows = encoder.encode_batch([r.text if r.pair is None else (r.text, r.pair) for r in records])
    lengths = [len(row.ids) for row in rows]
    return {
        "ids": np.fromiter((i for row in rows for i in row.ids), np.int32, sum(lengths)),
        "types": np.fromiter((i for row in rows for i in row.type_ids), np.uint8, sum(lengths)),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "labels": np.array([r.label for r in records], np.float32),
    }


@dataclass
class Encoded:
    """One split in memory: token ids of all rows one after another, offsets into them, labels."""

    ids: np.ndarray
    types: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens a row."""
        lengths: np.ndarray = self.offsets[1:] - self.offsets[:-1]
        return lengths

    @classmethod
    def load(cls, folder: Path | str, split: str) -> Encoded:
        """One split of an encoded task.

        Raises:
            RetortError: the split has no file.
        """
        from safetensors.numpy import load_file

        path = Path(folder) / f"{split}.safetensors"
        if not path.is_file():
            raise RetortError(f"{path} does not exist", f"splits are {', '.join(SPLITS)}")
        return cls(**load_file(str(path)))
