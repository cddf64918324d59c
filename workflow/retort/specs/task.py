"""The specs of a task: texts, labels, splits, metrics.

`read` says how rows stand in files. Each split has files (`splits`), or all are drawn from one file at random with a
given seed (`split`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from retort.specs import catalogue
from retort.specs.base import Distinct, Label, Name, Real, Seed, Spec, Text, Version, Whole, check_known
from retort.specs.reported import check_no_repeats
from retort.specs.source import NamedSource
from retort.specs.task_files import LARGEST, Count, FileSplit, SplitFiles

ALL = "all"  # stands for all subsets of a split together
Rating = Annotated[Real, Field(ge=-LARGEST, le=LARGEST)]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*$", max_length=80)]


class Split(Spec):
    """How held-out rows are drawn: at random with a given seed; the rows of a group always go to the same split.

    Args:
        seed: of the draw.
        test: rows whose score is reported.
        dev: rows on which a grid point is chosen.
    """

    seed: Seed
    test: Count
    dev: Count


class Submission(Spec):
    """The files in the zip for the GLUE server that are made from this task's predictions.

    Args:
        files: split, or split-subset -> name of the file.
        label_names: how the server spells the labels, in the order of `labels`.
    """

    files: dict[Name, FileName] = Field(min_length=1)
    label_names: Distinct[Text] = []


class Windows(Spec):
    """How a context that is too long for one row is cut into several windows; the defaults are usual for SQuAD.

    Args:
        overlap: tokens that a window has in common with the next.
        question: tokens of the question that are kept in each.
    """

    overlap: Whole = Field(default=128, ge=0)
    question: Whole = Field(default=64, gt=0)


class TaskJobs(Spec):
    """How the work is divided into jobs; this changes no result and is not in the settings.

    Args:
        grid_parts: jobs that a grid's points are divided into; left out: by the work.
    """

    grid_parts: Whole | None = Field(default=None, ge=1, le=1000)


TEXTS = {"text", "pair", "question", "context"}  # fields of a record that hold a text, whatever the task


class Task(Spec):
    """A task: one YAML file of workflow/tasks.

    Args:
        title: what it is, in one line.
        source: an entry of workflow/sources; or the keys of one, if no other file uses it.
        task_type: one of the task types of retort/tasks, such as classification.
        labels: names of the labels, in the order of their numbers.
        bounds: least and greatest score of a regression; else -1000000 and 1000000.
        metrics: what is reported.
        split: how the splits are drawn from one file.
        splits: split -> its rows, if each split has its files.
        subsets: of a split that is scored subset by subset.
        read: where the source is -> its files; that of all rows is called 'all' if the splits are drawn.
        train_split: what is trained on.
        validation_split: where a point of the grid is chosen.
        metric_for_best_model: the first metric, on all subsets, where it is left out.
        evaluation_split: whose score is reported.
        submission: what GLUE's server is sent.
        max_length: tokens.
        windows: of the contexts in which answers are looked for.
        version: raised when a score would change.
        jobs: how the work is divided.
        sample: made-up records, for tests of the files that `read` describes; left out: none.
    """

    title: Label
    source: NamedSource
    task_type: Annotated[Name, catalogue.registered("task type", catalogue.task_types)]
    labels: Distinct[Label] = []
    bounds: tuple[Rating, Rating] | None = None
    metrics: Distinct[str] = Field(min_length=1)
    split: Split | None = None
    splits: dict[Name, FileSplit] = {}
    subsets: Distinct[Name] = []
    read: dict[Literal["local", "hub"], SplitFiles] = Field(min_length=1)
    train_split: Name = "train"
    validation_split: Name = "dev"
    metric_for_best_model: Text | None = None
    evaluation_split: Name = "test"
    submission: Submission | None = None
    max_length: Whole = Field(gt=2, le=512)
    windows: Windows | None = None
    version: Version
    jobs: TaskJobs = TaskJobs()
    sample: list[dict[str, Any]] = []

    @property
    def _facts(self) -> dict[str, Any]:
        """What the task type declares."""
        return catalogue.task_types()[self.task_type].facts

    def _wrong(self) -> Iterator[str]:
        for check in (
            self._task_type, self._splits, self._subsets, self._files, self._held_out, self._sampled, self._submits
        ):  # fmt: skip
            yield from check()

    def _task_type(self) -> Iterator[str]:
        facts = self._facts
        metrics = catalogue.metrics_of(self.task_type)
        wrong = [name for name in self.metrics if name not in metrics]
        if wrong:
            yield f"metric '{wrong[0]}' is not one of {self.task_type}'s: {', '.join(metrics)}"
        binary = [name for name in self.metrics if name in facts.get("binary", ())]
        if binary and len(self.labels) > 2:
            yield f"metric '{binary[0]}' is of two classes, and the task has {len(self.labels)}"
        if facts["has_label_names"] != (len(self.labels) > 1):
            how = "two or more names" if facts["has_label_names"] else "none"
            yield f"'labels' takes {how} for {self.task_type}"
        if facts["has_windows"] and not self.windows:
            example = "{overlap: 128, question: 64}"
            yield f"'windows' is missing: {self.task_type} cuts long contexts, as {example}"
        if self.windows and not facts["has_windows"]:
            yield f"'windows' is of no use for {self.task_type}"
        if self.windows and self.windows.overlap + self.windows.question >= self.max_length:
            yield "windows: overlap and question together leave no room in max_length"
        languages = facts.get("languages", self.subsets)
        yield from check_known("subsets", f"language of {self.task_type}", self.subsets, languages)

    def _splits(self) -> Iterator[str]:
        if bool(self.split) == bool(self.splits):
            yield "give 'split' (one file, rows are drawn) or 'splits' (with files)"
        for use in ("train_split", "validation_split", "evaluation_split"):
            name = getattr(self, use)
            yield from check_known(use, "split", [name], self.splits or ("train", "dev", "test"))
            if use != "train_split" and name == self.train_split:
                yield f"{use}: '{name}' is what is trained on; its score would say nothing"
            split = self.splits.get(name)
            if split and not split.labelled:
                yield f"{use}: split '{name}' has no labels"
            if split and split.unlabelled_sample and use != "evaluation_split":
                needed = f"a training needs the labels of {use}; leave it out here"
                yield f"splits.{name}.unlabelled_sample: {needed}"
        chosen = [self.metric_for_best_model] if self.metric_for_best_model else []
        yield from check_known("metric_for_best_model", "metric", chosen, self.measures(self.validation_split))

    def _subsets(self) -> Iterator[str]:
        if self.subsets and not any(split.subsets for split in self.splits.values()):
            yield "subsets: no split has any; write 'subsets: true' in one of 'splits', or leave them out"
        for name, split in self.splits.items():
            if split.subsets and not self.subsets:
                yield f"splits.{name}.subsets: the task names no subsets"
            if isinstance(split.rows, dict) and sorted(split.rows) != sorted(self.subsets if split.subsets else []):
                each = ", ".join(self.subsets) or "no subsets"
                yield f"splits.{name}.rows: give a number for each of {each}"

    def _files(self) -> Iterator[str]:
        required, optional = self._facts["required_columns"], self._facts["optional_columns"]
        for location, files in self.read.items():
            columns = [*files.columns, *(column for change in files.changes.values() for column in change.columns)]
            yield from check_known(f"read.{location}.columns", "field", columns, (*required, *optional))
            if lacking := [field for field in required if field not in files.columns]:
                yield f"read.{location}.columns: '{lacking[0]}' is missing"
            for key in ("files", "broken", "empty", "changes"):
                yield from check_known(f"read.{location}.{key}", "split", getattr(files, key), self.filed)
            for name, file in files.files.items():
                if ("{subset}" in f"{files.of(name).name} {file}") != self.filed[name].subsets:
                    why = "'{subset}' is for splits with subsets, and for them all"
                    yield f"read.{location}.files.{name}: {why}"
            if location == "local" and any([files.name, *(change.name for change in files.changes.values())]):
                yield f"read.{location}.name: only data sets of the hub have configurations"
            if files.label_names and len(files.label_names) != len(self.labels):
                counts = f"{len(files.label_names)} names for {len(self.labels)} labels"
                yield f"read.{location}.label_names: {counts}"

    def _held_out(self) -> Iterator[str]:
        for location, files in self.read.items():
            trained = self._rows_of(files, self.train_split)
            for name in (self.validation_split, self.evaluation_split):
                if name != self.train_split and trained and self._rows_of(files, name) == trained:
                    why = f"'{files.files[name]}' is what is trained on, too; its score would say nothing"
                    yield f"read.{location}.files.{name}: {why}"

    def _rows_of(self, files: SplitFiles, split: str) -> tuple[Any, ...] | None:
        """Return what identifies the rows of a split: its source, file and reading options; None without a file."""
        if split not in files.files or split not in self.splits:
            return None
        return self.splits[split].source or self.source, files.files[split], files.of(split)

    def _sampled(self) -> Iterator[str]:
        if self.bounds is not None and self.bounds[0] >= self.bounds[1]:
            yield f"bounds: {self.bounds[0]:g} is not below {self.bounds[1]:g}"
        facts = self._facts
        labels = self.labels if facts["has_label_names"] else []
        has_scores = not labels and not facts["has_windows"]
        least, greatest = (self.bounds or (-LARGEST, LARGEST)) if has_scores else (0.0, 0.0)
        required, optional = facts["required_columns"], facts["optional_columns"]
        for number, record in enumerate(self.sample, start=1):
            yield from check_known(f"sample.{number}", "field", record, (*required, *optional))
            if lacking := [field for field in required if field not in record and field != "id"]:
                yield f"sample.{number}: '{lacking[0]}' is missing"
            for field in TEXTS & record.keys():
                if not isinstance(record[field], str) or not record[field].strip():
                    yield f"sample.{number}.{field}: give a text, not {record[field]!r}"
            label = record.get("label", "")
            if len(labels) > 1:
                yield from check_known(f"sample.{number}.label", "label", [label], labels)
            is_number = isinstance(label, int | float) and not isinstance(label, bool)
            if least < greatest and not (is_number and least <= label <= greatest):  # wrong bounds are told above
                yield f"sample.{number}.label: give a number from {least:.10g} to {greatest:.10g}, not {label!r}"

    def _submits(self) -> Iterator[str]:
        if self.submission:
            check_no_repeats("submission.files: file", list(self.submission.files.values()))
            yield from check_known("submission.files", "split", self.submission.files, self.encoded_splits)
            names = self.submission.label_names
            if names and len(names) != len(self.labels):
                yield f"submission.label_names: {len(names)} names for {len(self.labels)} labels"

    @property
    def of_single_texts(self) -> bool:
        """Whether each row is one text, rather than a pair of texts or a question with its context."""
        return not self.windows and not any("pair" in files.columns for files in self.read.values())

    @property
    def used(self) -> list[str]:
        """The splits that training and scoring read."""
        return list(dict.fromkeys((self.train_split, self.validation_split, self.evaluation_split)))

    @property
    def filed(self) -> dict[str, FileSplit]:
        """The splits that have files of their own; or 'all', of any number of rows, from which they are drawn."""
        return self.splits or {ALL: FileSplit.model_construct(rows=[])}

    @property
    def read_splits(self) -> list[str]:
        """Those of `filed` that training and scoring read."""
        return self.used if self.splits else list(self.filed)

    @property
    def sources(self) -> list[str]:
        """The sources of the splits that are used, the task's own first."""
        more = [self.splits[name].source for name in self.used if name in self.splits]
        return list(dict.fromkeys([self.source, *(name for name in more if name)]))

    @property
    def encoded_splits(self) -> dict[str, tuple[str, str | None]]:
        """The name of each split, or of each subset of a split -> (split, subset); None is the whole split."""
        return {
            f"{name}-{subset}" if subset else name: (name, subset)
            for name, split in self.splits.items()
            for subset in (self.subsets if split.subsets else [None])
        }

    def measures(self, split: str) -> list[str]:
        """Return the metrics of a score on a split: 'accuracy', or with subsets 'accuracy/de' and 'accuracy/all'."""
        subsets = [*self.subsets, ALL] if split in self.splits and self.splits[split].subsets else []
        return [f"{metric}/{subset}" for subset in subsets for metric in self.metrics] or self.metrics

    @property
    def chosen_by(self) -> str:
        """The metric, on the validation split, by which the best point of the grid is chosen."""
        first = self.metrics[0]
        return self.metric_for_best_model or (
            first if first in self.measures(self.validation_split) else f"{first}/{ALL}"
        )
