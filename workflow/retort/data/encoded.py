"""Encoded tasks: a `datasets.DatasetDict` on disk, whose columns every job maps to memory."""

from __future__ import annotations

import json
from array import array
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from retort.checksums import REMEDY
from retort.data.tokenizers import Tokeniser
from retort.errors import RetortError, first_line

ROWS, DATASET_DICT, STATE = "rows.json", "dataset_dict.json", "state.json"
END = b"\xff\xff\xff\xff\0\0\0\0"  # the last bytes of a whole Arrow stream


@dataclass
class RowCounts:
    """What `rows.json` says of each encoded split.

    Args:
        rows: the number of its rows.
        tokens: the number of tokens of all its rows.
        sample: for a sample of a larger set: [rows, rows of the whole set].
        sha256: the digest of its file.
    """

    rows: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    sample: dict[str, tuple[int, int]] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write `rows.json` to the folder of an encoded task."""
        (folder / ROWS).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path | str) -> RowCounts:
        """Read `rows.json` from the folder of an encoded task."""
        return cls(**json.loads((Path(folder) / ROWS).read_text()))


class TokenColumns:
    """The columns with a value per token: `input_ids`, and `token_type_ids` where the tokenizer has any but 0.

    The values of all rows stand one after another, a few bytes per token, until `columns` hands them to Arrow.
    """

    def __init__(self, tokenise: Tokeniser) -> None:
        self.values = {"input_ids": array(tokenise.id_type)}
        if tokenise.has_type_ids:
            self.values["token_type_ids"] = array("B")
        self.offsets = array("i", [0])

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


@dataclass
class Encoded:
    """One encoded split, its columns mapped from disk.

    Args:
        input_ids: (tokens,) input ids of all rows, one row after another.
        token_type_ids: (tokens,) their token type ids; zeros where the tokenizer has no others.
        offsets: (rows + 1,) row i is [offsets[i], offsets[i + 1]) of `input_ids` and `token_type_ids`.
        labels: (rows, ...) in the dtype of a batch; zeros where the rows have no labels.
        more: further columns of the task type, by name: (rows,), or (tokens,) as `input_ids`.
        folder: the folder of the split.
        labelled: False where the rows have no labels.
    """

    input_ids: np.ndarray
    token_type_ids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    more: dict[str, np.ndarray] = field(default_factory=dict)
    folder: Path | None = None
    labelled: bool = True

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each row, (rows,)."""
        lengths: np.ndarray = self.offsets[1:] - self.offsets[:-1]
        return lengths

    @property
    def tokens(self) -> int:
        """The number of tokens of all rows."""
        return int(self.offsets[-1])

    def positions(self, rows: np.ndarray, length: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of each token of some rows in the flat arrays (0 at padding), and the attention mask.

        Both are (batch, length). Rows are padded to `length`; None takes the length of the longest row.
        """
        starts = self.offsets[rows]  # (batch,); not `self.lengths`, which is computed for all rows
        lengths = self.offsets[rows + 1] - starts
        steps = np.arange(int(lengths.max()) if length is None else length)  # (length,)
        mask = steps < lengths[:, None]  # (batch, length), True at real tokens
        return np.where(mask, starts[:, None] + steps, 0), mask  # index = offset of the row + step

    def first(self, count: int | None) -> Encoded:
        """Keep the first rows, `count` at most; None keeps all. Their tokens stay where they are."""
        return self if count is None else replace(self, offsets=self.offsets[: count + 1], labels=self.labels[:count])

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
            RetortError: the split does not exist, or its files are damaged.
        """
        return replace(cls.from_table(read_table(Path(folder), split)), folder=Path(folder) / split)

    @classmethod
    def from_table(cls, table: pa.Table) -> Encoded:
        """Return the rows of a table; a column of one chunk is not copied."""
        chunks = {name: table[name] for name in table.column_names}
        columns = {
            name: values_of(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())
            for name, column in chunks.items()
        }
        input_ids = columns.pop("input_ids")
        return cls(
            input_ids=input_ids,
            token_type_ids=columns.pop("token_type_ids", np.broadcast_to(np.uint8(0), input_ids.shape)),
            offsets=_offsets(table["input_ids"]),
            labels=columns.pop("labels", np.broadcast_to(np.int64(0), len(table))),
            more=columns,
            labelled="labels" in table.column_names,
        )

    def table(self, name: str) -> pa.Table:
        """Map a further table of the split to memory, such as the questions of its windows."""
        assert self.folder is not None, "rows that stand only in memory have no further tables"
        return read_table(self.folder.parent / name, self.folder.name)


def read_table(folder: Path, split: str) -> pa.Table:
    """Map a split of a `DatasetDict` on disk to memory.

    Raises:
        RetortError: the split does not exist, or its files are damaged.
    """
    splits = _json(folder / DATASET_DICT)["splits"]
    if split not in splits:
        raise RetortError(f"{folder / split} does not exist", f"splits are {', '.join(sorted(splits))}")
    return pa.concat_tables(map_tables(folder / split))


def map_tables(folder: Path) -> list[pa.Table]:
    """Map the files of a `Dataset` on disk to memory.

    `datasets.load_from_disk` returns the same tables, but every training would pay the 0.8 CPU seconds of its import.

    Raises:
        RetortError: a file is missing or damaged.
    """
    return [_map_table(folder / file["filename"]) for file in _json(folder / STATE)["_data_files"]]


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RetortError(f"{path} does not exist", REMEDY) from None
    except ValueError:
        raise RetortError(f"{path} is not whole", REMEDY) from None
    return content


def _map_table(path: Path) -> pa.Table:
    """Return the table of an Arrow file, mapped to memory."""
    try:
        source = pa.memory_map(str(path))
        if source.size() < len(END) or source.read_at(len(END), source.size() - len(END)) != END:
            raise pa.ArrowInvalid("cut short")  # pyarrow takes a file that ends between two record batches for whole
        return pa.ipc.open_stream(source).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise RetortError(f"{path} is not a whole Arrow file ({first_line(error)})", REMEDY) from None


def values_of(chunk: pa.Array) -> np.ndarray:
    """Return the values of an array without a copy: (rows,), (values,) of lists, (rows, length) of lists of a size."""
    if pa.types.is_fixed_size_list(chunk.type):
        pairs: np.ndarray = _array(chunk.flatten()).reshape(-1, chunk.type.list_size)
        return pairs
    return _array(chunk.flatten() if pa.types.is_list(chunk.type) else chunk)


def _offsets(column: pa.ChunkedArray) -> np.ndarray:
    """Return the offsets of the rows in the values of a column of lists, (rows + 1,)."""
    lengths = [np.diff(_array(chunk.offsets)) for chunk in column.chunks]
    offsets: np.ndarray = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
    return offsets


def _array(values: pa.Array) -> np.ndarray:
    """Return a view of the values; pyarrow's own `to_numpy` imports pandas, which takes half a second."""
    array: np.ndarray = np.from_dlpack(values)
    return array
