"""Blocks: a packed corpus on disk, a `datasets.Dataset` whose column `input_ids` holds blocks of one length.

`datasets.load_from_disk(folder)` opens it. Trainings map the same Arrow files through pyarrow alone: importing
`datasets` takes longer than opening them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from retort.checksums import REMEDY, sha256
from retort.data.encoded import STATE, map_tables, values_of
from retort.errors import RetortError

INFO = "corpus.json"
BATCH = 1 << 22  # tokens of a record batch


@dataclass(frozen=True)
class CorpusInfo:
    """The content of corpus.json.

    Args:
        blocks: the number of blocks.
        mask: the input id of the mask token.
        pad: the input id of the padding token.
        special: the input ids that are never masked.
        vocabulary: the number of tokens in the vocabulary.
        components: the counts of each component.
        sha256: file -> digest of its content.
    """

    blocks: int
    mask: int
    pad: int
    special: list[int]
    vocabulary: int
    components: list[dict[str, str | int]]
    sha256: dict[str, str]

    def write(self, folder: Path) -> None:
        """Write corpus.json to the folder of a corpus."""
        (folder / INFO).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> CorpusInfo:
        """Read corpus.json from the folder of a corpus."""
        return cls(**json.loads((folder / INFO).read_text()))


def write_blocks(folder: Path, arrays: Iterable[np.ndarray], block: int, dtype: Any) -> dict[str, str]:
    """Write blocks as a data set that `datasets.load_from_disk` opens; return the digest of each file.

    Args:
        folder: the folder to fill.
        arrays: (blocks, block) input ids; they are written one after another.
        block: the number of tokens of a block.
        dtype: the integer type of the input ids.
    """
    import pyarrow as pa
    from datasets import DatasetInfo, Features, List, Value
    from datasets.arrow_writer import ArrowWriter

    folder.mkdir(parents=True, exist_ok=True)
    features = Features({"input_ids": List(Value(np.dtype(dtype).name), length=block)})
    path = folder / "data-00000-of-00001.arrow"  # as the library names a data set's only file
    with ArrowWriter(features=features, path=str(path)) as writer:
        for batch in _batches(arrays, max(1, BATCH // block)):
            values = pa.FixedSizeListArray.from_arrays(pa.array(batch.astype(dtype).reshape(-1)), block)
            writer.write_table(pa.table({"input_ids": values}, schema=features.arrow_schema))
        writer.finalize()
    digests = {path.name: sha256(path)}
    DatasetInfo(features=features).write_to_directory(str(folder))
    _write_state(folder, digests)
    return digests


def _batches(arrays: Iterable[np.ndarray], rows: int) -> Iterable[np.ndarray]:
    """Yield the rows of arrays in batches of `rows`; the last one may have fewer."""
    held: list[np.ndarray] = []
    count = 0
    for array in arrays:
        held.append(array)
        count += len(array)
        if count >= rows:
            joined = np.concatenate(held)
            full = count - count % rows
            yield from np.split(joined[:full], range(rows, full, rows))
            held, count = [joined[full:]], count - full
    if count:
        yield np.concatenate(held)


def _write_state(folder: Path, digests: dict[str, str]) -> None:
    """Write the file that lists the data files; `datasets` itself writes it only when it copies a data set."""
    state: dict[str, object] = {
        "_data_files": [{"filename": name} for name in digests],
        # of the content, so that the same corpus gives the same file
        "_fingerprint": hashlib.sha256("".join(digests.values()).encode()).hexdigest()[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    (folder / STATE).write_text(json.dumps(state, indent=2, sort_keys=True) + "\n")


class Blocks:
    """The blocks of a corpus by number; a block is read from disk only when it is indexed.

    Args:
        folder: the folder of the corpus.

    Raises:
        RetortError: a file is missing or damaged, or there is another number of blocks than corpus.json says.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        columns = [table["input_ids"] for table in map_tables(self.folder)]
        self._arrays = [values_of(chunk) for column in columns for chunk in column.chunks if len(chunk)]
        self._ends = np.cumsum([len(array) for array in self._arrays])  # (arrays,), the blocks up to each array's end
        if len(self) != self.info.blocks:
            raise RetortError(f"{self.folder} holds {len(self)} blocks of {self.info.blocks}", REMEDY)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """Return the input ids of the blocks with these numbers, (rows, block) int64."""
        owners = np.searchsorted(self._ends, rows, side="right")  # (rows,), the array of each block
        blocks = np.empty((len(rows), self._arrays[0].shape[1]), np.int64)
        for owner in np.unique(owners):
            is_owned = owners == owner  # (rows,)
            start = self._ends[owner] - len(self._arrays[owner])
            blocks[is_owned] = self._arrays[owner][rows[is_owned] - start]
        return blocks

    @cached_property
    def info(self) -> CorpusInfo:
        """The content of corpus.json: special tokens, the size of the vocabulary, counts."""
        return CorpusInfo.read(self.folder)
