"""Token shards: the tokenised documents of a part of a corpus, in files of some tens of megabytes, with checksums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retort.atomic import replacing, write_text
from retort.data.files import sha256
from retort.data.packing import Documents
from retort.errors import RetortError

ARRAYS = ("input_ids", "text_lengths", "document_texts")


@dataclass(frozen=True)
class TokenShard:
    """Tokenised documents of one section of a file.

    Args:
        documents: the documents that are long enough, repeated ones too.
        digests: (documents,) uint64, equal for documents of equal text.
        characters: (documents,) the length of each document.
        read: (documents,) how many documents of the section were read up to this one, short ones too.
        consumed: how many documents of the section were read for this shard and those before it.
        is_last: whether the section has no more documents.
    """

    documents: Documents
    digests: np.ndarray
    characters: np.ndarray
    read: np.ndarray
    consumed: int
    is_last: bool


def shard_name(component: int, section: int, number: int) -> str:
    """Return the name of a shard's file; names sort in the order of the documents.

    Args:
        component: the number of the component of the corpus, from 0.
        section: the number of the section among those of all components, from 0.
        number: the number of the shard in its section, from 0.
    """
    return f"{component:03}-{section:05}-{number:05}.safetensors"


def component_of(path: Path) -> int:
    """Return the number of the component of a shard's file."""
    return int(path.name.split("-")[0])


def write_shard(path: Path, shard: TokenShard) -> None:
    """Write a shard and its checksum; a kill leaves either both or no shard."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: getattr(shard.documents, name) for name in ARRAYS}
    arrays |= {"digests": shard.digests, "characters": shard.characters, "read": shard.read}
    metadata = {"consumed": str(shard.consumed), "is_last": str(int(shard.is_last))}
    with replacing(path) as part:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, str(part), metadata)
        part.chmod(0o644)
        write_text(_checksum(path), f"{sha256(part)}\n")


def _checksum(path: Path) -> Path:
    return path.with_suffix(".sha256")


def is_whole(path: Path) -> bool:
    """Return whether a shard is there and has the content that was written."""
    checksum = _checksum(path)
    return path.is_file() and checksum.is_file() and checksum.read_text().strip() == sha256(path)


def read_shard(path: Path) -> TokenShard:
    """Read a shard.

    Raises:
        RetortError: its content is not what was written.
    """
    from safetensors import safe_open

    if not is_whole(path):
        raise RetortError(f"{path} is damaged", f"delete {path.parent} and run again")
    with safe_open(str(path), "np") as stored:
        metadata = stored.metadata()
        arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    return TokenShard(
        documents=Documents(*(arrays.pop(name) for name in ARRAYS)),
        consumed=int(metadata["consumed"]),
        is_last=metadata["is_last"] == "1",
        **arrays,
    )


def shards_of(folders: list[Path], component: int) -> Iterator[TokenShard]:
    """Yield the shards of a component, in the order of its documents, from the folders of all parts."""
    paths = sorted((path for folder in folders for path in folder.glob("*.safetensors")), key=lambda path: path.name)
    return (read_shard(path) for path in paths if component_of(path) == component)
