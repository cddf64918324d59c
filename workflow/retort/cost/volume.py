"""The number and length of rows that jobs read: from encoded data where it exists, else from the study's YAML files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from retort.specs.corpus import Component
from retort.specs.protocol import Schedule
from retort.specs.source import HubSource
from retort.specs.task_files import UNKNOWN
from retort.study.study import Study


@dataclass(frozen=True)
class Rows:
    """The number of rows of a split, or of blocks of a corpus, and their mean length in tokens."""

    count: int
    length: float


class Volume:
    """The rows of a study's data and their lengths; it also collects what had to be assumed.

    Args:
        study: the study.
        results: the folder of results whose encoded data is counted; None to use the study's files alone.

    Attributes:
        assumed: task or corpus -> what is assumed of it until it is encoded or packed.
    """

    def __init__(self, study: Study, results: Path | None = Path("results")) -> None:
        self.study, self.results = study, results
        self.assumed: dict[str, str] = {}

    def split(self, task: str, split: str, model: str) -> Rows:
        """Return the rows of a task's split, encoded with the tokenizer of a model.

        Where the task is not encoded yet, every row is assumed to have the maximum length.
        """
        return self._count_encoded(task, split, model) or self._expected(task, split)

    def batches(self, task: str, model: str, schedule: Schedule) -> Rows:
        """Return the rows that a schedule is trained on; their mean length includes the padding of batches.

        Rows of similar length need next to none. A batch of any rows is about as long as the longest row may be.

        Args:
            task: the name of the task.
            model: the model whose tokenizer encodes it.
            schedule: the schedule, which says how rows are put into batches.
        """
        spec = self.study.tasks[task]
        rows, most = self.split(task, spec.train_split, model), schedule.max_length or spec.max_length
        similar = schedule.group_by_length and not schedule.pad_to_max_length
        count = min(rows.count, schedule.max_train_samples or rows.count)
        return Rows(count, min(rows.length, most) if similar else min(spec.max_length, most))

    def _file(self, address: str) -> Path | None:
        """Return the path of a file of results; None if it is not there, or if results are not read."""
        path = self.results / address if self.results else None
        return path if path and path.is_file() else None

    def _count_encoded(self, task: str, split: str, model: str) -> Rows | None:
        """Return the rows that an encoded task counts for a split or its subsets; None if one is not encoded."""
        file = self._file(f"encoded/{task}/{self.study.tokenizer_of(model)}/rows.json")
        if file is None:
            return None
        names = [name for name, (of, _) in self.study.tasks[task].encoded_splits.items() if of == split] or [split]
        content = json.loads(file.read_text(encoding="utf-8"))
        rows, tokens = ([content.get(key, {}).get(name) for name in names] for key in ("rows", "tokens"))
        return None if None in rows + tokens else Rows(sum(rows), sum(tokens) / max(sum(rows), 1))

    def _expected(self, task: str, split: str) -> Rows:
        spec = self.study.tasks[task]
        drawn = {"dev": spec.split.dev, "test": spec.split.test} if spec.split else {}
        self.assumed[task] = (
            f"{UNKNOWN:,} rows of {spec.max_length} tokens" if spec.split else f"rows of {spec.max_length} tokens"
        )
        count = drawn.get(split, UNKNOWN) if spec.split else spec.splits[split].most(spec.subsets)
        return Rows(count, spec.max_length)

    def blocks(self, corpus: str, schedule: Schedule, model: str) -> Rows:
        """Return the blocks of a corpus, all of one length; their number matters only if the schedule counts epochs."""
        file = self._file(f"corpora/{corpus}/{self.study.tokenizer_of(model)}/corpus.json")
        spec = self.study.corpora[corpus]
        if file:
            return Rows(json.loads(file.read_text(encoding="utf-8"))["blocks"], spec.block)
        if spec.blocks:
            return Rows(spec.blocks, spec.block)
        tokens = self._tokens(corpus, model)
        if schedule.epochs is not None:
            self.assumed[corpus] = f"{UNKNOWN:,} blocks" if tokens is None else f"{tokens:,.0f} tokens"
        return Rows(UNKNOWN if tokens is None else round(tokens / spec.block), spec.block)

    def tokens(self, corpus: str, model: str) -> float:
        """Return the tokens of the texts of a corpus; those of `UNKNOWN` blocks if nothing is known of their size."""
        spec = self.study.corpora[corpus]
        if spec.blocks:
            return spec.blocks * spec.block
        return self._tokens(corpus, model) or UNKNOWN * spec.block

    def _tokens(self, corpus: str, model: str) -> float | None:
        """Return the tokens of a corpus, from the words of its sources; None if the study's files lack a number."""
        tokens_per_word = self.study.models[self.study.tokenizer_of(model)].tokens_per_word
        words = [self._words(component) for component in self.study.corpora[corpus].components]
        return None if tokens_per_word is None or None in words else tokens_per_word.value * sum(filter(None, words))

    def _words(self, component: Component) -> float | None:
        source = self.study.sources[component.source]
        size = source.size if isinstance(source, HubSource) else None
        return component.sample * size.words if size else None
