"""How many rows the jobs see, and how long they are: from encoded data where it is there, else as the files say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retort.specs.book import Book
from retort.specs.reading import pieces_of

UNKNOWN = 10_000  # rows of a split that are known only once it was read
TOKENS = 4e9  # of a corpus that was not read yet: the 3.3 billion words of Devlin et al. (2019), section 3.1


@dataclass(frozen=True)
class Rows:
    """The rows of a split, or the blocks of a corpus, and their mean length in tokens."""

    count: int
    length: float


class Volume:
    """Rows and lengths of a study's data.

    Args:
        book: the study.

    Attributes:
        longest: task -> tokens that every row is taken to have, where it is not encoded yet.
        uncounted: tasks of which nobody knows the rows before they were read.
        unread: corpora of which nobody knows the blocks, and that are trained on for epochs.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self.longest: dict[str, int] = {}
        self.uncounted: set[str] = set()
        self.unread: set[str] = set()
        self.kept: dict[tuple[str, str, str], Rows] = {}

    def split(self, task: str, settings: dict[str, Any], split: str, model: str) -> Rows:
        """The rows of a task's split in the vocabulary of a model."""
        key = (task, split, model)
        if key not in self.kept:
            folder = Path(f"results/encoded/{task}/{model}")
            pieces = [folder / name / "offsets.npy" for name in pieces_of(settings, split)]
            there = all(path.is_file() for path in pieces)
            self.kept[key] = _encoded(pieces) if there else self._expected(task, split)
        return self.kept[key]

    def _expected(self, task: str, split: str) -> Rows:
        spec = self.book.tasks[task]
        self.longest[task] = spec.max_length
        if spec.split:
            drawn = {"dev": spec.split.dev, "test": spec.split.test}
            self.uncounted |= set() if split in drawn else {task}
            return Rows(drawn.get(split, UNKNOWN), spec.max_length)
        files = spec.splits[split]
        counts = [max(files.expected(part)) for part in (spec.parts if files.parts else [None])]
        return Rows(sum(counts), spec.max_length)

    def blocks(self, corpus: str, schedule: dict[str, Any], model: str) -> Rows:
        """The blocks of a corpus, all of one length; how many matters only where the schedule counts in epochs."""
        spec, about = self.book.corpora[corpus], Path(f"results/corpora/{corpus}/{model}/corpus.json")
        if about.is_file():
            return Rows(json.loads(about.read_text(encoding="utf-8"))["blocks"], spec.block)
        if spec.blocks is None and "epochs" in schedule:
            self.unread.add(corpus)
        return Rows(spec.blocks or round(TOKENS / spec.block), spec.block)


def _encoded(pieces: list[Path]) -> Rows:
    offsets = [np.load(path, mmap_mode="r", allow_pickle=False) for path in pieces]
    count, tokens = sum(len(each) - 1 for each in offsets), sum(int(each[-1]) for each in offsets)
    return Rows(count, tokens / max(count, 1))
