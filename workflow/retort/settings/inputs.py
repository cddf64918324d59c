"""The settings of what jobs read: sources, encoded tasks, packed corpora, and the pre-trained models behind them.

Also how a model card holds settings, and how those in a result differ from those of the study.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retort.specs.base import Options, Spec, left_out
from retort.specs.corpus import Component, Masking
from retort.specs.model import Architecture, Made
from retort.specs.source import Folder, HubRepository, Package
from retort.specs.task import Split, Windows


class JobSettings(Spec):
    """Settings of a job: frozen, without unknown keys, and only with values that can change a result."""

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON values: what the params of a rule, a score file and a model card hold."""
        return self.model_dump(mode="json")


class ContentSettings(JobSettings):
    """A folder of the user, or a made source: its name under one of two keys, and a digest that identifies its content.

    The path of a folder is left out: the same files in another place are the same source, and a path may be private.

    Args:
        local: the name of the source, if it is a folder.
        made: its name, if it is made.
        sha256: the digest of the files, or of the spec and the seed.
    """

    local: str | None = left_out()
    made: str | None = left_out()
    sha256: str


SourceSettings = Package | HubRepository | ContentSettings
FetchSettings = Package | Folder | HubRepository | Made  # what fetch_source needs: where the files are


class SplitFile(JobSettings):
    """One file of a split.

    Args:
        file: its path in the folder of the source, or the split of the configuration.
        rows: the numbers of rows that the whole file may have.
        subset: the subset of the split that it holds; None where the split has no subsets.
        name: the configuration of the data set of the hub; None where `file` is a path.
    """

    file: str
    rows: list[int]
    name: str | None = left_out()
    subset: str | None = left_out()


class SplitSettings(JobSettings):
    """How the files of a split are read.

    Args:
        source: the name of the source that holds them.
        format: their format.
        options: options of the format.
        columns: what a row needs -> the column of the file, or its number from 1.
        label_names: how the files spell the labels; empty where they are the numbers of the labels.
        exclude_labels: labels of rows that are left out.
        labelled: whether the released rows have labels.
        unlabelled_sample: True if the files of a sample may lack the labels, else None.
        broken: the known number of lines in the files that lack fields.
        empty: the known number of rows in the files with an empty text.
        files: the name of the encoded split -> its file; a split with subsets has one for each.
    """

    source: str
    format: str
    options: Options
    columns: dict[str, str | int]
    label_names: list[str]
    exclude_labels: list[str]
    labelled: bool
    unlabelled_sample: bool | None = left_out()
    broken: int
    empty: int
    files: dict[str, SplitFile]


class TaskSettings(JobSettings):
    """The settings of a task: how its splits are read (`splits`) or drawn (`split`), encoded and scored.

    Args:
        task_type: the registered name of the task type.
        labels: the names of the labels; empty where the task has none.
        bounds: the least and the greatest score of a regression; None without bounds.
        split: how splits are drawn; None where each split has files.
        subsets: the subsets of a split, such as languages.
        train_split: the split that is trained on.
        validation_split: the split on which a point of a grid is chosen.
        evaluation_split: the split whose score is reported.
        max_length: the maximum number of tokens of a row.
        windows: how long contexts are cut; None for tasks without contexts.
        version: the version of the task's file.
        splits: how the files of each split are read, or the one file from which they are drawn.
        sample: whether files may be a sample of the whole data set.
        task_type_version: the version of the task type.
        source: the task's own source.
        further_sources: the other sources of its splits, by name.
        encode: the version of the encoding.
    """

    task_type: str
    labels: list[str]
    bounds: tuple[float, float] | None = left_out()
    split: Split | None = left_out()
    subsets: list[str]
    train_split: str
    validation_split: str
    evaluation_split: str
    max_length: int
    windows: Windows | None = left_out()
    version: int
    splits: dict[str, SplitSettings]
    sample: bool
    task_type_version: int
    source: SourceSettings
    further_sources: dict[str, SourceSettings]
    encode: int

    def encoded_splits(self, split: str) -> list[str]:
        """Return the names under which the rows of a split are encoded: one per subset, or the split's own."""
        return list(self.splits[split].files) if not self.split else [split]


class ModelSettings(JobSettings):
    """The settings of a pre-trained model.

    Args:
        architecture: its sizes.
        vocabulary: the number of tokens in its vocabulary.
        version: the version of the model's file.
        source: the source of its files.
        tokenizer: the source of the files of its tokenizer; None where that is its own source.
    """

    architecture: Architecture
    vocabulary: int
    positions: int = left_out(512)  # the usual one changes no job
    version: int
    source: SourceSettings
    tokenizer: SourceSettings | None = left_out()


class CorpusSettings(JobSettings):
    """The settings of a corpus: its components, how they are packed and mixed, and their sources by name."""

    components: list[Component]
    packing: str
    block: int
    blocks: int | None
    smoothing: float
    masking: Masking
    version: int
    sources: dict[str, SourceSettings]
    stage: int


class TokenizedTaskSettings(JobSettings):
    """The settings of a task and of the source whose tokenizer encodes it."""

    task: TaskSettings
    tokenizer: SourceSettings


class TokenizedCorpusSettings(JobSettings):
    """The settings of a corpus and of the source whose tokenizer makes its blocks."""

    corpus: CorpusSettings
    tokenizer: SourceSettings


BEGIN, END = "## Settings\n\n```json\n", "\n```\n"


def settings_section(settings: JobSettings) -> str:
    """Return the section of a model card that shows the settings."""
    return f"{BEGIN}{json.dumps(settings.as_json(), indent=1)}{END}"


def settings_in(card: Path) -> Any:
    """Return the settings in a model card as JSON values; None if it cannot be read or shows none."""
    try:
        return json.loads(card.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0])
    except (OSError, ValueError, IndexError):
        return None


def setting_differences(recorded: Any, expected: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, recorded value, expected value) of each difference between settings.

    The path has dotted keys, such as 'stages.1.schedule.steps'.
    """
    if isinstance(recorded, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in recorded if key not in expected)]:
            values = (recorded.get(key, "absent"), expected.get(key, "absent"))
            yield from setting_differences(*values, f"{path}.{key}".lstrip("."))
    elif isinstance(recorded, list) and isinstance(expected, list) and len(recorded) == len(expected):
        for i, values in enumerate(zip(recorded, expected, strict=True), start=1):
            yield from setting_differences(*values, f"{path}.{i}".lstrip("."))
    elif recorded != expected:
        yield path, recorded, expected


def first_difference(recorded: Any, expected: Any) -> tuple[str, Any, Any] | None:
    """Return the first of `setting_differences`; None if the settings are equal."""
    return next(setting_differences(recorded, expected), None)
