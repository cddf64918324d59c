"""The tensors of a training's state on disk: a safetensors file for each group of tensors.

`save_file` copies all tensors of its file to the host at once: for a state on a GPU, 12 bytes a parameter with AdamW.
Written group after group, a state needs host memory for one group only. It is read tensor by tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import xxhash
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from retort.atomic import flush, replacing

GROUP = 1 << 26  # the most bytes of a group, unless one tensor alone is larger


def write_groups(folder: Path, name: str, tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Write tensors to the files `<name>.<number>.safetensors` of a folder; return file -> digest.

    Each is flushed to the disk before it gets its name, so that not even a crash of the machine loses it.
    """
    digests = {}
    for number, names in enumerate(groups(tensors), start=1):
        file = f"{name}.{number}.safetensors"
        with replacing(folder / file) as part:
            save_file({each: tensors[each].detach().contiguous() for each in names}, str(part))
            flush(part)
            digests[file] = digest_of_file(part)
    return digests


def groups(tensors: Mapping[str, Tensor]) -> Iterator[list[str]]:
    """Yield the names of tensors in groups of at most `GROUP` bytes, in order; a larger tensor is a group alone."""
    names: list[str] = []
    filled = 0
    for name, tensor in tensors.items():
        size = bytes_of(tensor)
        if names and filled + size > GROUP:
            yield names
            names, filled = [], 0
        names.append(name)
        filled += size
    if names:
        yield names


def bytes_of(tensor: Tensor) -> int:
    """Return the bytes of a tensor's values."""
    return tensor.numel() * tensor.element_size()


def digest_of_file(path: Path) -> str:
    """Return the XXH3 digest of a file; SHA-256 would noticeably slow down a write."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 22):
            digest.update(chunk)
    return digest.hexdigest()


class StoredTensors(Mapping[str, Tensor]):
    """The tensors of safetensors files by name, each read on access.

    Args:
        files: the safetensors files.

    Raises:
        SafetensorError: a file is damaged.
    """

    def __init__(self, files: list[Path]) -> None:
        self._files: dict[str, Any] = {}
        for file in files:
            opened: Any = safe_open(str(file), framework="pt")
            self._files |= dict.fromkeys(opened.keys(), opened)

    def __getitem__(self, name: str) -> Tensor:
        """Return a tensor, read from its file."""
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._files)

    def __len__(self) -> int:
        """Return the number of tensors."""
        return len(self._files)
