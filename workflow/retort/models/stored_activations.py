"""Stored activations of a teacher on the training rows: computed once, and read by the trainings of students from disk.

Each activation of each layer is an array: (tokens of all rows, width), or (rows, num_labels) for logits of whole rows.
numpy has no bfloat16, so its bits are stored as uint16. Arrays are memory-mapped: a batch reads only its own rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from retort.batch import Batch
from retort.checksums import REMEDY
from retort.data.batches import in_order
from retort.data.encoded import Encoded
from retort.errors import RetortError
from retort.machine import float32_products
from retort.models.encoders import layers_of
from retort.models.recorder import Key, Recorder, derive_activations, keys_to_record


def file_of(folder: Path, key: Key) -> Path:
    """Return the path of an activation's array."""
    activation, layer = key
    return folder / (f"{activation}.npy" if layer is None else f"{activation}-{layer}.npy")


def create(folder: Path, key: Key, length: int, width: int, precision: str) -> np.ndarray:
    """Create the array (length, width) of an activation on disk.

    Logits are always stored in float32: they are small, and they are all that a stage on the output reads.

    Raises:
        RetortError: the disk has too little space.
    """
    half = precision == "bfloat16" and key[0] != "logits"
    dtype = np.dtype(np.uint16 if half else np.float32)
    size = length * width * dtype.itemsize
    if shutil.disk_usage(folder).free < size:  # a write to a memory map on a full disk kills the process silently
        raise RetortError(f"cannot write {file_of(folder, key)}: {size / 1e9:.1f} GB do not fit", "free some space")
    return np.lib.format.open_memmap(file_of(folder, key), mode="w+", dtype=dtype, shape=(length, width))


@torch.no_grad()
def store_activations(
    network: nn.Module, rows: Encoded, keys: Iterable[Key], output: Path, precision: str, device: str
) -> tuple[int, int]:
    """Run a model once over the rows and store its activations; return (number of arrays, size in bytes).

    All layers run at every position, also the last one where only [CLS] is read of it, which would round otherwise: the
    arrays do not depend on what else is stored.

    Args:
        network: the model, in eval mode and on the device.
        rows: the encoded split.
        keys: the (activation, layer) keys to store.
        output: the folder to write to, which exists.
        precision: 'bfloat16', 'tf32' or 'float32'.
        device: 'cpu' or 'cuda'.
    """
    kept_keys = set(keys)
    last = {("hidden", len(layers_of(network)))} if ("logits", None) in kept_keys else set()
    recorder = Recorder(network, kept_keys | last)
    arrays: dict[Key, np.ndarray] = {}
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"), float32_products(precision):
        for numbers, batch in in_order(rows, 64):
            places, mask = rows.positions(numbers.numpy())
            recorded = recorder(batch.to(device))
            for key, value in ((key, recorded[key]) for key in recorded if key in kept_keys):
                per_token = value.dim() == 3  # a vector per token; only the logits of whole rows are 2-D
                kept = (value[batch.attention_mask] if per_token else value).cpu()
                if key not in arrays:
                    length = int(rows.offsets[-1]) if per_token else len(rows)
                    arrays[key] = create(output, key, length, kept.shape[-1], precision)
                as_bits = arrays[key].dtype == np.uint16
                kept = kept.to(torch.bfloat16).view(torch.uint16) if as_bits else kept.float()
                arrays[key][places[mask] if per_token else numbers.numpy()] = kept.numpy()
    return len(arrays), sum(array.nbytes for array in arrays.values())


class StoredActivations:
    """A teacher whose activations are read from disk.

    Args:
        folder: the folder into which `store_activations` wrote.
        encoded: the training split that it was written for.
        keys: the (activation, layer) keys to read.
        heads: the teacher's attention heads, to compute scores from queries and keys.
    """

    def __init__(self, folder: Path | str, encoded: Encoded, keys: Iterable[Key], heads: int) -> None:
        self.encoded, self.keys, self.heads = encoded, set(keys), heads
        self.tokens = int(encoded.offsets[-1])
        self.arrays = {key: self._open(Path(folder), key) for key in keys_to_record(self.keys)}

    def _open(self, folder: Path, key: Key) -> np.ndarray:
        """Open an array for reading.

        Raises:
            RetortError: it is missing, or has another number of rows.
        """
        path = file_of(folder, key)
        lengths = {self.tokens, len(self.encoded)} if key[0] == "logits" else {self.tokens}
        array: np.ndarray | None = np.load(path, mmap_mode="r", allow_pickle=False) if path.is_file() else None
        if array is None or len(array) not in lengths:
            raise RetortError(f"{path} is missing or of other rows", REMEDY)
        return array

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Return the activations of the batch by key, padded with zeros to the length of the batch."""
        assert batch.rows is not None
        rows = batch.rows.numpy()
        indices, mask = self.encoded.positions(rows, batch.input_ids.shape[1])  # (batch, length) each
        caught: dict[Key, Tensor] = {}
        for key, array in self.arrays.items():
            per_token = len(array) == self.tokens  # one vector a token, else one a row
            values = array[indices] if per_token else array[rows]  # (batch, length, width) or (batch, num_labels)
            tensor = torch.from_numpy(values)
            if values.dtype == np.uint16:
                tensor = tensor.view(torch.bfloat16)
            if per_token:
                tensor = tensor * torch.from_numpy(mask)[..., None]  # padding was read from index 0: zero it
            device = batch.input_ids.device
            # do not wait for a copy to a GPU, which is from pinned memory
            caught[key] = tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)
        return derive_activations(self.keys, caught, self.heads, batch.attention_mask)
