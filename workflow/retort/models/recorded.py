"""Recorded taps: a teacher's tensors on the training rows, computed once, read by every student from disk.

One array a tap and layer: (tokens of all rows, width), or (rows, classes) for logits of whole rows. bfloat16 has no
name in numpy, so its bits are kept as uint16. Arrays are memory-mapped: a batch reads only its own rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from retort.data.collate import positions
from retort.data.tasks import Encoded
from retort.errors import RetortError
from retort.models.taps import Key, basis, derive
from retort.objectives.base import Batch


def file_of(folder: Path, key: Key) -> Path:
    """The file of a tap."""
    tap, layer = key
    return folder / (f"{tap}.npy" if layer is None else f"{tap}-{layer}.npy")


class Store:
    """One tap's array on disk, open for writing."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.nbytes = array.nbytes

    def write(self, places: np.ndarray, values: Tensor) -> None:
        """Nothing; the values stand at the places."""
        if self.array.dtype == np.uint16:
            self.array[places] = values.to(torch.bfloat16).view(torch.uint16).numpy()
        else:
            self.array[places] = values.float().numpy()


def create(folder: Path, key: Key, length: int, width: int, precision: str) -> Store:
    """An empty array for a tap; logits keep float32, for they are small and all that the output stage reads."""
    size = length * width * (2 if precision == "bfloat16" else 4)
    if shutil.disk_usage(folder).free < size:  # a memory-mapped write to a full disk kills the process without a word
        raise RetortError(f"cannot write {file_of(folder, key)}: {size / 1e9:.1f} GB do not fit", "free some space")
    half = precision == "bfloat16" and key[0] != "logits"
    kind = np.uint16 if half else np.float32
    return Store(np.lib.format.open_memmap(file_of(folder, key), mode="w+", dtype=kind, shape=(length, width)))


class Recorded:
    """A teacher that is read from disk.

    Args:
        folder: what record_taps wrote.
        encoded: the training split that it was written for.
        keys: (tap, layer) that are wanted.
        heads: the teacher's attention heads, to compute scores from queries and keys.
    """

    def __init__(self, folder: Path | str, encoded: Encoded, keys: Iterable[Key], heads: int) -> None:
        self.encoded, self.keys, self.heads = encoded, set(keys), heads
        self.tokens = int(encoded.offsets[-1])
        self.arrays = {key: self._open(Path(folder), key) for key in basis(self.keys)}

    def _open(self, folder: Path, key: Key) -> np.ndarray:
        path = file_of(folder, key)
        lengths = {self.tokens, len(self.encoded)} if key[0] == "logits" else {self.tokens}
        array: np.ndarray | None = np.load(path, mmap_mode="r", allow_pickle=False) if path.is_file() else None
        if array is None or len(array) not in lengths:
            raise RetortError(f"{path} is missing or of other rows", "delete the folder, it is made again")
        return array

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Every wanted tap of the batch's rows, padded with zeros as the batch is."""
        assert batch.rows is not None
        rows = batch.rows.cpu().numpy()
        places, mask = positions(self.encoded, rows)
        caught: dict[Key, Tensor] = {}
        for key, array in self.arrays.items():
            each = len(array) == self.tokens
            values = array[places] if each else array[rows]
            tensor = torch.from_numpy(values)
            if values.dtype == np.uint16:
                tensor = tensor.view(torch.bfloat16)
            if each:
                tensor = tensor * torch.from_numpy(mask)[..., None]
            caught[key] = tensor.to(batch.input_ids.device)
        return derive(self.keys, caught, self.heads)
