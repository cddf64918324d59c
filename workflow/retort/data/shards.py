"""Shards: the blocks of a corpus in files of some tens of megabytes, with checksums, read through memory maps."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from retort.data.files import sha256
from retort.errors import RetortError

SHARDS, ORDER, INFO = "shards.json", "order.safetensors", "corpus.json"


@dataclass(frozen=True)
class ShardNote:
    """What is noted of a shard while a corpus is built: all that a later job needs to continue after it.

    Args:
        file: the name of the shard's file.
        blocks: the number of its blocks.
        sha256: the digest of its file.
        rest: the tokens of the block that is not full yet.
        consumed: the number of documents that were read.
        last: True for the last shard of a component.
        counts: numbers of documents, by what became of them; empty unless the shard is the last one.
    """

    file: str
    blocks: int
    sha256: str
    rest: list[int]
    consumed: int
    last: bool
    counts: dict[str, int]


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
    """

    blocks: int
    mask: int
    pad: int
    special: list[int]
    vocabulary: int
    components: list[dict[str, str | int]]

    def write(self, folder: Path) -> None:
        """Write corpus.json to the folder of a corpus."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / INFO).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> CorpusInfo:
        """Read corpus.json from the folder of a corpus."""
        return cls(**json.loads((folder / INFO).read_text()))


def token_dtype(vocabulary: int) -> type[np.unsignedinteger[Any]] | type[np.signedinteger[Any]]:
    """Return the smaller of uint16 and int32 that holds every token id of the vocabulary."""
    return np.uint16 if vocabulary <= 1 << 16 else np.int32


def _save(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Write a safetensors file atomically: a kill leaves either the whole file or none."""
    from safetensors.numpy import save_file

    scratch = path.with_name(f".{path.name}.part")
    save_file(tensors, str(scratch))
    scratch.chmod(0o644)
    os.replace(scratch, path)


@dataclass
class ComponentShards:
    """The shards of one component of a corpus while it is built; written shards are kept if the job is killed.

    Args:
        folder: the state folder.
        name: the component's name in file names.
        say: called with one line for each shard.
    """

    folder: Path
    name: str
    say: Callable[[str], None] = lambda line: None

    def _note(self, number: int) -> Path:
        return self.folder / f"{self.name}-{number:05}.json"

    def complete(self) -> list[ShardNote]:
        """Return the notes of the complete shards in the folder, in order, up to the first missing or damaged one."""
        notes: list[ShardNote] = []
        while self._note(len(notes)).is_file():
            note = ShardNote(**json.loads(self._note(len(notes)).read_text()))
            shard = self.folder / note.file
            if not shard.is_file() or sha256(shard) != note.sha256:
                break
            notes.append(note)
        return notes

    def write(
        self, number: int, blocks: np.ndarray, rest: list[int], consumed: int, last: bool, counts: dict[str, int]
    ) -> ShardNote:
        """Write a shard, then its note, and return the note; after a kill a note exists only if its shard is complete.

        Args:
            number: the number of the shard, from 0.
            blocks: (blocks, block) input ids.
            rest: see `ShardNote`, also for the following arguments.
            consumed: number of documents that were read.
            last: True for the last shard of the component.
            counts: numbers of documents.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        shard = self.folder / f"{self.name}-{number:05}.safetensors"
        _save(shard, {"input_ids": blocks})
        note = ShardNote(shard.name, len(blocks), sha256(shard), rest, consumed, last, counts)
        scratch = self._note(number).with_suffix(".part")
        scratch.write_text(json.dumps(asdict(note)))
        os.replace(scratch, self._note(number))
        self.say(f"component {self.name}, shard {number + 1}: {len(blocks)} blocks")
        return note


def assemble(notes: list[ShardNote], order: np.ndarray, state: Path, output: Path) -> None:
    """Move the shards to `output` and write their manifest and the order of the blocks.

    Args:
        notes: the notes of the shards of all components, one component after another.
        order: (blocks,) for each block of the corpus its number, counted over all shards.
        state: the folder that the shards are moved from; it is deleted.
        output: the folder of the corpus.
    """
    output.mkdir(parents=True, exist_ok=True)
    listed = [{"file": note.file, "blocks": note.blocks, "sha256": note.sha256} for note in notes]
    for note in notes:
        shutil.move(state / note.file, output / note.file)
    _save(output / ORDER, {"order": order.astype(np.int64)})
    (output / SHARDS).write_text(json.dumps(listed, indent=1) + "\n")
    shutil.rmtree(state)


def _mapped(path: Path, blocks: int) -> np.ndarray:
    """Return the (blocks, block) input ids of a shard as a memory map of its safetensors file."""
    types = {"U16": np.uint16, "I32": np.int32}
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")  # safetensors: 8 bytes of length, JSON header, data
            tensor = json.loads(stream.read(length))["input_ids"]
        start = 8 + length + tensor["data_offsets"][0]
        input_ids = np.memmap(path, types[tensor["dtype"]], "r", start, tuple(tensor["shape"]))
    except (OSError, ValueError, KeyError) as error:
        raise RetortError(f"{path} is no shard of a corpus ({error})", "delete the corpus and run again") from error
    if len(input_ids) != blocks:
        raise RetortError(f"{path} holds {len(input_ids)} blocks of {blocks}", "delete the corpus and run again")
    return input_ids


class Blocks:
    """The blocks of a corpus by number; a block is read from disk only when it is indexed.

    Args:
        folder: the folder of the corpus.

    Raises:
        RetortError: a shard is missing or damaged, or does not have the number of blocks in the manifest.
    """

    def __init__(self, folder: Path | str) -> None:
        from safetensors.numpy import load_file

        self.folder = Path(folder)
        listed = json.loads((self.folder / SHARDS).read_text())
        self._shards = [_mapped(self.folder / shard["file"], shard["blocks"]) for shard in listed]
        self._ends = np.cumsum([len(shard) for shard in self._shards])  # (shards,), number of the block after the last
        self._order = load_file(str(self.folder / ORDER))["order"]

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """Return the input ids of the blocks with these numbers, (rows, block) int64."""
        numbers = self._order[rows]  # (rows,), counted over all shards
        shards = np.searchsorted(self._ends, numbers, side="right")  # (rows,), the shard of each block
        blocks = np.empty((len(numbers), self._shards[0].shape[1]), np.int64)
        for shard in np.unique(shards):
            mine = shards == shard
            start = self._ends[shard] - len(self._shards[shard])
            blocks[mine] = self._shards[shard][numbers[mine] - start]
        return blocks

    @cached_property
    def info(self) -> CorpusInfo:
        """The content of corpus.json: special tokens, the size of the vocabulary, counts."""
        return CorpusInfo.read(self.folder)
