"""Number and length of the rows that jobs see: from encoded data where it exists, else from the study's YAML files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from retort.settings import TaskSettings
from retort.specs.protocol import Schedule
from retort.study.study import Study

UNKNOWN = 10_000  # rows assumed for a split whose size is known only after it is read
TOKENS = 4e9  # assumed for a corpus that is not read yet: the 3.3 billion words of Devlin et al. (2019), section 3.1


@dataclass(frozen=True)
class Rows:
    """The number of rows of a split, or of blocks of a corpus, and their mean length in tokens."""

    count: int
    length: float


class Volume:
    """The rows of a study's data and their lengths; it also collects what had to be assumed.

    Args:
        study: the study.

    Attributes:
        longest: task -> tokens that every row is assumed to have, for tasks that are not encoded yet.
        uncounted: tasks whose number of rows is assumed, because it is known only after they are read.
        unread: corpora whose number of blocks is assumed although it matters, because a schedule counts epochs.
        kept: the rows of the splits that were asked for, by (task, split, model).
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.longest: dict[str, int] = {}
        self.uncounted: set[str] = set()
        self.unread: set[str] = set()
        self.kept: dict[tuple[str, str, str], Rows] = {}

    def split(self, task: str, settings: TaskSettings, split: str, model: str) -> Rows:
        """Return the rows of a task's split, tokenised with the vocabulary of a model.

        Where the task is not encoded yet, every row is assumed to have the maximum length.
        """
        key = (task, split, model)
        if key not in self.kept:
            file = Path(f"results/encoded/{task}/{model}/rows.json")
            encoded = _encoded(file, settings.encoded_splits(split)) if file.is_file() else None
            self.kept[key] = encoded or self._expected(task, split)
        return self.kept[key]

    def _expected(self, task: str, split: str) -> Rows:
        spec = self.study.tasks[task]
        self.longest[task] = spec.max_length
        if spec.split:
            drawn = {"dev": spec.split.dev, "test": spec.split.test}
            self.uncounted |= set() if split in drawn else {task}
            return Rows(drawn.get(split, UNKNOWN), spec.max_length)
        files = spec.splits[split]
        counts = [max(files.expected(subset)) for subset in (spec.subsets if files.subsets else [None])]
        return Rows(sum(counts), spec.max_length)

    def blocks(self, corpus: str, schedule: Schedule, model: str) -> Rows:
        """Return the blocks of a corpus, all of one length; their number matters only if the schedule counts epochs."""
        spec, file = self.study.corpora[corpus], Path(f"results/corpora/{corpus}/{model}/corpus.json")
        if file.is_file():
            return Rows(json.loads(file.read_text(encoding="utf-8"))["blocks"], spec.block)
        if spec.blocks is None and schedule.epochs is not None:
            self.unread.add(corpus)
        return Rows(spec.blocks or round(TOKENS / spec.block), spec.block)


def _encoded(file: Path, names: list[str]) -> Rows | None:
    """Return the rows that an encoded task's `rows.json` counts under these names; None if a name is absent."""
    content = json.loads(file.read_text(encoding="utf-8"))
    rows, tokens = ([content.get(key, {}).get(name) for name in names] for key in ("rows", "tokens"))
    return None if None in rows + tokens else Rows(sum(rows), sum(tokens) / max(sum(rows), 1))
