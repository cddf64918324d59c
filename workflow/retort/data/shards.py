"""Shards: a corpus's blocks in files of a few ten megabytes, each with its checksum; read without loading them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from retort.data.files import sha256
from retort.errors import RetortError

SHARDS, ORDER = "shards.json", "order.safetensors"


def token_type(vocabulary: int) -> type[np.unsignedinteger[Any]] | type[np.signedinteger[Any]]:
    """The smallest of the two integer types that holds every token id."""
    return np.uint16 if vocabulary <= 1 << 16 else np.int32


def _save(path: Path, tensors: dict[str, np.ndarray]) -> None:
    from safetensors.numpy import save_file

    scratch = path.with_name(f".{path.name}.part")
    save_file(tensors, str(scratch))
    scratch.chmod(0o644)
    os.replace(scratch, path)


@dataclass
class PartShards:
    """The shards of one part of a corpus while it is made: what has been written outlives the job.

    Args:
        folder: the folder of the state.
        name: of the part, in file names.
        say: told a line a shard.
    """

    folder: Path
    name: str
    say: Callable[[str], None] = lambda line: None

    def _note(self, number: int) -> Path:
        return self.folder / f"{self.name}-{number:05}.json"

    def found(self) -> list[dict[str, Any]]:
        """The notes of the shards that stand there whole, in order, up to the first that does not."""
        notes: list[dict[str, Any]] = []
        while self._note(len(notes)).is_file():
            note = json.loads(self._note(len(notes)).read_text())
            shard = self.folder / note["file"]
            if not shard.is_file() or sha256(shard) != note["sha256"]:
                break
            notes.append(note)
        return notes

    def write(self, number: int, blocks: np.ndarray, **more: Any) -> dict[str, Any]:
        """The note of a shard, written; after a kill it is either there with its blocks or not there.

        Args:
            number: of the shard, counted from 0.
            blocks: (blocks, block) token ids.
            more: what the next shard needs to be made from here.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        shard = self.folder / f"{self.name}-{number:05}.safetensors"
        _save(shard, {"ids": blocks})
        note = {"file": shard.name, "blocks": len(blocks), "sha256": sha256(shard), **more}
        scratch = self._note(number).with_suffix(".part")
        scratch.write_text(json.dumps(note))
        os.replace(scratch, self._note(number))
        self.say(f"part {self.name}, shard {number + 1}: {len(blocks)} blocks")
        return note


def assemble(notes: list[dict[str, Any]], order: np.ndarray, state: Path, to: Path) -> None:
    """Nothing; the shards stand in `to` with their manifest, and with the order in which blocks are counted.

    Args:
        notes: of the shards of all parts, one part after another.
        order: (blocks,) numbers of blocks, counted over all shards.
        state: the folder that the shards are moved from; it is deleted.
        to: the folder of the corpus.
    """
    to.mkdir(parents=True, exist_ok=True)
    listed = [{key: note[key] for key in ("file", "blocks", "sha256")} for note in notes]
    for note in listed:
        os.replace(state / note["file"], to / note["file"])
    _save(to / ORDER, {"order": order.astype(np.int64)})
    (to / SHARDS).write_text(json.dumps(listed, indent=1) + "\n")
    shutil.rmtree(state)


def _mapped(path: Path, blocks: int) -> np.ndarray:
    """(blocks, block) token ids of a shard, on disk until they are read."""
    types = {"U16": np.uint16, "I32": np.int32}
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            about = json.loads(stream.read(length))["ids"]
        start = 8 + length + about["data_offsets"][0]
        ids = np.memmap(path, types[about["dtype"]], "r", start, tuple(about["shape"]))
    except (OSError, ValueError, KeyError) as error:
        raise RetortError(f"{path} is no shard of a corpus ({error})", "delete the corpus and run again") from error
    if len(ids) != blocks:
        raise RetortError(f"{path} holds {len(ids)} blocks of {blocks}", "delete the corpus and run again")
    return ids


class Blocks:
    """The blocks of a corpus by number; a block is read when it is asked for.

    Args:
        folder: the corpus.

    Raises:
        RetortError: a shard is missing or is not what the manifest says.
    """

    def __init__(self, folder: Path | str) -> None:
        from safetensors.numpy import load_file

        self.folder = Path(folder)
        listed = json.loads((self.folder / SHARDS).read_text())
        self._shards = [_mapped(self.folder / shard["file"], shard["blocks"]) for shard in listed]
        self._ends = np.cumsum([len(shard) for shard in self._shards])
        self._order = load_file(str(self.folder / ORDER))["order"]

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """(rows, block) int64 token ids."""
        places = self._order[rows]
        shards = np.searchsorted(self._ends, places, side="right")
        found = np.empty((len(places), self._shards[0].shape[1]), np.int64)
        for shard in np.unique(shards):
            mine = shards == shard
            start = self._ends[shard] - len(self._shards[shard])
            found[mine] = self._shards[shard][places[mine] - start]
        return found

    @cached_property
    def about(self) -> dict[str, Any]:
        """What corpus.json says: special tokens, the vocabulary's size, counts."""
        found: dict[str, Any] = json.loads((self.folder / "corpus.json").read_text())
        return found
